--- Small windows over the sidebar: a few lines, a few keys, gone with `q` or `<Esc>`.

local text = require('pisession.text')

local M = {}

---@class pisession.FloatOptions
---@field title string?
---@field keys table<string, fun()>? what closes the window and goes on
---@field stay table<string, fun()>? what leaves it open
---@field enter boolean? default true
---@field filetype string?
---@field width integer?
---@field on_close fun()?

local namespace = vim.api.nvim_create_namespace('pisession.float')

local function sizes(lines, wished)
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, text.width(line))
  end
  width = math.min(wished or width + 1, vim.o.columns - 4)
  return width, math.max(math.min(#lines, vim.o.lines - 6), 1)
end

--- Shows lines near the sidebar.
---@param lines string[]
---@param options pisession.FloatOptions?
---@return integer window
---@return integer buffer
function M.open(lines, options)
  options = options or {}
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  if options.filetype then
    vim.bo[buffer].filetype = options.filetype
  end
  local width, height = sizes(lines, options.width)
  local own = vim.api.nvim_win_get_position(0)
  local is_right = own[2] > vim.o.columns / 2
  local column = is_right and math.max(own[2] - width - 3, 0)
    or math.min(own[2] + vim.api.nvim_win_get_width(0) + 1, vim.o.columns - width - 2)
  local row = math.min(vim.fn.screenrow(), math.max(vim.o.lines - height - 4, 0))
  local window = vim.api.nvim_open_win(buffer, options.enter ~= false, {
    relative = 'editor',
    row = row,
    col = math.max(column, 0),
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = options.title and (' ' .. text.cut(options.title, width - 2, '…') .. ' ') or nil,
  })
  vim.wo[window].wrap = options.filetype == 'markdown'
  local function close()
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  local function map(lhs, act, stays)
    vim.keymap.set('n', lhs, function()
      if not stays then
        close()
      end
      act()
    end, { buffer = buffer, nowait = true })
  end
  for lhs, act in pairs(options.keys or {}) do
    map(lhs, act, false)
  end
  for lhs, act in pairs(options.stay or {}) do
    map(lhs, act, true)
  end
  for _, lhs in ipairs({ 'q', '<Esc>' }) do
    if not (options.keys or {})[lhs] then
      map(lhs, function() end, false)
    end
  end
  if options.on_close then
    vim.api.nvim_create_autocmd(
      'BufWipeout',
      { buffer = buffer, once = true, callback = vim.schedule_wrap(options.on_close) }
    )
  end
  return window, buffer
end

--- Lays a highlight over a part of a float's line (counted from 0, bytes).
function M.mark(buffer, line, first, last, group)
  vim.api.nvim_buf_set_extmark(
    buffer,
    namespace,
    line,
    first,
    { end_col = last, hl_group = group, strict = false }
  )
end

--- Marks the keys at the beginning of lines like ` > h  here`.
function M.mark_keys(buffer)
  for at, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local first, last = line:match('^ [> ] ()%a%a?()  ')
    if first then
      M.mark(buffer, at - 1, first - 1, last - 1, 'PisessionKey')
    end
  end
end

return M
