--- One open session as the daemon tells of it: what stands in the header, and rows by level.
---
--- It is fed by `session/open` and `session/didChange` and asks for what is missing. Views are
--- functions of it; nothing here knows a buffer or a window.

local Session = require('pisession.session')
local hearing = require('pisession.hearing')
local levels = require('pisession.level')
local rpc = require('pisession.rpc')
require('pisession.reading')

local M = {}

local MAIN = levels.MAIN

--- Every session that is open in this Neovim, to tell whether another one shows the same.
local opened = {} ---@type table<pisession.Session, true>

---@param wish table what to open: `{ path }`, `{ session }` or `{ latest = { cwd } }`
---@param filter string
---@param on_change fun(what: 'rows'|'header'|'reset', detail: table?)
---@return pisession.Session
function M.open(wish, filter, on_change)
  local self = setmetatable({
    wish = wish,
    filter = filter,
    on_change = on_change,
    levels = {},
    folds = {},
    new = {},
    info = {},
    asked = {},
    late = {},
    places = {},
    held = {},
    ticket = 0,
    foreign_rev = 0,
    asks = 0,
    is_closed = false,
  }, Session)
  self.listener = {
    state = function()
      self:connection_changed()
    end,
    notification = function(method, params)
      self:hear(method, params)
    end,
  }
  opened[self] = true
  rpc.listen(self.listener)
  rpc.acquire()
  self:fetch()
  return self
end

local opening = 0
local left = {} ---@type table<string, true> by handle: closed here, perhaps shown elsewhere

local function is_shown(handle)
  for one in pairs(opened) do
    if one.handle == handle then
      return true
    end
  end
  return false
end

--- Closes at the daemon what nothing here shows any more. It tells this Neovim of a session once,
--- however many sidebars show it, so that nothing is closed while one may just be opened again.
local function close_left()
  if rpc.connection.state ~= 'ready' then
    left = {}
  elseif opening == 0 then
    local handles = vim.tbl_keys(left)
    left = {}
    for _, handle in ipairs(handles) do
      if not is_shown(handle) then
        rpc.request('session/close', { session = handle }, function() end)
      end
    end
  end
end

function Session:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  opened[self] = nil
  rpc.unlisten(self.listener)
  if self.handle and not self.is_handle_old then
    left[self.handle] = true
    close_left()
  end
  rpc.release()
end

-- Reading anew.

--- Asks anew for everything. What is shown stays until all of it, open folds too, has come.
function Session:fetch()
  self.ticket = self.ticket + 1
  local mine, filter = self.ticket, self.filter
  local count = require('pisession.config').get().page.first
  local params =
    vim.tbl_extend('force', vim.deepcopy(self.wish), { rows = { filter = filter, count = count } })
  opening = opening + 1
  rpc.request('session/open', params, function(err, answer)
    opening = opening - 1
    if answer and self.is_closed then
      left[answer.session] = true
    end
    self:answered(mine, filter, err, answer)
    close_left()
  end)
end

---@param mine integer
---@param filter string
---@param err pisession.Error?
---@param answer table?
function Session:answered(mine, filter, err, answer)
  if self.is_closed or mine ~= self.ticket then
    return
  elseif err then
    self:cannot_open(err)
    return self.on_change('header')
  end
  self:take_answer(answer, filter)
end

---@param err pisession.Error
function Session:cannot_open(err)
  -- Without a daemon nothing is known of the session.
  if err.kind == 'Offline' then
    return
  end
  self.problem = err
  if self.is_handle_old then
    self.handle, self.is_handle_old = nil, false
    self:end_held(err)
  end
end

---@param answer table
---@param filter string
function Session:take_answer(answer, filter)
  local is_same = self.info.path == answer.path and self.shown_filter == filter
  self.problem, self.is_stale = nil, false
  self.handle, self.info, self.late = answer.session, answer, {}
  self.is_handle_old = false
  self:end_held()
  self.places = {}
  -- A session that was the newest once stays the one at hand until another is asked for.
  self.wish = answer.path and not answer.unsaved and { path = answer.path }
    or { session = answer.session }
  self.size, self.operation = answer.contextSize, answer.operation
  hearing.told_by[self.handle] = filter
  if answer.rows then
    return self:gather(answer.rows, is_same, filter)
  end
  -- It changed while it was read.
  self.is_gathering = true
  self:ask_rows({ around = 'here' }, function(page)
    self:gather(page, is_same, filter)
  end)
end

--- Reads the main line's page and all that is open inside, then shows it at once.
---@param page pisession.Page
---@param is_same boolean the same session and filter as before
---@param filter string
function Session:gather(page, is_same, filter)
  local fresh, pending, mine = {}, 1, self.ticket
  self.is_gathering = true
  local main = is_same and self.levels[MAIN]
  if main then
    main:replace(page)
  end
  fresh[MAIN] = main or levels.new(page)
  local function arrived()
    pending = pending - 1
    if pending > 0 or self.is_closed or mine ~= self.ticket then
      return
    end
    self.levels, self.asked, self.shown_filter = fresh, {}, filter
    self.is_gathering = false
    self:lay_over(page.rev)
    self.on_change('reset')
    if self.is_stale then
      self:refresh(MAIN)
    end
    self:go_on_reading()
  end
  local function look(rows)
    for _, row in ipairs(rows) do
      if self:is_open(row) and not fresh[row.id] then
        pending = pending + 1
        self:ask_rows({ level = row.id, count = self:inside_count(row.id) }, function(inside)
          fresh[row.id] = levels.new(inside)
          look(inside.rows)
          arrived()
        end, arrived)
      end
    end
  end
  look(fresh[MAIN].rows)
  arrived()
end

function Session:connection_changed()
  local state = rpc.connection.state
  if state == 'ready' and self.was_offline then
    self.was_offline = false
    self:fetch()
  elseif state == 'offline' then
    self.was_offline = true
    self.is_handle_old = self.handle ~= nil
    self:end_held()
    self.operation, self.info.pis = nil, nil
  end
  self.on_change('header')
end

---@param filter string
function Session:set_filter(filter)
  self.filter = filter
  self:fetch()
end

---@class pisession.Held what waits until the session is opened again
---@field go_on fun(err: pisession.Error?) asks, or answers with a reason why it cannot
---@field cancel fun()

--- Goes on with what was held back, or says why that cannot be.
---@param err pisession.Error?
function Session:end_held(err)
  local held = self.held
  self.held = {}
  for _, one in ipairs(held) do
    one.go_on(err)
  end
end

---@param ask fun(): fun() asks, and gives what cancels it
---@param answer fun(err: pisession.Error?, result: any)
---@return fun() cancel
function Session:hold(ask, answer)
  local held, is_over = {}, false
  function held.go_on(err)
    if is_over then
      return
    elseif err then
      return answer(err)
    end
    held.cancel = ask()
  end
  function held.cancel()
    is_over = true
    answer(rpc.CANCELLED)
  end
  self.held[#self.held + 1] = held
  return function()
    held.cancel()
  end
end

--- Asks the daemon something about this session. A daemon that was begun anew may give its handle
--- to another session, so that nothing is asked there before it has said how it calls this one.
---@param method string
---@param params table
---@param callback fun(err: pisession.Error?, result: any)
---@return fun() cancel
function Session:request(method, params, callback)
  local function answer(err, result)
    if not self.is_closed then
      callback(err, result)
    end
  end
  local function ask()
    return rpc.request(method, vim.tbl_extend('force', { session = self.handle }, params), answer)
  end
  if self.is_handle_old and rpc.connection.state ~= 'offline' then
    return self:hold(ask, answer)
  end
  return ask()
end

return M
