--- `:Pisession` and its subcommands.

local M = {}

local function sidebar()
  return require('pisession.sidebar').current()
end

local function act(name)
  return function(words)
    require('pisession.acts').run(name, words)
  end
end

---@type table<string, fun(words: string[])>
local COMMANDS = {
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
  sessions = act('sessions'),
  navigate = act('navigate_to'),
  label = act('label'),
  compact = act('compact'),
  fork = act('fork'),
  clone = act('clone'),
  rename = act('rename'),
  append = act('append'),
  search = act('search'),
  branch = act('find_branch'),
  compare = act('compare'),
  export = act('export'),
  context = act('context'),
  problems = act('problems'),
  filter = act('set_filter'),
  cancel = act('cancel'),
  undo = act('undo'),
  where = act('where'),
  pi = act('continue_in_pi'),
  reload = act('reload'),
  help = function()
    vim.cmd.help('pisession')
  end,
}

local ARGUMENTS = {
  filter = { 'default', 'no-tools', 'user-only', 'labeled-only', 'all' },
  export = { 'html', 'markdown', 'jsonl' },
}

function M.run(command)
  local words = command.fargs
  local name = table.remove(words, 1)
  if not name then
    return require('pisession').open()
  end
  local found = COMMANDS[name]
  if not found then
    local known = table.concat(vim.fn.sort(vim.tbl_keys(COMMANDS)), ', ')
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
  local offered
  if count <= 1 then
    offered = vim.fn.sort(vim.tbl_keys(COMMANDS))
  elseif words[2] == 'open' then
    return vim.fn.getcompletion(lead, 'file')
  else
    offered = ARGUMENTS[words[2]] or {}
  end
  return vim.tbl_filter(function(one)
    return vim.startswith(one, lead)
  end, offered)
end

M.sidebar = sidebar

return M
