--- What takes the cursor along, such as a dialog, where its answer took a while: who went on
--- elsewhere meanwhile types for what is there.

local M = {}

--- Whether one is where one was, with no text under the fingers.
---@param window integer
---@return boolean
local function is_at_hand(window)
  local is_normal = vim.startswith(vim.api.nvim_get_mode().mode, 'n')
  return is_normal and vim.api.nvim_get_current_win() == window
end

--- Shows a dialog where one still is where it was asked for, which is here.
---@param sidebar pisession.Sidebar
---@param show fun(...)
---@return fun(...)
function M.keep(sidebar, show)
  local window = vim.api.nvim_get_current_win()
  return function(...)
    if is_at_hand(window) then
      return show(...)
    elseif not require('pisession.float').is_one(vim.api.nvim_get_current_win()) then
      -- Of keys that came twice the first has its dialog already.
      sidebar:say('You went on elsewhere; ask again to see it.')
    end
  end
end

--- The same for what costs too much to be asked for again: it waits until one is in the sidebar.
---@param sidebar pisession.Sidebar
---@param show fun(...)
---@param sentence string said meanwhile
---@return fun(...)
function M.keep_for(sidebar, show, sentence)
  local window = vim.api.nvim_get_current_win()
  return function(...)
    if is_at_hand(window) then
      return show(...)
    end
    local answer, is_shown = { ... }, false
    local later = require('pisession.asking').bind(sidebar, function()
      show(unpack(answer))
    end)
    sidebar:say(sentence)
    vim.api.nvim_create_autocmd({ 'BufEnter', 'CursorMoved' }, {
      buffer = sidebar.buffer,
      once = true,
      callback = function()
        if not is_shown then
          is_shown = true
          vim.schedule(later)
        end
      end,
    })
  end
end

return M
