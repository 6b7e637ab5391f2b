--- Asking the daemon for an act: once more where it only has to know which pi, or when.

local pis = require('pisession.pis')
local standing = require('pisession.standing')

local M = {}

--- What a pi that is at work can be asked for later.
local WAITING = {
  ['session/append'] = true,
  ['session/navigate'] = true,
  ['session/compact'] = true,
  ['session/fork'] = true,
  ['session/clone'] = true,
  ['session/label'] = true,
  ['session/rename'] = true,
  ['session/editContext'] = true,
}

---@alias pisession.Again fun(more: table)

--- What to ask the user about a refusal, and whether there is anything to ask. Each is given the
--- sidebar, the error, the method, and a function that asks the daemon once more.
---@type table<string, fun(...): boolean>
local QUESTIONS = {}

--- Several pi have the session open: which one is to do it?
function QUESTIONS.AmbiguousOwner(sidebar, err, _, again)
  local rows = sidebar.session:rows()
  local titles = {}
  for _, row in ipairs(rows) do
    titles[row.id] = row.title
  end
  vim.ui.select(err.data.choices or {}, {
    prompt = 'Several pi have this session open. Which one?',
    format_item = function(choice)
      local leaf = choice.leaf
      local id = type(leaf) == 'string' and standing.row_of(rows, leaf)
      return pis.choice(choice, id and titles[id])
    end,
  }, function(choice)
    if choice then
      again({ pi = choice.pid })
    end
  end)
  return true
end

--- The pi that has it open is at work: now is not the time, but later may be.
function QUESTIONS.Busy(_, err, method, again)
  if err.data.client ~= 'pi' or err.data.operation == 'pi does not answer' then
    return false
  elseif not WAITING[method] then
    return false
  end
  local asked = { prompt = 'pi is at work; nothing was changed.' }
  vim.ui.select({ 'Leave it', 'Do it when pi is idle' }, asked, function(choice)
    if choice == 'Do it when pi is idle' then
      again({ whenIdle = true })
    end
  end)
  return true
end

---@class pisession.Waiting
---@field cancel fun()
---@field is_prompt boolean
---@field is_told boolean?

--- Keeps what may wait for long, so that it can be taken back.
---@param sidebar pisession.Sidebar
---@param method string
---@param params table
---@param cancel fun()
---@return pisession.Waiting?
local function keep(sidebar, method, params, cancel)
  if method ~= 'session/prompt' and not params.whenIdle then
    return nil
  end
  local waiting = { cancel = cancel, is_prompt = method == 'session/prompt' }
  sidebar.session.waiting = waiting
  if params.whenIdle then
    sidebar:say('It waits until pi is idle; <C-c> takes it back.')
  end
  return waiting
end

--- Asks the daemon and says what it refuses; an answer goes on.
---@param sidebar pisession.Sidebar
---@param method string
---@param params table
---@param done fun(answer: table)?
---@return fun() cancel
function M.ask(sidebar, method, params, done)
  local session = sidebar.session
  if not session.handle then
    sidebar:say('No session is open here; - lists those there are.')
    return function() end
  end
  local waiting
  local cancel = session:request(method, params, function(err, answer)
    if waiting and session.waiting == waiting then
      session.waiting = nil
    end
    if not err then
      return done and done(answer)
    end
    local question = QUESTIONS[err.kind]
    local is_asked = question
      and question(sidebar, err, method, function(more)
        M.ask(sidebar, method, vim.tbl_extend('force', params, more), done)
      end)
    if not is_asked then
      require('pisession.refusals').say(sidebar, err)
    end
  end)
  waiting = keep(sidebar, method, params, cancel)
  return cancel
end

return M
