--- What the daemon tells of an open session, and what that changes.

local MAIN = require('pisession.level').MAIN
local Session = require('pisession.session')
local rpc = require('pisession.rpc')

local M = {}

--- Changes of rows that are kept to be laid over a page that was made before them.
local KEPT = 200

--- By which filter the daemon tells of each session's rows: the newest `session/open` counts.
M.told_by = {} ---@type table<string, string>

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
    local before = self.info.pis or {}
    self.info.clients, self.info.pis = params.clients, params.pis
    self.on_change('rows', { pis = before })
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
  if M.told_by[self.handle] ~= self.filter then
    return self:outdate(MAIN)
  end
  if #self.late >= KEPT then
    table.remove(self.late, 1)
  end
  self.late[#self.late + 1] = { rev = rev, change = change }
  self:apply_rows(change)
  local stale = change.stale or {}
  if vim.tbl_contains(stale, vim.NIL) then
    return self:outdate(MAIN)
  end
  for _, id in ipairs(stale) do
    self:outdate(id --[[@as string]])
  end
end

--- Reads a level again; while all is being read, all again behind that, for what is on its way may
--- have been made before.
---@param key string
function Session:outdate(key)
  if self.is_gathering then
    self.is_stale = true
  else
    self:refresh(key)
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

function APPLY.navigate(self, change)
  self.info.leafConflict, self.left = nil, change.from
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

--- Takes rows over. Of levels that are asked for again anyway nothing is touched: a joined change
--- may put a row behind one that has moved on since.
---@param change pisession.Change
function Session:apply_rows(change)
  local stale = change.stale or {}
  if vim.tbl_contains(stale, vim.NIL) then
    return
  end
  for _, id in ipairs(change.gone or {}) do
    for _, level in pairs(self.levels) do
      level:remove(id)
    end
    self.levels[id] = nil
  end
  for _, row in ipairs(change.upsert or {}) do
    if not vim.tbl_contains(stale, row.level) then
      self:upsert(row)
    end
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

return M
