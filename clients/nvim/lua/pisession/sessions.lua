--- The sessions of the folder, forks under what they were forked from, and going on in pi.

local listing = require('pisession.listing')
local rpc = require('pisession.rpc')

local M = {}

--- Sessions a page.
local PAGE = 200
--- Asks to be told of the sessions of all folders: which of them are listed is known here, and the
--- newest question counts for all who listen.
local function watch()
  rpc.request('session/list', { limit = 1, watch = true }, function() end)
end

--- How many lists were asked for: who closes one that another follows leaves the watch to that.
local lists = 0

---@class pisession.ListView
---@field sidebar pisession.Sidebar
---@field listed pisession.Listed[]
---@field cwd string? nil: all folders
---@field cursor string? goes on here
---@field folds table<string, boolean>
---@field window integer
---@field buffer integer
---@field width integer
---@field shown pisession.ListLine[]
local ListView = {}
ListView.__index = ListView

---@return string[]
function ListView:lines()
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  self.shown = listing.shown(self.listed, self.sidebar.session.handle, self.folds, glyphs)
  local lines = {}
  for at, shown in ipairs(self.shown) do
    lines[at] = listing.line(shown, self.width)
  end
  if #lines == 0 then
    lines[1] = self.cwd and ' No pi session in this folder yet.' or ' No pi session yet.'
  end
  lines[#lines + 1] = ''
  local other = self.cwd and 'a all folders' or 'h this folder'
  local more = self.cursor and '   m more' or ''
  lines[#lines + 1] = (' <CR> open   <Tab> forks   %s   n new   / search%s   q close'):format(
    other,
    more
  )
  return lines
end

---@return pisession.ListLine?
function ListView:at_cursor()
  return self.shown[vim.api.nvim_win_get_cursor(self.window)[1]]
end

--- Draws the list; the cursor stays on its session.
function ListView:draw()
  local at = self:at_cursor()
  local lines = self:lines()
  if vim.deep_equal(lines, vim.api.nvim_buf_get_lines(self.buffer, 0, -1, false)) then
    return
  end
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(self.buffer, 0, -1, false, lines)
  vim.bo[self.buffer].modifiable = false
  for line, shown in ipairs(self.shown) do
    if at and listing.is_same(shown.one, at.one) then
      vim.api.nvim_win_set_cursor(self.window, { line, 0 })
    end
  end
end

--- Takes up what the daemon tells of sessions. Those listed keep their places, so that none moves
--- away under the cursor.
---@param told { sessions: pisession.Listed[], gone: string[] }
function ListView:hear(told)
  for at = #self.listed, 1, -1 do
    local one = self.listed[at]
    if vim.tbl_contains(told.gone, one.path) or vim.tbl_contains(told.gone, one.session) then
      table.remove(self.listed, at)
    end
  end
  for _, one in ipairs(told.sessions) do
    local at = listing.position(self.listed, one)
    if at then
      self.listed[at] = one
    elseif not self.cwd or one.cwd == self.cwd then
      table.insert(self.listed, listing.place_for(self.listed, one), one)
    end
  end
  self:draw()
end

--- Hears of sessions until the window is closed.
function ListView:listen()
  local listener = {}
  function listener.state()
    -- A new connection was not asked to tell, and something may have happened meanwhile.
    if rpc.connection.state == 'ready' then
      watch()
      M.ask(self.sidebar, self.cwd, nil, function(answer)
        if vim.api.nvim_win_is_valid(self.window) then
          self.listed, self.cursor = answer.sessions, answer.cursor
          self:draw()
        end
      end)
    end
  end
  function listener.notification(method, params)
    if not vim.api.nvim_win_is_valid(self.window) then
      rpc.unlisten(listener)
    elseif method == 'sessions/didChange' then
      self:hear(params)
    end
  end
  rpc.listen(listener)
  return listener
end

function ListView:open_one()
  local line = self:at_cursor()
  if line then
    local one = line.one
    vim.api.nvim_win_close(self.window, true)
    self.sidebar:switch(
      one.path and not one.unsaved and { path = one.path } or { session = one.session }
    )
  end
end

--- The session a family is listed under.
---@param one pisession.Listed
---@return pisession.Listed
function ListView:root_of(one)
  local root = one
  for _, other in ipairs(self.listed) do
    root = other.depth == 0 and other or root
    if other == one then
      break
    end
  end
  return root
end

function ListView:toggle_forks()
  local line = self:at_cursor()
  if line then
    self.folds[listing.key(self:root_of(line.one))] = #line.forks > 0
    self:draw()
  end
end

function ListView:more()
  if not self.cursor then
    return
  end
  M.ask(self.sidebar, self.cwd, self.cursor, function(answer)
    if vim.api.nvim_buf_is_valid(self.buffer) then
      for _, one in ipairs(answer.sessions) do
        if not listing.position(self.listed, one) then
          self.listed[#self.listed + 1] = one
        end
      end
      self.cursor = answer.cursor
      self:draw()
    end
  end)
end

---@param answer table
---@return pisession.ListView
function ListView:show(answer)
  self.listed, self.cursor = answer.sessions, answer.cursor
  self.width =
    math.min(math.max(vim.api.nvim_win_get_width(self.sidebar.window), 76), vim.o.columns - 6)
  local function method(name)
    return function()
      self[name](self)
    end
  end
  local listener
  local mine = lists
  self.window, self.buffer = require('pisession.float').open(self:lines(), {
    title = self.cwd and 'Sessions, this folder' or 'Sessions, all folders',
    width = self.width,
    on_close = function()
      rpc.unlisten(listener)
      if lists == mine then
        require('pisession.follow').watch(self.sidebar)
      end
    end,
    stay = {
      ['<CR>'] = method('open_one'),
      ['<Tab>'] = method('toggle_forks'),
      za = method('toggle_forks'),
      m = method('more'),
    },
    keys = {
      a = function()
        M.list(self.sidebar, nil)
      end,
      h = function()
        M.list(self.sidebar, vim.fn.getcwd())
      end,
      n = function()
        M.new(self.sidebar)
      end,
    },
  })
  listener = self:listen()
  return self
end

---@param sidebar pisession.Sidebar
---@param cwd string?
---@param cursor string?
---@param done fun(answer: table)
function M.ask(sidebar, cwd, cursor, done)
  rpc.request('session/list', { cwd = cwd, limit = PAGE, cursor = cursor }, function(err, answer)
    if err then
      return require('pisession.refusals').say(sidebar, err)
    end
    done(answer)
  end)
end

--- Lists sessions in a float.
---@param sidebar pisession.Sidebar
---@param cwd string? nil: of all folders
function M.list(sidebar, cwd)
  lists = lists + 1
  watch()
  local function show(answer)
    if sidebar:is_visible() then
      setmetatable({ sidebar = sidebar, cwd = cwd, folds = {} }, ListView):show(answer)
    end
  end
  M.ask(sidebar, cwd, nil, require('pisession.attention').keep(sidebar, show))
end

---@param sidebar pisession.Sidebar
function M.open(sidebar)
  M.list(sidebar, vim.fn.getcwd())
end

--- A new session of this folder; its file appears with the first answer.
---@param sidebar pisession.Sidebar
function M.new(sidebar)
  rpc.request('session/create', { cwd = vim.fn.getcwd() }, function(err, answer)
    if err then
      return require('pisession.refusals').say(sidebar, err)
    end
    sidebar:switch({ session = answer.session }, true)
  end)
end

---@param program string[]
---@param info table
local function start_pi(program, info)
  local cwd = info.header.cwd
  if not cwd or vim.fn.isdirectory(cwd) ~= 1 then
    cwd = vim.fn.getcwd()
  end
  vim.cmd.tabnew()
  local words = vim.list_extend(vim.deepcopy(program), { '--session', info.path })
  vim.fn.jobstart(words, { term = true, cwd = cwd })
  vim.cmd.startinsert()
end

--- A terminal with pi on this session, in the session's folder; a second one only after a question.
---@param sidebar pisession.Sidebar
function M.continue_in_pi(sidebar)
  local info = sidebar.session.info
  local program = require('pisession.config').get().pi
  if info.unsaved or not info.path then
    return sidebar:say(
      'The session is not on disk yet; pi can go on with it after the first answer.'
    )
  elseif vim.fn.executable(program[1]) ~= 1 then
    return sidebar:say(('%s is not installed, or the option pi names another.'):format(program[1]))
  end
  if #(info.pis or {}) == 0 then
    return start_pi(program, info)
  end
  local asked = { prompt = 'A running pi has this session open already.' }
  vim.ui.select({ 'Leave it', 'Start a second pi in it' }, asked, function(choice)
    if choice == 'Start a second pi in it' then
      start_pi(program, info)
    end
  end)
end

return M
