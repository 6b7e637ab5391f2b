--- Whether pi loads the bridge that lets a running one be seen and moved, and adding it to pi.

local M = {}

--- Milliseconds the program has to answer in.
local PATIENCE = 10000

--- The program's command line for some words; nil where it cannot be told from the options.
---@param ... string
---@return string[]?
local function command_line(...)
  local config = require('pisession.config').get()
  local words = config.socket and { 'pisessiond', 'attach' } or vim.deepcopy(config.cmd)
  if table.remove(words) ~= 'attach' or vim.fn.executable(words[1]) ~= 1 then
    return nil
  end
  return vim.list_extend(words, { ... })
end

---@param out vim.SystemCompleted
---@return table? answer
---@return string? why
local function read(out)
  local ok, answer = pcall(vim.json.decode, out.stdout or '')
  if not ok or type(answer) ~= 'table' then
    return nil, vim.trim((out.stderr or ''):gsub('\n.*', ''))
  elseif answer.error then
    return nil, answer.error.message
  end
  return answer
end

---@param words string[]
---@param answered fun(answer: table?, why: string?)
local function run(words, answered)
  local line = command_line(unpack(words))
  if not line then
    return answered(nil, 'The option cmd does not end in attach.')
  end
  local ok = pcall(
    vim.system,
    line,
    { text = true, timeout = PATIENCE },
    vim.schedule_wrap(function(out)
      answered(read(out))
    end)
  )
  if not ok then
    answered(nil, line[1] .. ' could not be started.')
  end
end

--- What `pisessiond pi status` says; nil where it cannot be asked.
---@param answered fun(status: { installed: { version: string }[], running: table[] }?)
function M.status(answered)
  run({ 'pi', 'status', '--json' }, answered)
end

--- The same, waited for.
---@return { installed: { version: string }[], running: table[] }?
function M.status_now()
  local line = command_line('pi', 'status', '--json')
  if not line then
    return nil
  end
  local ok, running = pcall(vim.system, line, { text = true })
  return ok and read(running:wait(PATIENCE)) or nil
end

--- Adds the bridge to pi's packages.
---@param sidebar pisession.Sidebar
function M.install(sidebar)
  sidebar:say('pisessiond pi install…')
  run({ 'pi', 'install', '--json' }, function(answer, why)
    if not answer then
      return sidebar:say('It was not installed: ' .. (why or 'no answer came.'))
    elseif answer.changed then
      return sidebar:say('pi loads the bridge; in one that runs, enter /reload.')
    end
    sidebar:say('pi loads the bridge already; in one that runs, enter /reload.')
  end)
end

local is_offered = false

--- Says once what would let a pi follow, when one writes that nobody sees running.
---@param sidebar pisession.Sidebar
function M.offer(sidebar)
  if is_offered then
    return
  end
  is_offered = true
  local session = sidebar.session
  M.status(function(status)
    if not status then
      return
    end
    session.hint = #status.installed == 0 and 'pisessiond pi install lets pi follow.'
      or '/reload in pi lets it follow.'
    session.on_change('header')
  end)
end

return M
