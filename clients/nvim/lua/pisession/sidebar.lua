--- The sidebar: a window and a buffer in a tab page, showing one session.

local header = require('pisession.header')
local model = require('pisession.model')
local rpc = require('pisession.rpc')
local view = require('pisession.view')

local M = {}

--- Milliseconds in which changes are joined.
local JOIN = 50
--- Milliseconds before anything says that it takes a while.
local CALM = 300

---@class pisession.Sidebar
---@field tab integer
---@field window integer?
---@field buffer integer
---@field session pisession.Session
---@field view pisession.View
---@field size 'context'|'own'|'off'
---@field undo table[] my last acts, to be undone by acting again
---@field marked string?
---@field message string? said below the rows until the next key
local Sidebar = {}
Sidebar.__index = Sidebar

local sidebars = {} ---@type table<integer, pisession.Sidebar>
local group = vim.api.nvim_create_augroup('pisession', {})

---@return pisession.Sidebar?
function M.current()
  return sidebars[vim.api.nvim_get_current_tabpage()]
end

---@return pisession.Sidebar[]
function M.all()
  return vim.tbl_values(sidebars)
end

local function glyphs()
  return require('pisession.glyphs').choose(require('pisession.config').get().icons)
end

local function set_options(window)
  local options = {
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
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

local function make_buffer()
  local buffer = vim.api.nvim_create_buf(false, true)
  local options =
    { buftype = 'nofile', bufhidden = 'hide', swapfile = false, filetype = 'pisession', modifiable = false }
  for name, value in pairs(options) do
    vim.bo[buffer][name] = value
  end
  return buffer
end

---@param wish table? what to show; nil: the newest session of the folder
---@return pisession.Sidebar
function M.open(wish)
  local tab = vim.api.nvim_get_current_tabpage()
  local known = sidebars[tab]
  if known then
    known:show_window()
    if wish then
      known:switch(wish)
    end
    return known
  end
  require('pisession.highlights').define()
  local config = require('pisession.config').get()
  local self = setmetatable({ tab = tab, size = config.size, undo = {}, is_dirty = true }, Sidebar)
  sidebars[tab] = self
  self.buffer = make_buffer()
  pcall(vim.api.nvim_buf_set_name, self.buffer, ('pisession://%d'):format(self.buffer))
  self.view = view.new(self.buffer)
  self.follows = wish == nil and config.follow_newest
  self:watch_buffer()
  self:show_window()
  self:attach(wish or { latest = { cwd = vim.fn.getcwd() } })
  require('pisession.keys').map(self)
  return self
end

function Sidebar:attach(wish)
  self.opened_at = vim.uv.now()
  self.session = model.open(
    wish,
    self.session and self.session.filter or require('pisession.config').get().filter,
    function(what, detail)
      self:changed(what, detail or {})
    end
  )
  require('pisession.follow').attach(self)
  vim.defer_fn(function()
    self:redraw()
  end, CALM)
end

--- Shows another session in this window.
function Sidebar:switch(wish)
  local old = self.session
  self.undo, self.marked, self.message = {}, nil, nil
  self.view:forget()
  self:attach(wish)
  old:close()
end

function Sidebar:watch_buffer()
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = self.buffer,
    callback = function()
      self:dispose()
    end,
  })
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = self.buffer,
    callback = function()
      self:redraw_soon()
    end,
  })
end

function Sidebar:show_window()
  if self.window and vim.api.nvim_win_is_valid(self.window) then
    return vim.api.nvim_set_current_win(self.window)
  end
  local config = require('pisession.config').get()
  self.window = vim.api.nvim_open_win(self.buffer, true, { split = config.side, width = config.width, win = -1 })
  set_options(self.window)
  self.view:forget()
  self:redraw_soon()
end

--- Closes the window; the session stays open for a quick return.
function Sidebar:hide()
  local window = self.window
  self.window = nil
  if not window or not vim.api.nvim_win_is_valid(window) then
    return
  end
  if #vim.api.nvim_list_wins() == 1 then
    vim.cmd.enew()
  else
    vim.api.nvim_win_close(window, true)
  end
end

--- Ends everything this sidebar holds.
function Sidebar:dispose()
  if self.is_gone then
    return
  end
  self.is_gone = true
  sidebars[self.tab] = nil
  if self.session then
    self.session:close()
  end
end

function Sidebar:is_visible()
  return self.window ~= nil
    and vim.api.nvim_win_is_valid(self.window)
    and vim.api.nvim_win_get_buf(self.window) == self.buffer
    and vim.api.nvim_win_get_tabpage(self.window) == vim.api.nvim_get_current_tabpage()
end

function Sidebar:changed(what, detail)
  if self.is_gone then
    return
  end
  require('pisession.follow').changed(self, what, detail)
  vim.schedule(function()
    vim.api.nvim_exec_autocmds('User', { pattern = 'PisessionChanged', modeline = false })
  end)
  if what == 'reset' then
    self:redraw()
  else
    self:redraw_soon()
  end
end

function Sidebar:redraw_soon()
  self.is_dirty = true
  if self.is_waiting then
    return
  end
  self.is_waiting = true
  vim.defer_fn(function()
    self.is_waiting = false
    if self.is_dirty then
      self:redraw()
    end
  end, JOIN)
end

--- What stands in place of rows, if anything.
---@return string[]?
function Sidebar:sentences()
  local session, connection = self.session, rpc.connection
  if #session:rows() > 0 then
    return nil
  elseif session.problem and session.problem.kind == 'SessionNotFound' then
    return { 'No pi session in this folder yet.', 'They appear when pi runs here.', '', 'n  new    -  all sessions' }
  elseif session.problem then
    return { session.problem.message, '', '!  look at it    -  all sessions' }
  elseif connection.state == 'offline' then
    return { connection.problem or 'The connection was lost.' }
  elseif connection.state == 'connecting' or not session.handle then
    local waits = vim.uv.now() - (self.opened_at or 0)
    return { waits < CALM and '' or 'Starting pisessiond…' }
  end
  local hidden = session.info.entryCount or 0
  if session.filter == 'labeled-only' then
    return { ('No labelled rows, %d entries hidden.'):format(hidden), '', 'F  another filter' }
  end
  return { ('Nothing to show, %d entries hidden.'):format(hidden), '', 'F  another filter' }
end

local function anchor_of(self)
  if not self:is_visible() then
    return nil
  end
  return vim.api.nvim_win_call(self.window, function()
    local line = vim.fn.line('.')
    return { line = line, id = self.view.ids[line], view = vim.fn.winsaveview() }
  end)
end

--- The line a row went to; of a row that is no more, that of its nearest ancestor.
function Sidebar:line_after(id)
  local line = self.view:line_of(id)
  local level = not line and self.levels_before and self.levels_before[id]
  while not line and level do
    line = self.view:line_of(level)
    level = self.levels_before[level]
  end
  return line
end

function Sidebar:restore(anchor)
  if not anchor or not anchor.id then
    return
  end
  local line = self:line_after(anchor.id)
  if not line or line == anchor.line then
    return
  end
  vim.api.nvim_win_call(self.window, function()
    local saved = anchor.view
    saved.lnum = line
    saved.topline = math.max(saved.topline + line - anchor.line, 1)
    vim.fn.winrestview(saved)
  end)
end

function Sidebar:redraw()
  if self.is_gone or not vim.api.nvim_buf_is_valid(self.buffer) then
    return
  elseif not self:is_visible() then
    self.is_dirty = true
    return
  end
  self.is_dirty = false
  local width = vim.api.nvim_win_get_width(self.window)
  if width ~= self.width then
    self.width = width
    self.view:forget()
  end
  local signs = glyphs()
  local rows = self.session:rows()
  local anchor = anchor_of(self)
  local sentences = self:sentences()
  if sentences then
    self.view:say(sentences)
  else
    self.view:show(rows, {
      width = width,
      glyphs = signs,
      today = os.date('%Y-%m-%d') --[[@as string]],
      size = self.size,
      new = self.session.new,
      marked = self.marked,
      is_open = function(id)
        return self:is_open_id(id)
      end,
    })
    self:restore(anchor)
    self:go_to_leaf_once()
  end
  self:remember_levels(rows)
  self:show_header(width, #rows, signs)
end

function Sidebar:is_open_id(id)
  local wished = self.session.folds[id]
  return wished == true and self.session.levels[id] ~= nil
end

function Sidebar:remember_levels(rows)
  local before = {}
  for _, row in ipairs(rows) do
    before[row.id] = row.level
  end
  self.levels_before = before
end

--- A fresh window looks at the leaf.
function Sidebar:go_to_leaf_once()
  if self.has_looked == self.session then
    return
  end
  self.has_looked = self.session
  local line = self.view:line_of('here')
  if line then
    vim.api.nvim_win_set_cursor(self.window, { line, 0 })
  end
end

local function escaped(line)
  return (line:gsub('%%', '%%%%'))
end

function Sidebar:show_header(width, count, signs)
  local top = header.top(self.session, rpc.connection, width, signs)
  local bottom = self.message or header.bottom(self.session, count, width)
  vim.api.nvim_set_option_value('winbar', '%#PisessionHeader#' .. escaped(top), { win = self.window, scope = 'local' })
  local shown = escaped(require('pisession.text').cut(bottom, width, signs.cut))
  vim.api.nvim_set_option_value('statusline', shown, { win = self.window, scope = 'local' })
end

--- Says one sentence where the counts stand, until the next key.
---@param sentence string
function Sidebar:say(sentence)
  self.message = ' ' .. require('pisession.text').clean(sentence)
  self:redraw_soon()
  vim.api.nvim_echo({ { sentence } }, false, {})
end

---@return table?
function Sidebar:row()
  if not self:is_visible() then
    return nil
  end
  return self.view:row_at(vim.api.nvim_win_get_cursor(self.window)[1])
end

---@param id string
function Sidebar:go_to(id)
  local line = self.view:line_of(id)
  if line and self:is_visible() then
    vim.api.nvim_win_set_cursor(self.window, { line, 0 })
  end
  return line ~= nil
end

vim.api.nvim_create_autocmd('WinResized', {
  group = group,
  callback = function()
    for _, sidebar in pairs(sidebars) do
      if vim.tbl_contains(vim.v.event.windows or {}, sidebar.window) then
        sidebar:redraw_soon()
      end
    end
  end,
})
vim.api.nvim_create_autocmd({ 'TabEnter', 'ColorScheme' }, {
  group = group,
  callback = function(event)
    if event.event == 'ColorScheme' then
      require('pisession.highlights').define()
    end
    local sidebar = M.current()
    if sidebar and sidebar.is_dirty then
      sidebar:redraw_soon()
    end
  end,
})
vim.api.nvim_create_autocmd('TabClosed', {
  group = group,
  callback = function()
    for tab, sidebar in pairs(sidebars) do
      if not vim.api.nvim_tabpage_is_valid(tab) then
        pcall(vim.api.nvim_buf_delete, sidebar.buffer, { force = true })
        sidebar:dispose()
      end
    end
  end,
})
vim.api.nvim_create_autocmd('VimLeavePre', {
  group = group,
  callback = function()
    for _, sidebar in pairs(sidebars) do
      sidebar:dispose()
    end
  end,
})

return M
