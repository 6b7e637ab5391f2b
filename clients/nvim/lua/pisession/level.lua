--- The rows of one level, in order: a stretch that was read as it is now, and in front of and
--- behind it what is left over from before, shown until that is read again.

local M = {}

--- The key of the main line among levels; the others go by the row they are inside.
M.MAIN = ''

---@class pisession.Level
---@field rows pisession.Row[]
---@field first integer the stretch that was read: `rows[first]` to `rows[last]`
---@field last integer
---@field before string? the stretch goes on in front of here
---@field after string? the stretch goes on behind here
---@field total integer
---@field private more pisession.Row?
local Level = {}
Level.__index = Level

---@param page pisession.Page
---@return pisession.Level
function M.new(page)
  return setmetatable({
    rows = page.rows,
    first = 1,
    last = #page.rows,
    before = page.before,
    after = page.after,
    total = page.total,
  }, Level)
end

--- Where a row stands. Most changes are near the end, so that it is looked for from there.
---@param id string
---@return integer?
function Level:position(id)
  for at = #self.rows, 1, -1 do
    if self.rows[at].id == id then
      return at
    end
  end
end

---@param rows pisession.Row[]
---@param from integer
---@param to integer
---@return pisession.Row[]
local function slice(rows, from, to)
  return from > to and {} or vim.list_slice(rows, from, to)
end

---@param front pisession.Row[]
---@param middle pisession.Row[]
---@param back pisession.Row[]
function Level:set(front, middle, back)
  local rows = slice(front, 1, #front)
  vim.list_extend(rows, middle)
  vim.list_extend(rows, back)
  self.rows, self.first, self.last = rows, #front + 1, #front + #middle
end

--- What stood in front of a page before it came; nothing where the page begins the level.
---@param page pisession.Page
---@return pisession.Row[]
function Level:left_in_front(page)
  local at = page.before and page.rows[1] and self:position(page.rows[1].id)
  return at and slice(self.rows, 1, at - 1) or {}
end

---@param page pisession.Page
---@return pisession.Row[]
function Level:left_behind(page)
  local at = page.after and page.rows[1] and self:position(page.rows[#page.rows].id)
  return at and slice(self.rows, at + 1, #self.rows) or {}
end

--- Takes a page as the stretch that was read.
---@param page pisession.Page
function Level:replace(page)
  self:set(self:left_in_front(page), page.rows, self:left_behind(page))
  self.before, self.after, self.total = page.before, page.after, page.total
end

--- Takes the page that goes on in front of the stretch.
---@param page pisession.Page
function Level:extend_before(page)
  local known = slice(self.rows, self.first, self.last)
  local back = slice(self.rows, self.last + 1, #self.rows)
  local rows = vim.list_extend(slice(page.rows, 1, #page.rows), known)
  self:set(self:left_in_front(page), rows, back)
  self.before, self.total = page.before, page.total
end

--- Takes the page that goes on behind the stretch.
---@param page pisession.Page
function Level:extend_after(page)
  local front = slice(self.rows, 1, self.first - 1)
  local rows = vim.list_extend(slice(self.rows, self.first, self.last), page.rows)
  self:set(front, rows, self:left_behind(page))
  self.after, self.total = page.after, page.total
end

---@param at integer
function Level:take_out(at)
  table.remove(self.rows, at)
  if at < self.first then
    self.first = self.first - 1
  end
  if at <= self.last then
    self.last = self.last - 1
  end
end

--- Removes a row; not having it is no error.
---@param id string
function Level:remove(id)
  local at = self:position(id)
  if at then
    self:take_out(at)
    self.total = self.total - 1
  end
end

--- A row that stands for those behind the last one read; nil where all have been read. It stays
--- the same as long as it says the same.
---@return pisession.Row?
function Level:rest()
  local last = self.rows[#self.rows]
  if not self.after or not last then
    return nil
  end
  local title = ('%d more'):format(math.max(self.total - #self.rows, 1))
  if not self.more or self.more.title ~= title or self.more.depth ~= last.depth then
    self.more = {
      id = 'more:' .. last.level,
      kind = 'more',
      level = last.level,
      entries = 0,
      title = title,
      failed = 0,
      rows = 0,
      depth = last.depth,
      fold = 'none',
      flags = {},
      forks = {},
    }
  end
  return self.more
end

---@param row pisession.Row
---@param at integer
function Level:put_in(row, at)
  table.insert(self.rows, at, row)
  if at < self.first then
    self.first = self.first + 1
  end
  if at <= self.last + 1 then
    self.last = self.last + 1
  end
end

--- Puts a row behind the one it stands after; twice is as good as once. Where that one has not
--- been read, the row comes with its page.
---@param row pisession.Row
function Level:upsert(row)
  local at = self:position(row.id)
  if at and (self.rows[at - 1] or {}).id == row.after then
    self.rows[at] = row
    return
  elseif at then
    self:take_out(at)
  else
    self.total = self.total + 1
  end
  local behind = row.after and self:position(row.after)
  if behind then
    self:put_in(row, behind + 1)
  elseif not row.after and not self.before then
    self:put_in(row, 1)
  end
end

return M
