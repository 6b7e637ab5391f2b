--- The preview: what a row says, beside the sidebar, with thinking and tool output folded.

local acts = require('pisession.acts')
local entries = require('pisession.entries')
local float = require('pisession.float')
local windows = require('pisession.window')

local M = {}

--- Cells of the preview at most, and at least.
local WIDEST, NARROWEST = 80, 20

---@param sidebar pisession.Sidebar
---@return boolean
local function is_open(sidebar)
  return sidebar.preview ~= nil and vim.api.nvim_win_is_valid(sidebar.preview)
end

---@param sidebar pisession.Sidebar
local function close(sidebar)
  if is_open(sidebar) then
    vim.api.nvim_win_close(sidebar.preview, true)
  end
  sidebar.preview, sidebar.previewed = nil, nil
end

--- Closes what is told in one line; `zo` opens it.
---@param window integer
---@param folds integer[][]
local function fold(window, folds)
  windows.set(window, 'foldmethod', 'manual')
  windows.set(window, 'foldenable', true)
  windows.set(window, 'foldtext', '"    …"')
  windows.set(window, 'foldminlines', 0)
  vim.api.nvim_win_call(window, function()
    for _, range in ipairs(folds) do
      vim.cmd(('silent %d,%dfold'):format(range[1], range[2]))
    end
  end)
end

---@param sidebar pisession.Sidebar
---@return integer
local function width_beside(sidebar)
  local beside = vim.o.columns - vim.api.nvim_win_get_width(sidebar.window) - 4
  return math.max(math.min(beside, WIDEST), NARROWEST)
end

---@param sidebar pisession.Sidebar
---@param body table
local function show(sidebar, body)
  local reading = entries.read(body)
  if is_open(sidebar) then
    vim.api.nvim_win_close(sidebar.preview, true)
  end
  sidebar.preview = float.open(reading.lines, {
    enter = false,
    filetype = 'markdown',
    width = width_beside(sidebar),
  })
  fold(sidebar.preview, reading.folds)
  float.fit(sidebar.preview)
end

--- Shows what a row says; asked again for the same row, it closes.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.preview(sidebar, row)
  if not row or not row.entry then
    return
  elseif is_open(sidebar) and sidebar.previewed == row.id then
    return close(sidebar)
  end
  sidebar.previewed = row.id
  M.leave_with(sidebar)
  acts.ask(sidebar, 'session/entries', { ids = { row.entry } }, function(answer)
    if sidebar.previewed == row.id and answer.entries[1] and sidebar:is_visible() then
      show(sidebar, answer.entries[1])
    end
  end)
end

--- The preview goes when the sidebar is left for anything but the preview.
---@param sidebar pisession.Sidebar
function M.leave_with(sidebar)
  if sidebar.closes_preview then
    return
  end
  sidebar.closes_preview = vim.api.nvim_create_autocmd('WinEnter', {
    callback = function()
      local now = vim.api.nvim_get_current_win()
      if now ~= sidebar.preview and now ~= sidebar.window then
        vim.schedule(function()
          close(sidebar)
        end)
      end
    end,
  })
end

--- A preview that goes along with the cursor.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.toggle_preview(sidebar, row)
  if sidebar.follows_cursor then
    vim.api.nvim_del_autocmd(sidebar.follows_cursor)
    sidebar.follows_cursor = nil
    return close(sidebar)
  end
  sidebar.follows_cursor = vim.api.nvim_create_autocmd('CursorMoved', {
    buffer = sidebar.buffer,
    callback = function()
      local now = sidebar:row()
      if now and now.id ~= sidebar.previewed then
        M.preview(sidebar, now)
      end
    end,
  })
  M.preview(sidebar, row)
end

return M
