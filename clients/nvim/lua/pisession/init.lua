--- pi's sessions beside your code: the branch tree, the context size, and moving in both.
---
--- Everything works without `setup`; nothing is loaded before the first use.

local M = {}

--- Takes options over; see |pisession-config|.
---@param options table?
function M.setup(options)
  require('pisession.config').setup(options)
end

--- Opens the sidebar of this tab page, or goes to it.
---@param wish table? `{ path = … }` or `{ session = … }`; nil: the newest session of the folder
function M.open(wish)
  require('pisession.sidebar').open(wish)
end

--- Closes the window; the session stays at hand.
function M.close()
  local sidebar = require('pisession.sidebar').current()
  if sidebar then
    sidebar:hide()
  end
end

function M.toggle()
  local sidebar = require('pisession.sidebar').current()
  if sidebar and sidebar:is_visible() then
    sidebar:hide()
  else
    M.open()
  end
end

--- The context size in few cells, for a status line; empty where no session is open.
---@return string
function M.status()
  if not package.loaded['pisession.sidebar'] then
    return ''
  end
  return require('pisession.status').text()
end

--- Does what a key of the sidebar does.
---@param act string as in |pisession-keys|
function M.act(act)
  require('pisession.acts').run(act)
end

return M
