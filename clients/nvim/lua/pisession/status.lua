--- The component for status lines, and the event that says that it has changed.

local rpc = require('pisession.rpc')

local M = {}

--- The sidebar that counts: that of this tab page, else any.
---@return pisession.Sidebar?
local function shown()
  local sidebar = require('pisession.sidebar')
  return sidebar.current() or sidebar.all()[1]
end

---@return string
function M.text()
  local sidebar = shown()
  if not sidebar or not sidebar.session or not sidebar.session.size then
    return ''
  end
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  return require('pisession.header').component(sidebar.session.size, glyphs, {
    unsaved = sidebar.session.info.unsaved,
    operation = sidebar.session.operation,
    offline = rpc.connection.state == 'offline',
    pis = sidebar.session.info.pis,
  })
end

--- What a listener may have shown of a session.
---@return string
local function signature()
  local sidebar = shown()
  local session = sidebar and sidebar.session
  local info = session and session.info or {}
  return table.concat(
    { tostring(info.path or info.session), info.name or '', tostring(info.rev), M.text() },
    '\0'
  )
end

local told = ''

--- Fires `User PisessionChanged` if something that can be shown has changed.
function M.tell()
  local now = signature()
  if now == told then
    return
  end
  told = now
  vim.schedule(function()
    vim.api.nvim_exec_autocmds('User', { pattern = 'PisessionChanged', modeline = false })
  end)
end

return M
