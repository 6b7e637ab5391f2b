--- One open session as the daemon tells of it: what stands in the header, and rows by level.
---
--- It is fed by `session/open` and `session/didChange` and asks for what is missing. Views are
--- functions of it; nothing here knows a buffer or a window.

local rpc = require('pisession.rpc')

local M = {}

--- The key of the main line among levels; the others go by the row they are inside.
local MAIN = ''

---@class pisession.Level
---@field rows table[] in order
---@field total integer
---@field before string? goes on in front of here
---@field after string? goes on behind here
---@field loading boolean

---@class pisession.Session
---@field handle string?
---@field info table what `session/open` answered, brought up to date
---@field filter string
---@field levels table<string, pisession.Level>
---@field folds table<string, boolean> what the user opened (true) or closed (false), by row
---@field new table<string, boolean> rows that another client has added
---@field size table? `ContextSize` at the leaf
---@field operation table? what runs now
---@field problem pisession.Error? why there are no rows
local Session = {}
Session.__index = Session

---@param wish table what to open: `{ path }`, `{ session }` or `{ latest = { cwd } }`
---@param filter string
---@param on_change fun(what: 'rows'|'header'|'reset'|'moved', detail: table?)
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
    is_closed = false,
    ticket = 0,
  }, Session)
  self.listener = {
    state = function()
      self:connection_changed()
    end,
    notification = function(method, params)
      self:hear(method, params)
    end,
  }
  rpc.listen(self.listener)
  rpc.acquire()
  self:fetch()
  return self
end

function Session:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  rpc.unlisten(self.listener)
  if self.handle and rpc.connection.state == 'ready' then
    rpc.request('session/close', { session = self.handle }, function() end)
  end
  rpc.release()
end

--- Asks anew for everything; folds stay.
function Session:fetch()
  self.ticket = self.ticket + 1
  local mine = self.ticket
  local params = vim.tbl_extend('force', vim.deepcopy(self.wish), { rows = { filter = self.filter } })
  rpc.request('session/open', params, function(err, answer)
    if self.is_closed or mine ~= self.ticket then
      return
    end
    if err then
      self.problem = err
      return self.on_change('header')
    end
    self.problem = nil
    self.handle, self.info = answer.session, answer
    -- A session that was the newest once stays the one at hand until another is asked for.
    self.wish = answer.path and { path = answer.path } or { session = answer.session }
    self.size, self.operation = answer.contextSize, answer.operation
    self.levels = {}
    self:take_page(MAIN, answer.rows)
    for id, is_open in pairs(self.folds) do
      if is_open then
        self:load(id)
      end
    end
    self.on_change('reset')
    self:load_rest()
  end)
end

function Session:connection_changed()
  local state = rpc.connection.state
  if state == 'ready' and self.was_offline then
    self.was_offline = false
    self:fetch()
  elseif state == 'offline' then
    self.was_offline = true
    self.operation = nil
  end
  self.on_change('header')
end

---@param key string
---@param page table?
function Session:take_page(key, page)
  if not page then
    return
  end
  self.levels[key] = { rows = page.rows, total = page.total, before = page.before, after = page.after, loading = false }
end

--- Asks for the inside of a row.
---@param id string
function Session:load(id)
  local level = self.levels[id]
  if level and level.loading then
    return
  end
  self.levels[id] = level or { rows = {}, total = 0, loading = true }
  self.levels[id].loading = true
  local params = { session = self.handle, level = id, count = 1000, filter = self.filter }
  self:ask_rows(params, function(page)
    self:take_page(id, page)
    self.on_change('rows')
  end, function()
    self.levels[id] = nil
    self.folds[id] = nil
  end)
end

---@param params table
---@param done fun(page: table)
---@param failed fun(err: pisession.Error)?
function Session:ask_rows(params, done, failed)
  local mine = self.ticket
  rpc.request('session/rows', params, function(err, page)
    if self.is_closed or mine ~= self.ticket then
      return
    elseif err then
      return failed and failed(err)
    end
    done(page)
  end)
end

--- Asks for what is missing of the main line, a piece at a time while nothing else is wanted.
function Session:load_rest()
  local level = self.levels[MAIN]
  if not level or level.loading or not (level.before or level.after) then
    return
  end
  level.loading = true
  local count = require('pisession.config').get().page.more
  local params = { session = self.handle, count = count, filter = self.filter }
  params[level.after and 'after' or 'before'] = level.after or level.before
  self:ask_rows(params, function(page)
    level.loading = false
    if params.after then
      vim.list_extend(level.rows, page.rows)
      level.after = page.after
    else
      level.rows = vim.list_extend(page.rows, level.rows)
      level.before = page.before
    end
    level.total = page.total
    self.on_change('rows')
    vim.schedule(function()
      self:load_rest()
    end)
  end, function()
    level.loading = false
  end)
end

-- What the daemon tells.

function Session:hear(method, params)
  if params.session ~= self.handle then
    return
  elseif method == 'session/didChange' then
    self:apply(params)
  elseif method == 'session/didReset' then
    self.levels = {}
    self:fetch()
    self.on_change('header', { reset = params.reason })
  elseif method == 'session/didProgress' then
    local is_over = params.state == 'done' or params.state == 'failed' or params.state == 'cancelled'
    self.operation = not is_over and params or nil
    self.on_change('header', { progress = params })
  elseif method == 'session/didPresence' then
    self.info.clients = params.clients
    self.on_change('header')
  end
end

function Session:apply(delta)
  if delta.epoch ~= self.info.epoch or delta.base > self.info.rev then
    return self:fetch()
  elseif delta.base < self.info.rev then
    return
  end
  self.info.rev, self.info.leaf = delta.rev, delta.leaf
  self.size = delta.contextSize or self.size
  local detail = { acts = {} }
  for _, change in ipairs(delta.changes) do
    self:apply_change(change, detail)
  end
  self.on_change('rows', detail)
end

local function is_other(origin)
  local own = require('pisession.rpc').client_id
  return type(origin) ~= 'table' or origin.clientId ~= own
end

function Session:apply_change(change, detail)
  if change.kind == 'rows' then
    return self:apply_rows(change)
  end
  detail.acts[#detail.acts + 1] = change
  if change.kind == 'rename' then
    self.info.name = change.name
  elseif change.kind == 'save' then
    self.info.unsaved, self.info.path = false, change.path or self.info.path
  elseif change.kind == 'leafConflict' then
    self.info.leafConflict = { ours = change.ours, theirs = change.theirs }
  elseif change.kind == 'navigate' then
    self.info.leafConflict = nil
  elseif change.kind == 'problem' and change.problems then
    vim.list_extend(self.info.problems, change.problems)
  end
  if change.origin == 'external' then
    self.info.lastExternal = os.date('!%Y-%m-%dT%H:%M:%SZ')
  end
  if change.kind == 'append' and is_other(change.origin) then
    for _, node in ipairs(change.nodes or {}) do
      self.new['e:' .. node.id] = true
    end
    self.info.entryCount = (self.info.entryCount or 0) + #(change.nodes or {})
  elseif change.nodes then
    self.info.entryCount = (self.info.entryCount or 0) + #change.nodes
  end
end

local function position(rows, id)
  for at = #rows, 1, -1 do
    if rows[at].id == id then
      return at
    end
  end
end

function Session:apply_rows(change)
  for _, id in ipairs(change.gone or {}) do
    self:remove(id)
  end
  for _, row in ipairs(change.upsert or {}) do
    self:upsert(row)
  end
  for _, id in ipairs(change.stale or {}) do
    self:refresh(id == vim.NIL and MAIN or id)
  end
end

function Session:remove(id)
  for _, level in pairs(self.levels) do
    local at = position(level.rows, id)
    if at then
      table.remove(level.rows, at)
      level.total = level.total - 1
    end
  end
  self.levels[id] = nil
end

function Session:upsert(row)
  local level = self.levels[row.level or MAIN]
  for _, other in pairs(self.levels) do
    local at = other ~= level and position(other.rows, row.id)
    if at then
      table.remove(other.rows, at)
    end
  end
  if not level then
    return
  end
  local at = position(level.rows, row.id)
  if at then
    table.remove(level.rows, at)
  else
    level.total = level.total + 1
  end
  if not row.after then
    if not level.before then
      table.insert(level.rows, 1, row)
    end
    return
  end
  local behind = position(level.rows, row.after)
  if behind then
    table.insert(level.rows, behind + 1, row)
  end
end

--- Asks again for as much of a level as is there.
function Session:refresh(key)
  local level = self.levels[key]
  if not level then
    return
  end
  local params = { session = self.handle, count = math.min(math.max(#level.rows, 200), 2000), filter = self.filter }
  if key == MAIN then
    params.around = 'here'
  else
    params.level = key
  end
  self:ask_rows(params, function(page)
    self:take_page(key, page)
    self.on_change('rows')
    if key == MAIN then
      self:load_rest()
    end
  end, function()
    self.levels[key] = nil
    self.on_change('rows')
  end)
end

-- What is shown.

---@param row table
---@return boolean
function Session:is_open(row)
  if row.fold == 'none' then
    return false
  end
  local wished = self.folds[row.id]
  if wished == nil then
    return row.fold == 'open'
  end
  return wished
end

--- Opens or closes a row; what is inside is asked for where it is missing.
function Session:fold(row, is_open)
  if row.fold == 'none' then
    return
  end
  self.folds[row.id] = is_open
  if is_open and not self.levels[row.id] then
    self:load(row.id)
  end
  self.on_change('rows')
end

--- The rows of the screen, opened ones before their inside.
---@return table[]
function Session:rows()
  local shown, stack = {}, {}
  local main = self.levels[MAIN]
  if not main then
    return shown
  end
  stack[1] = { main.rows, 1 }
  while #stack > 0 do
    local top = stack[#stack]
    local row = top[1][top[2]]
    if not row then
      stack[#stack] = nil
    else
      top[2] = top[2] + 1
      shown[#shown + 1] = row
      local level = self:is_open(row) and self.levels[row.id]
      if level then
        stack[#stack + 1] = { level.rows, 1 }
      end
    end
  end
  return shown
end

--- Opens the folds on the way to an entry and calls back with its row.
---@param entry string
---@param found fun(id: string?)
function Session:reveal(entry, found)
  local params = { session = self.handle, around = entry, count = 200, filter = self.filter }
  self:ask_rows(params, function(page)
    for _, id in ipairs(page.path or {}) do
      self.folds[id] = true
      if not self.levels[id] or id == page.level then
        self.levels[id] = self.levels[id] or { rows = {}, total = 0, loading = false }
        if id ~= page.level then
          self:load(id)
        end
      end
    end
    if page.level then
      self:take_page(page.level, page)
    end
    self.on_change('rows')
    for _, row in ipairs(page.rows) do
      if row.entry == entry or row.last == entry or row.first == entry then
        return found(row.id)
      end
    end
    found(nil)
  end, function()
    found(nil)
  end)
end

---@param filter string
function Session:set_filter(filter)
  self.filter = filter
  self:fetch()
end

--- Asks the daemon something about this session.
---@return fun() cancel
function Session:request(method, params, callback)
  return rpc.request(method, vim.tbl_extend('force', { session = self.handle }, params), function(err, result)
    if not self.is_closed then
      callback(err, result)
    end
  end)
end

return M
