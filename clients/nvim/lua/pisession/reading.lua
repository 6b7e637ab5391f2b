--- How an open session's rows are asked for: by level, a piece at a time, and again where they are
--- stale.

local MAIN = require('pisession.level').MAIN
local Session = require('pisession.session')
local levels = require('pisession.level')

---@param wish table
---@param done fun(page: pisession.Page)
---@param failed fun(err: pisession.Error)?
function Session:ask_rows(wish, done, failed)
  -- What is held back is asked once all has been read anew, so that its answer is of now.
  local mine = not self.is_handle_old and self.ticket
  local params = vim.tbl_extend('force', { filter = self.filter, count = 200 }, wish)
  self:request('session/rows', params, function(err, page)
    if mine and mine ~= self.ticket then
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
    -- There is no such row any more, or nothing inside. One that is still there is closed, so that
    -- it is not asked about again and again.
    self.levels[key], self.folds[key] = nil, self:row(key) and false
  end
  self.on_change('rows')
  self:go_on_reading()
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

--- Rows of a group a page; more of them come when they are asked for.
local GROUP_PAGE = 50
--- Rows of any other level that is opened; the rest follows by itself.
local INSIDE = 1000

---@param key string
---@return boolean
local function is_group(key)
  return vim.startswith(key, 'g:')
end

--- How many rows of a level to ask for at first, or anew: of a group as many as are shown.
---@param key string
---@return integer
function Session:inside_count(key)
  if not is_group(key) then
    return INSIDE
  end
  local level = self.levels[key]
  return math.min(math.max(level and #level.rows or 0, GROUP_PAGE), INSIDE)
end

--- Asks for the next page of a group; calls back with the first row of it.
---@param key string
---@param found fun(id: string?)
function Session:read_more(key, found)
  local level = self.levels[key]
  if not level or not level.after or self.asked[key] then
    return
  end
  self:ask_level(key, { after = level.after, count = GROUP_PAGE }, function(page)
    level:extend_after(page)
    found(page.rows[1] and page.rows[1].id)
  end)
end

--- Asks for the inside of a row.
---@param id string
function Session:load(id)
  if self.asked[id] then
    return
  end
  self:ask_level(id, { count = self:inside_count(id) }, function(page)
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
    if level.before or (level.after and not is_group(key)) then
      return self:load_more(key, level)
    end
  end
end

---@param key string
---@param level pisession.Level
function Session:load_more(key, level)
  local count = require('pisession.config').get().page.more
  if level.after and not is_group(key) then
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
  local count = key == MAIN and require('pisession.config').get().page.first
    or self:inside_count(key)
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
