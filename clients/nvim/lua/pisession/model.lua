--- One open session as the daemon tells of it: what stands in the header, and rows by level.
---
--- It is fed by `session/open` and `session/didChange` and asks for what is missing. Views are
--- functions of it; nothing here knows a buffer or a window.

local levels = require('pisession.level')
local rpc = require('pisession.rpc')

local M = {}

--- The key of the main line among levels; the others go by the row they are inside.
local MAIN = ''
--- Changes of rows that are kept to be laid over a page that was made before them.
local KEPT = 200

---@class pisession.Session
---@field wish table what to open
---@field handle string?
---@field info table what `session/open` answered, brought up to date
---@field filter string
---@field levels table<string, pisession.Level>
---@field folds table<string, boolean> what the user opened (true) or closed (false), by row
---@field new table<string, boolean> entries that another client or program has added
---@field size pisession.ContextSize? at the leaf
---@field operation pisession.Progress? what runs now
---@field foreign_rev integer of the newest change by somebody else
---@field problem pisession.Error? why there are no rows
---@field private asked table<string, integer> which request for a level counts
---@field private late { rev: integer, change: pisession.Change }[] the newest changes of rows
---@field private awaited { id: string, found: fun(id: string?) }?
local Session = {}
Session.__index = Session

--- Every session that is open in this Neovim, to tell whether another one shows the same.
local opened = {} ---@type table<pisession.Session, true>
--- By which filter the daemon tells of each session's rows: the newest `session/open` counts.
local told_by = {} ---@type table<string, string>

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

local function is_shown_elsewhere(handle)
  for one in pairs(opened) do
    if one.handle == handle then
      return true
    end
  end
  return false
end

function Session:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  opened[self] = nil
  rpc.unlisten(self.listener)
  if self.handle and rpc.connection.state == 'ready' and not is_shown_elsewhere(self.handle) then
    rpc.request('session/close', { session = self.handle }, function() end)
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
  rpc.request('session/open', params, function(err, answer)
    if self.is_closed or mine ~= self.ticket then
      return
    elseif err then
      self.problem = err.kind ~= 'Offline' and err or self.problem
      return self.on_change('header')
    end
    self:take_answer(answer, filter)
  end)
end

---@param answer table
---@param filter string
function Session:take_answer(answer, filter)
  local is_same = self.info.path == answer.path and self.shown_filter == filter
  self.problem, self.is_stale = nil, false
  self.handle, self.info, self.late = answer.session, answer, {}
  -- A session that was the newest once stays the one at hand until another is asked for.
  self.wish = answer.path and not answer.unsaved and { path = answer.path }
    or { session = answer.session }
  self.size, self.operation = answer.contextSize, answer.operation
  told_by[self.handle] = filter
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
        self:ask_rows({ level = row.id, count = 1000 }, function(inside)
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
    self.operation = nil
  end
  self.on_change('header')
end

-- Pages.

---@param wish table
---@param done fun(page: pisession.Page)
---@param failed fun(err: pisession.Error)?
function Session:ask_rows(wish, done, failed)
  local mine = self.ticket
  local params =
    vim.tbl_extend('force', { session = self.handle, filter = self.filter, count = 200 }, wish)
  rpc.request('session/rows', params, function(err, page)
    if self.is_closed or mine ~= self.ticket then
      return
    elseif err then
      return failed and failed(err)
    end
    done(page)
  end)
end

--- Asks for rows of a level; an older question about the same level counts no more.
---@param key string
---@param wish table
---@param done fun(page: pisession.Page)
function Session:ask_level(key, wish, done)
  -- Counted over all levels and for good: answers may come in another order than questions.
  self.asks = self.asks + 1
  local mine = self.asks
  self.asked[key] = mine
  if key ~= MAIN then
    wish.level = key
  end
  self:ask_rows(wish, function(page)
    if self.asked[key] == mine then
      self.asked[key] = nil
      done(page)
      self:lay_over(page.rev)
      self.on_change('rows')
      self:answer_awaited()
      self:go_on_reading()
    end
  end, function(err)
    if self.asked[key] == mine then
      self.asked[key] = nil
      self:level_failed(key, err)
    end
  end)
end

function Session:level_failed(key, err)
  if err.kind == 'Offline' then
    return
  elseif key ~= MAIN then
    -- There is no such row any more, or nothing inside.
    self.levels[key], self.folds[key] = nil, nil
  end
  self.on_change('rows')
end

--- Lays changes over a page that was made before they came; twice is as good as once.
---@param rev integer of the page
function Session:lay_over(rev)
  for _, one in ipairs(self.late) do
    if one.rev >= rev then
      self:apply_rows(one.change)
    end
  end
end

--- Asks for the inside of a row.
---@param id string
function Session:load(id)
  if self.asked[id] then
    return
  end
  self:ask_level(id, { count = 1000 }, function(page)
    self.levels[id] = levels.new(page)
  end)
end

--- Asks for what is missing: what is open and was not read, then the rest of the levels, one
--- piece at a time.
function Session:go_on_reading()
  if next(self.asked) then
    return
  end
  for _, row in ipairs(self:rows()) do
    if self:is_open(row) and not self.levels[row.id] then
      return self:load(row.id)
    end
  end
  for key, level in pairs(self.levels) do
    if level.before or level.after then
      return self:load_more(key, level)
    end
  end
end

---@param key string
---@param level pisession.Level
function Session:load_more(key, level)
  local count = require('pisession.config').get().page.more
  if level.after then
    self:ask_level(key, { after = level.after, count = count }, function(page)
      level:extend_after(page)
    end)
  else
    self:ask_level(key, { before = level.before, count = count }, function(page)
      level:extend_before(page)
    end)
  end
end

--- Asks again for a level of which the daemon says that it is stale, and for what is open inside.
---@param key string
function Session:refresh(key)
  local shown = self:open_levels()
  for known in pairs(self.levels) do
    if known ~= key and known ~= MAIN and (key == MAIN or self:is_inside(known, key)) then
      self:refresh_one(known, shown[known])
    end
  end
  if self.levels[key] then
    self:refresh_one(key, key == MAIN or shown[key])
  end
end

---@param key string
---@param is_shown boolean? else it is forgotten, and read when it is opened
function Session:refresh_one(key, is_shown)
  if not is_shown then
    self.levels[key], self.asked[key] = nil, nil
    return
  end
  local count = math.max(require('pisession.config').get().page.first, key == MAIN and 0 or 1000)
  self:ask_level(key, { around = key == MAIN and 'here' or nil, count = count }, function(page)
    if self.levels[key] then
      self.levels[key]:replace(page)
    else
      self.levels[key] = levels.new(page)
    end
  end)
end

---@return table<string, true>
function Session:open_levels()
  local found = {}
  for _, row in ipairs(self:rows()) do
    if self:is_open(row) then
      found[row.id] = true
    end
  end
  return found
end

---@param key string
---@param outer string
---@return boolean
function Session:is_inside(key, outer)
  local row = self:row(key)
  while row and row.level do
    if row.level == outer then
      return true
    end
    row = self:row(row.level)
  end
  return false
end

---@param id string
---@return pisession.Row?
function Session:row(id)
  for _, level in pairs(self.levels) do
    local at = level:position(id)
    if at then
      return level.rows[at]
    end
  end
end

-- What the daemon tells.

function Session:hear(method, params)
  if params.session ~= self.handle then
    return
  elseif method == 'session/didChange' then
    self:apply(params)
  elseif method == 'session/didReset' then
    self:fetch()
    self.on_change('header', { reset = params.reason })
  elseif method == 'session/didProgress' then
    local is_over = params.state == 'done'
      or params.state == 'failed'
      or params.state == 'cancelled'
    self.operation = not is_over and params or nil
    self.on_change('header', { progress = params })
  elseif method == 'session/didPresence' then
    self.info.clients = params.clients
    self.on_change('header')
  end
end

--- Whether it is somebody else's act: what the daemon puts right by itself is nobody's.
local function is_other(origin)
  return origin == 'external' or type(origin) == 'table' and origin.clientId ~= rpc.client_id
end

---@param delta pisession.Delta
function Session:apply(delta)
  if delta.epoch ~= self.info.epoch or delta.base > self.info.rev then
    return self:fetch()
  elseif delta.base < self.info.rev then
    return
  end
  self.info.rev, self.info.leaf = delta.rev, delta.leaf
  self.size = delta.contextSize or self.size
  local acts = {}
  for _, change in ipairs(delta.changes) do
    if change.kind == 'rows' then
      self:hear_rows(change, delta.rev)
    else
      acts[#acts + 1] = change
      self:apply_change(change)
      if is_other(change.origin) then
        self.foreign_rev = delta.rev
      end
    end
  end
  self.on_change('rows', { acts = acts })
end

---@param change pisession.Change
---@param rev integer
function Session:hear_rows(change, rev)
  if told_by[self.handle] ~= self.filter then
    return self:refresh(MAIN)
  end
  if #self.late >= KEPT then
    table.remove(self.late, 1)
  end
  self.late[#self.late + 1] = { rev = rev, change = change }
  self:apply_rows(change)
  local stale = change.stale or {}
  if self.is_gathering and #stale > 0 then
    -- What is on its way may have been made before.
    self.is_stale = true
    return
  end
  if vim.tbl_contains(stale, vim.NIL) then
    return self:refresh(MAIN)
  end
  for _, id in ipairs(stale) do
    self:refresh(id --[[@as string]])
  end
end

local APPLY = {} ---@type table<string, fun(self: pisession.Session, change: table)>

function APPLY.rename(self, change)
  self.info.name = change.name
end

function APPLY.save(self, change)
  self.info.unsaved, self.info.path = false, change.path or self.info.path
end

function APPLY.leafConflict(self, change)
  self.info.leafConflict = { ours = change.ours, theirs = change.theirs }
end

function APPLY.navigate(self)
  self.info.leafConflict = nil
end

function APPLY.problem(self, change)
  self.info.problems = vim.list_extend(self.info.problems or {}, change.problems or {})
end

function APPLY.append(self, change)
  if is_other(change.origin) then
    for _, node in ipairs(change.nodes or {}) do
      self.new[tostring(node.id)] = true
    end
  end
end

---@param change table
function Session:apply_change(change)
  local apply = APPLY[change.kind]
  if apply then
    apply(self, change)
  end
  self.info.entryCount = (self.info.entryCount or 0) + #(change.nodes or {})
  if change.origin == 'external' then
    self.info.lastExternal = os.date('!%Y-%m-%dT%H:%M:%SZ')
  end
end

---@param change pisession.Change
function Session:apply_rows(change)
  for _, id in ipairs(change.gone or {}) do
    for _, level in pairs(self.levels) do
      level:remove(id)
    end
    self.levels[id] = nil
  end
  for _, row in ipairs(change.upsert or {}) do
    self:upsert(row)
  end
end

---@param row pisession.Row
function Session:upsert(row)
  local home = self.levels[row.level or MAIN]
  for _, level in pairs(self.levels) do
    if level ~= home then
      level:remove(row.id)
    end
  end
  if home then
    home:upsert(row)
  end
end

-- What is shown.

---@param row pisession.Row
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
---@param row pisession.Row
---@param is_open boolean
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
---@return pisession.Row[]
function Session:rows()
  local shown, stack = {}, {}
  local main = self.levels[MAIN]
  if main then
    stack[1] = { main.rows, 1 }
  end
  while #stack > 0 do
    local top = stack[#stack]
    local row = top[1][top[2]]
    if not row then
      stack[#stack] = nil
    else
      top[2] = top[2] + 1
      shown[#shown + 1] = row
      local level = row.fold ~= 'none' and self:is_open(row) and self.levels[row.id]
      if level then
        stack[#stack + 1] = { level.rows, 1 }
      end
    end
  end
  return shown
end

local function row_of(rows, entry)
  for _, row in ipairs(rows) do
    if row.id == entry or row.entry == entry or row.last == entry or row.first == entry then
      return row.id
    end
  end
end

--- Opens the folds on the way to an entry and calls back with its row, or with nil where it has
--- none.
---@param entry string or `here`
---@param found fun(id: string?)
function Session:reveal(entry, found)
  self:ask_rows({ around = entry }, function(page)
    for _, id in ipairs(page.path or {}) do
      self.folds[id] = true
    end
    local key = page.level or MAIN
    local level = self.levels[key]
    local id = row_of(page.rows, entry)
    if not level then
      self.levels[key] = levels.new(page)
    elseif id and not level:position(id) then
      level:replace(page)
    end
    self.awaited = id and { id = id, found = found } or nil
    self.on_change('rows')
    if not id then
      return found(nil)
    end
    self:answer_awaited()
    self:go_on_reading()
  end, function()
    found(nil)
  end)
end

--- Calls back whoever waits for a row, once it is among those shown.
function Session:answer_awaited()
  local awaited = self.awaited
  if not awaited then
    return
  end
  for _, row in ipairs(self:rows()) do
    if row.id == awaited.id then
      self.awaited = nil
      return awaited.found(row.id)
    end
  end
end

---@param filter string
function Session:set_filter(filter)
  self.filter = filter
  self:fetch()
end

--- Asks the daemon something about this session.
---@param method string
---@param params table
---@param callback fun(err: pisession.Error?, result: any)
---@return fun() cancel
function Session:request(method, params, callback)
  params = vim.tbl_extend('force', { session = self.handle }, params)
  return rpc.request(method, params, function(err, result)
    if not self.is_closed then
      callback(err, result)
    end
  end)
end

return M
