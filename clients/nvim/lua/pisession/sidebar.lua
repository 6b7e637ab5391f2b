--- The sidebar: a window and a buffer in a tab page, showing one session.

local model = require('pisession.model')
local rpc = require('pisession.rpc')
local states = require('pisession.states')
local text = require('pisession.text')
local view = require('pisession.view')
local windows = require('pisession.window')

local M = {}

--- Milliseconds in which changes are joined.
local JOIN = 50
--- Milliseconds a sentence stays before moving the cursor takes it away.
local READ = 4000

---@class pisession.Sidebar
---@field tab integer
---@field window integer?
---@field buffer integer
---@field session pisession.Session
---@field view pisession.View
---@field size 'context'|'own'|'off'
---@field undo table[] my last acts, to be undone by acting again
---@field details pisession.Details? of the row asked about last
---@field marked string? the row marked for a comparison
---@field marked_entry string?
---@field message string? said below the rows until the next key
---@field prompt_for pisession.PromptFor? what writing the prompt does
---@field write_prompt fun() does it in the session the prompt was opened in
---@field appending { session: pisession.Session, tick: integer }? the prompt that is on its way
---@field pending fun()[] what waits until the session has been read
---@field follows boolean whether it goes along to newer sessions
---@field is_gone boolean?
local Sidebar = {}
Sidebar.__index = Sidebar
require('pisession.drawing')(Sidebar)

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

local function config()
  return require('pisession.config').get()
end

local function make_buffer()
  local buffer = vim.api.nvim_create_buf(false, true)
  pcall(vim.api.nvim_buf_set_name, buffer, ('pisession://%d'):format(buffer))
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].filetype = 'pisession'
  return buffer
end

---@param wish table? what to show; nil: the newest session of the folder
---@return pisession.Sidebar
function M.open(wish)
  local known = M.current()
  if known then
    known:show_window()
    if wish then
      known:switch(wish)
    end
    return known
  end
  require('pisession.highlights').define()
  local tab = vim.api.nvim_get_current_tabpage()
  local self = setmetatable({ tab = tab, size = config().size, is_dirty = true }, Sidebar)
  self.undo, self.pending = {}, {}
  self.buffer = make_buffer()
  self.view = view.new(self.buffer)
  self.follows = wish == nil and config().follow_newest
  sidebars[tab] = self
  self:watch_buffer()
  require('pisession.keys').map(self)
  self:show_window()
  self:attach(wish or { latest = { cwd = vim.fn.getcwd() } })
  return self
end

---@param wish table
function Sidebar:attach(wish)
  self.opened_at = vim.uv.now()
  local filter = self.session and self.session.filter or config().filter
  self.session = model.open(wish, filter, function(what, detail)
    self:changed(what, detail or {})
  end)
  require('pisession.follow').attach(self)
  for _, after in ipairs({ states.CALM, states.LONG }) do
    vim.defer_fn(function()
      self:redraw_soon()
    end, after)
  end
end

--- Shows another session in this window. Who has chosen one stays with it.
---@param wish table
---@param is_newest boolean? it is what is followed, or was just made
function Sidebar:switch(wish, is_newest)
  local old = self.session
  self.follows = self.follows and is_newest or false
  self.undo, self.marked, self.marked_entry, self.message = {}, nil, nil, nil
  self.view:forget()
  self:draw_cut({})
  self:attach(wish)
  old:close()
end

function Sidebar:watch_buffer()
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = self.buffer, callback = callback })
  end
  on({ 'BufUnload', 'BufWipeout' }, function()
    self:dispose()
  end)
  on('BufWinEnter', function()
    self:redraw_soon()
  end)
  on('BufWinLeave', function()
    windows.give_back(self.window, self.buffer)
  end)
  on('CursorMoved', function()
    if self.message and vim.uv.now() - self.said_at > READ then
      self.message = nil
      self:redraw_soon()
    end
  end)
end

--- The window of this tab page that shows the sidebar, if any.
---@return integer?
function Sidebar:find_window()
  for _, window in
    ipairs(
      vim.api.nvim_tabpage_is_valid(self.tab) and vim.api.nvim_tabpage_list_wins(self.tab) or {}
    )
  do
    if vim.api.nvim_win_get_buf(window) == self.buffer then
      return window
    end
  end
end

function Sidebar:show_window()
  self.window = self:find_window()
  if self.window then
    return vim.api.nvim_set_current_win(self.window)
  end
  self.window = windows.open(self.buffer, config().side, config().width)
  self.view:forget()
  self:redraw_soon()
end

--- Closes the window; the session stays open for a quick return.
function Sidebar:hide()
  local window = self:find_window()
  self.window = nil
  if not window then
    return
  elseif #vim.api.nvim_tabpage_list_wins(self.tab) == 1 then
    -- The last window of a tab page cannot be closed without closing that.
    vim.api.nvim_win_set_buf(window, vim.api.nvim_create_buf(true, false))
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
  vim.schedule(function()
    require('pisession.float').close_all(self.tab)
    if vim.api.nvim_buf_is_valid(self.buffer) then
      vim.api.nvim_buf_delete(self.buffer, { force = true })
    end
  end)
end

---@return boolean
function Sidebar:is_visible()
  if self.is_gone or self.tab ~= vim.api.nvim_get_current_tabpage() then
    return false
  end
  self.window = self:find_window()
  return self.window ~= nil
end

---@return boolean
function Sidebar:is_read()
  local session = self.session
  return session.handle ~= nil or session.problem ~= nil or rpc.connection.state == 'offline'
end

--- Acts once the session has been read, or it is known that it cannot be; one after another.
---@param act fun()
function Sidebar:when_read(act)
  if self:is_read() then
    return act()
  end
  -- Whoever wished for the newest session means the one that turns out to be it.
  local is_any = self.session.wish.latest ~= nil
  table.insert(self.pending, is_any and act or require('pisession.asking').bind(self, act))
end

function Sidebar:do_pending()
  if #self.pending > 0 and self:is_read() then
    local pending = self.pending
    self.pending = {}
    for _, act in ipairs(pending) do
      act()
    end
  end
end

---@param what 'rows'|'header'|'reset'
---@param detail table
function Sidebar:changed(what, detail)
  if self.is_gone or not self.session then
    return
  end
  require('pisession.follow').changed(self, detail)
  require('pisession.status').tell()
  if what == 'reset' then
    self:redraw()
  else
    self:redraw_soon()
  end
  self:do_pending()
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

--- Says one sentence where the counts stand, until the next key.
---@param sentence string
---@param is_quiet boolean? there alone: what others do is not worth an interruption
function Sidebar:say(sentence, is_quiet)
  local clean = text.clean(sentence)
  self.message, self.said_at = clean, vim.uv.now()
  self:redraw_soon()
  if is_quiet then
    return self:forget_later(self.message)
  end
  -- A longer one would ask for Enter.
  vim.api.nvim_echo({ { text.cut(clean, vim.o.columns - 12, '…') } }, false, {})
end

---@param message string
function Sidebar:forget_later(message)
  vim.defer_fn(function()
    if self.message == message then
      self.message = nil
      self:redraw_soon()
    end
  end, READ)
end

--- The row under the cursor.
---@return pisession.Row?
function Sidebar:row()
  if not self:is_visible() then
    return nil
  end
  return self.view:row_at(vim.api.nvim_win_get_cursor(self.window)[1])
end

--- Puts the cursor on a row; says whether it is there.
---@param id string
---@return boolean
function Sidebar:go_to(id)
  local line = self.view:line_of(id)
  if not line or not self:is_visible() then
    return false
  end
  windows.go_to(self.window, line)
  return true
end

--- Opens the folds on the way to an entry, goes there, and says whether it has a row.
---@param entry string or `here`
---@param done fun(row: pisession.Row?)?
function Sidebar:reveal(entry, done)
  self.session:reveal(entry, function(id)
    self:redraw()
    local is_there = id ~= nil and self:go_to(id)
    if done then
      done(is_there and self:row() or nil)
    end
  end)
end

local function on(event, callback)
  vim.api.nvim_create_autocmd(event, { group = group, callback = callback })
end

on('WinResized', function()
  for _, sidebar in pairs(sidebars) do
    if vim.tbl_contains(vim.v.event.windows or {}, sidebar.window) then
      sidebar:redraw_soon()
    end
  end
end)
on('TabEnter', function()
  local sidebar = M.current()
  if sidebar and sidebar.is_dirty then
    sidebar:redraw_soon()
  end
end)
on('ColorScheme', function()
  require('pisession.highlights').define()
end)
on('OptionSet', function(event)
  if event.match == 'ambiwidth' then
    for _, sidebar in pairs(sidebars) do
      sidebar:redraw_soon()
    end
  end
end)
on('TabClosed', function()
  for tab, sidebar in pairs(sidebars) do
    if not vim.api.nvim_tabpage_is_valid(tab) then
      sidebar:dispose()
    end
  end
end)
on('VimLeavePre', function()
  for _, sidebar in pairs(sidebars) do
    sidebar:dispose()
  end
end)

return M
