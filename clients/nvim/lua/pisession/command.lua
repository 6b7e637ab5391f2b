--- `:Pisession` and its subcommands: a few of its own, and every act by its name.

local M = {}

local function act(name)
  return function(words)
    require('pisession.acts').run(name, words)
  end
end

--- What is more than an act, or goes by a shorter name.
---@type table<string, fun(words: string[])>
local OWN = {
  open = function(words)
    local path = words[1]
    require('pisession').open(path and { path = vim.fn.fnamemodify(path, ':p') } or nil)
  end,
  close = function()
    require('pisession').close()
  end,
  toggle = function()
    require('pisession').toggle()
  end,
  help = function()
    vim.cmd.help('pisession')
  end,
  navigate = act('navigate_to'),
  branch = act('find_branch'),
  filter = act('set_filter'),
  new = act('new_session'),
  pi = act('continue_in_pi'),
  export = act('export'),
  where = act('where'),
  prompt = act('prompt_pi'),
  steer = act('steer_pi'),
  ['install-bridge'] = act('install_bridge'),
}

local ARGUMENTS = {
  filter = { 'default', 'no-tools', 'user-only', 'labeled-only', 'all' },
  export = { 'html', 'markdown', 'jsonl' },
}

---@return table<string, fun(words: string[])>
local function commands()
  local all = vim.deepcopy(OWN)
  for _, key in ipairs(require('pisession.keys').table) do
    local name = key.act:gsub('_', '-')
    all[name] = all[name] or act(key.act)
  end
  return all
end

--- The names of the subcommands, in the order of the alphabet.
---@return string[]
function M.names()
  return vim.fn.sort(vim.tbl_keys(commands()))
end

---@param command { fargs: string[] }
function M.run(command)
  local words = command.fargs
  local name = table.remove(words, 1)
  if not name then
    return require('pisession').open()
  end
  local found = commands()[name]
  if not found then
    local known = table.concat(M.names(), ', ')
    return vim.notify(('No :Pisession %s; there are %s.'):format(name, known), vim.log.levels.ERROR)
  end
  found(words)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(line, '%s+', { trimempty = true })
  local count = #words - (lead ~= '' and 1 or 0)
  if count > 1 and words[2] == 'open' then
    return vim.fn.getcompletion(lead, 'file')
  end
  local offered = count <= 1 and M.names() or ARGUMENTS[words[2]] or {}
  return vim.tbl_filter(function(one)
    return vim.startswith(one, lead)
  end, offered)
end

return M
