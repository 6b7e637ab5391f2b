--- The sidebar's window: its options, and where it looks while the lines under it change.

local M = {}

local OPTIONS = {
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  foldenable = false,
  wrap = false,
  spell = false,
  list = false,
  cursorline = true,
  winfixwidth = true,
  statuscolumn = '',
  colorcolumn = '',
  fillchars = 'eob: ',
  sidescrolloff = 0,
}

--- Opens a window over the whole height of the tab page and goes there.
---@param buffer integer
---@param side 'left'|'right'
---@param width integer
---@return integer window
function M.open(buffer, side, width)
  local window = vim.api.nvim_open_win(buffer, true, { split = side, width = width, win = -1 })
  for name, value in pairs(OPTIONS) do
    M.set(window, name, value)
  end
  return window
end

--- Sets an option of the window alone, where it is not so already: setting one draws anew.
---@param window integer
---@param name string
---@param value any
function M.set(window, name, value)
  local where = { win = window, scope = 'local' }
  if vim.api.nvim_get_option_value(name, where) ~= value then
    vim.api.nvim_set_option_value(name, value, where)
  end
end

--- Lets go of a window that comes to show something else: its width is the window's, not the
--- buffer's as the other options are.
---@param window integer?
---@param buffer integer
function M.give_back(window, buffer)
  vim.schedule(function()
    if
      window
      and vim.api.nvim_win_is_valid(window)
      and vim.api.nvim_win_get_buf(window) ~= buffer
    then
      M.set(window, 'winfixwidth', false)
    end
  end)
end

---@class pisession.Anchor
---@field line integer
---@field id string? the row under the cursor
---@field level string?
---@field rows pisession.Row[] as they stood
---@field saved table of `winsaveview`

--- Where a window looks, by row.
---@param window integer
---@param view pisession.View
---@return pisession.Anchor
function M.anchor(window, view)
  return vim.api.nvim_win_call(window, function()
    local line = vim.fn.line('.')
    local row = view:row_at(line)
    return {
      line = line,
      id = row and row.id,
      level = row and row.level,
      rows = view.rows,
      saved = vim.fn.winsaveview(),
    }
  end)
end

--- The line of the nearest row around one that is no more: what it was inside of, else what
--- stood in front of it.
---@param anchor pisession.Anchor
---@param view pisession.View
---@return integer?
local function nearest(anchor, view)
  local levels = {}
  for _, row in ipairs(anchor.rows) do
    levels[row.id] = row.level
  end
  local level = anchor.level
  while level do
    local line = view:line_of(level)
    if line then
      return line
    end
    level = levels[level]
  end
  for at = anchor.line - 1, 1, -1 do
    local line = view:line_of(anchor.rows[at].id)
    if line then
      return line
    end
  end
end

--- The last line a window may begin at without standing half empty.
---@param window integer
---@return integer
local function last_top(window)
  local lines = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window))
  return math.max(lines - vim.fn.getwininfo(window)[1].height + 1, 1)
end

--- Puts cursor and scroll back on the row they were on.
---@param window integer
---@param view pisession.View
---@param anchor pisession.Anchor
function M.restore(window, view, anchor)
  if not anchor.id then
    return
  end
  local line = view:line_of(anchor.id) or nearest(anchor, view)
  if not line then
    return
  end
  vim.api.nvim_win_call(window, function()
    local saved = anchor.saved
    local top = math.max(saved.topline + line - anchor.line, 1)
    -- What comes below is no reason to scroll while there is room for it.
    top = math.min(top, math.max(saved.topline, last_top(window)))
    if vim.fn.line('.') ~= line or vim.fn.line('w0') ~= top then
      vim.fn.winrestview({ lnum = line, col = saved.col, topline = top })
    end
  end)
end

--- Puts the cursor on a line; scrolls only where the line is out of sight.
---@param window integer
---@param line integer
function M.go_to(window, line)
  vim.api.nvim_win_call(window, function()
    local is_in_sight = line >= vim.fn.line('w0') and line <= vim.fn.line('w$')
    vim.api.nvim_win_set_cursor(window, { line, 0 })
    if not is_in_sight then
      vim.cmd.normal({ 'zz', bang = true })
      local top = last_top(window)
      if vim.fn.line('w0') > top then
        vim.fn.winrestview({ topline = top })
      end
    end
  end)
end

--- The lines in sight, the first and the last.
---@param window integer
---@return integer first
---@return integer last
function M.sight(window)
  return vim.fn.line('w0', window), vim.fn.line('w$', window)
end

return M
