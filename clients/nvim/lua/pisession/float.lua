--- Small windows beside the sidebar: a few lines, a few keys, gone with `q` or `<Esc>`.

local text = require('pisession.text')
local windows = require('pisession.window')

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

---@class pisession.Beside what a float stands beside, in cells of the screen
---@field left integer
---@field right integer
---@field line integer

local opened = {} ---@type table<integer, pisession.Beside>

--- Cells and lines that are left around a float at least.
local MARGIN = 4

---@param lines string[]
---@param options pisession.FloatOptions
---@return integer width
---@return integer height
local function sizes(lines, options)
  local width = options.title and text.width(options.title) + 4 or 20
  for _, line in ipairs(lines) do
    width = math.max(width, text.width(line) + 1)
  end
  width = math.max(math.min(options.width or width, vim.o.columns - MARGIN), 1)
  local wanted = 0
  for _, line in ipairs(lines) do
    wanted = wanted + math.max(math.ceil(text.width(line) / width), 1)
  end
  return width, math.max(math.min(wanted, vim.o.lines - MARGIN - 2), 1)
end

--- The window one is in, at the height of its cursor.
---@return pisession.Beside
local function here()
  local left = vim.api.nvim_win_get_position(0)[2]
  local right = left + vim.api.nvim_win_get_width(0)
  return { left = left, right = right, line = vim.fn.screenrow() - 1 }
end

--- Where a float stands: on the side of a window that has more room.
---@param beside pisession.Beside
---@param width integer
---@param height integer
---@return vim.api.keyset.win_config
local function place(beside, width, height)
  local left, right = beside.left, beside.right
  local column = left >= vim.o.columns - right and left - width - 3 or right + 1
  return {
    relative = 'editor',
    row = math.max(math.min(beside.line, vim.o.lines - height - MARGIN), 0),
    col = math.max(math.min(column, vim.o.columns - width - 2), 0),
    width = width,
    height = height,
  }
end

---@param lines string[]
---@param filetype string?
---@return integer buffer
local function make_buffer(lines, filetype)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  if filetype then
    vim.bo[buffer].filetype = filetype
  end
  return buffer
end

---@param buffer integer
---@param window integer
---@param options pisession.FloatOptions
local function map_keys(buffer, window, options)
  local function map(lhs, act, stays)
    vim.keymap.set('n', lhs, function()
      if not stays and vim.api.nvim_win_is_valid(window) then
        vim.api.nvim_win_close(window, true)
      end
      act()
    end, { buffer = buffer, nowait = true })
  end
  for _, lhs in ipairs({ 'q', '<Esc>', '<C-c>' }) do
    map(lhs, function() end, false)
  end
  for lhs, act in pairs(options.keys or {}) do
    map(lhs, act, false)
  end
  for lhs, act in pairs(options.stay or {}) do
    map(lhs, act, true)
  end
end

--- Shows lines beside the window one is in.
---@param lines string[]
---@param options pisession.FloatOptions?
---@return integer window
---@return integer buffer
function M.open(lines, options)
  options = options or {}
  local buffer = make_buffer(lines, options.filetype)
  local beside = here()
  local config = place(beside, sizes(lines, options))
  config.style, config.border = 'minimal', 'rounded'
  config.title = options.title and (' ' .. text.cut(options.title, config.width - 2, '…') .. ' ')
  local window = vim.api.nvim_open_win(buffer, options.enter ~= false, config)
  opened[window] = beside
  windows.set(window, 'wrap', true)
  windows.set(window, 'linebreak', true)
  windows.set(window, 'cursorline', options.stay ~= nil)
  map_keys(buffer, window, options)
  if options.on_close then
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = buffer,
      once = true,
      callback = vim.schedule_wrap(options.on_close),
    })
  end
  return window, buffer
end

--- Puts other lines into a float, beside what it stands beside.
---@param window integer
---@param lines string[]
---@param options pisession.FloatOptions?
function M.renew(window, lines, options)
  local buffer = vim.api.nvim_win_get_buf(window)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_win_set_config(window, place(opened[window], sizes(lines, options or {})))
end

---@param window integer
---@return boolean
function M.is_one(window)
  return opened[window] ~= nil
end

--- Closes the floats of a tab page, whose sidebar is gone.
---@param tab integer
function M.close_all(tab)
  for window in pairs(opened) do
    if not vim.api.nvim_win_is_valid(window) then
      opened[window] = nil
    elseif vim.api.nvim_win_get_tabpage(window) == tab then
      opened[window] = nil
      vim.api.nvim_win_close(window, true)
    end
  end
end

--- Makes a float as high as what is in sight of its lines, once folds are closed.
---@param window integer
function M.fit(window)
  local height = vim.api.nvim_win_text_height(window, {}).all
  vim.api.nvim_win_set_height(window, math.max(math.min(height, vim.o.lines - MARGIN - 2), 1))
end

---@param buffer integer
---@param line integer counted from 0
---@param first integer in bytes
---@param last integer
local function mark(buffer, line, first, last)
  vim.api.nvim_buf_set_extmark(buffer, namespace, line, first, {
    end_col = last,
    hl_group = 'PisessionKey',
  })
end

--- Marks keys that lines name: ` > h  here`, and ` w write   r review first`.
---@param buffer integer
function M.mark_keys(buffer)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  for at, line in ipairs(lines) do
    local first = line:match('^ [> ] ()%a  ')
    if first then
      mark(buffer, at - 1, first - 1, first)
    elseif at == #lines then
      for key in line:gmatch('%f[%S]()%a %l') do
        mark(buffer, at - 1, key - 1, key)
      end
    end
  end
end

return M
