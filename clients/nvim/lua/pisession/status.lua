--- The component for status lines.

local M = {}

---@return string
function M.text()
  local sidebar = require('pisession.sidebar').current() or require('pisession.sidebar').all()[1]
  if not sidebar or not sidebar.session.size then
    return ''
  end
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  return require('pisession.header').component(sidebar.session.size, glyphs, {
    unsaved = sidebar.session.info.unsaved,
    operation = sidebar.session.operation,
    offline = require('pisession.rpc').connection.state == 'offline',
  })
end

return M
