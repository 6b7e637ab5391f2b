--- What can be set, and what it is when nobody sets it.

local M = {}

---@class pisession.Config
M.defaults = {
  --- The program that reaches the daemon, and starts it when there is none.
  cmd = { 'pisessiond', 'attach' },
  --- A daemon's socket to connect to instead; nothing is started then.
  ---@type string?
  socket = nil,
  --- Cells of the sidebar.
  width = 44,
  ---@type 'left'|'right'
  side = 'right',
  ---@type 'unicode'|'ascii'|'nerd'
  icons = 'unicode',
  --- Which rows are shown at first, by pi's name.
  ---@type 'default'|'no-tools'|'user-only'|'all'|'labeled-only'
  filter = 'default',
  --- What the size column shows at first.
  ---@type 'context'|'own'|'off'
  size = 'context',
  --- Go along when pi begins another session in this folder.
  follow_newest = true,
  --- Percents from which a size is shown as large; nil: as the daemon says.
  ---@type { warn: number, high: number }?
  thresholds = nil,
  --- The program for "Continue in pi".
  pi = { 'pi' },
  --- Keys of the sidebar: a key with false is not mapped, a key with the name of an act is.
  ---@type table<string, string|false>
  keys = {},
  --- Rows around the leaf that are asked for first, and at a time after that.
  page = { first = 200, more = 1000 },
}

---@type pisession.Config?
local chosen

local function check(options)
  local known = vim.tbl_extend('force', M.defaults, { socket = '', thresholds = {} })
  for name, value in pairs(options) do
    local default = known[name]
    if default == nil then
      error(('pisession: no option %q; :help pisession-config lists them'):format(name), 0)
    end
    local is_list = type(default) == 'table'
    if type(value) ~= type(default) and not (is_list and type(value) == 'string') then
      error(('pisession: option %s must be a %s'):format(name, type(default)), 0)
    end
  end
end

--- Takes the user's options over; without a call everything is as in `defaults`.
---@param options table?
function M.setup(options)
  options = options or {}
  check(options)
  chosen = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), options)
  for _, name in ipairs({ 'cmd', 'pi' }) do
    if type(chosen[name]) == 'string' then
      chosen[name] = { chosen[name] }
    elseif options[name] then
      chosen[name] = options[name]
    end
  end
end

--- The options in force; `vim.g.pisession` counts where `setup` was not called.
---@return pisession.Config
function M.get()
  if not chosen then
    local wished = vim.g.pisession
    M.setup(type(wished) == 'table' and wished or nil)
  end
  return chosen --[[@as pisession.Config]]
end

return M
