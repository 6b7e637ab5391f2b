--- Painted lines into a buffer: only what changed is painted and set.

local paint = require('pisession.paint')
local text = require('pisession.text')

local M = {}

local namespace = vim.api.nvim_create_namespace('pisession')
local cuts = vim.api.nvim_create_namespace('pisession.cut')

---@class pisession.Shown
---@field look string what it was painted with
---@field clock string
---@field is_open boolean
---@field is_new boolean
---@field is_marked boolean
---@field standing string?
---@field doing string?
---@field painted pisession.Painted
---@field text string
---@field key string

---@class pisession.View
---@field buffer integer
---@field rows pisession.Row[] of each line
---@field private shown string[] what each line was set from, to compare
---@field private cache table<pisession.Row, pisession.Shown>
---@field private clocks table<pisession.Row, pisession.Clock>
---@field private lines table<string, integer>? by row
local View = {}
View.__index = View

local WEAK = { __mode = 'k' }

---@param buffer integer
---@return pisession.View
function M.new(buffer)
  return setmetatable({
    buffer = buffer,
    rows = {},
    shown = {},
    cache = setmetatable({}, WEAK),
    clocks = setmetatable({}, WEAK),
  }, View)
end

local GRADES = { ok = 'PisessionRight', warn = 'PisessionWarn', high = 'PisessionHigh' }

---@param line pisession.Painted
---@return string text
---@return string key
local function flatten(line)
  local texts, key = {}, { line.right, line.grade }
  for at, piece in ipairs(line.left) do
    texts[at] = piece[1]
    key[#key + 1] = piece[2]
  end
  local whole = table.concat(texts):gsub('%s+$', '')
  key[#key + 1] = whole
  return whole, table.concat(key, '\0')
end

function View:clock_of(row)
  local read = self.clocks[row]
  if not read then
    read = paint.read_clock(row)
    self.clocks[row] = read
  end
  return read
end

--- What all lines depend on alike.
---@param options pisession.PaintOptions
---@return string
local function look_of(options)
  local glyphs = options.glyphs
  return table.concat({ options.width, options.size or '', glyphs.active, glyphs.roles.user }, '\0')
end

--- One line, painted anew only where the row or what it depends on has changed.
---@param row pisession.Row
---@param by_id table<string, pisession.Row>
---@param clock string
---@param options pisession.PaintOptions
---@param look string
---@return pisession.Shown
function View:line(row, by_id, clock, options, look)
  local is_open = row.fold ~= 'none' and options.is_open(row.id)
  local is_new = options.new ~= nil and options.new[row.last] or false
  local is_marked = options.marked == row.id
  local standing = options.standing and options.standing[row.id]
  local doing = row.kind == 'here' and options.doing or nil
  local known = self.cache[row]
  if
    known
    and known.look == look
    and known.clock == clock
    and known.is_open == is_open
    and known.is_new == is_new
    and known.is_marked == is_marked
    and known.standing == standing
    and known.doing == doing
  then
    return known
  end
  local painted = paint.row(row, by_id, clock, options)
  local whole, key = flatten(painted)
  local shown =
    { look = look, clock = clock, is_open = is_open, is_new = is_new, is_marked = is_marked }
  shown.standing = standing
  shown.doing, shown.painted, shown.text, shown.key = doing, painted, whole, key
  self.cache[row] = shown
  return shown
end

---@param rows pisession.Row[]
---@param options pisession.PaintOptions
---@return pisession.Shown[]
function View:paint(rows, options)
  local by_id, day, lines, look = {}, options.today, {}, look_of(options)
  for _, row in ipairs(rows) do
    by_id[row.id] = row
  end
  for at, row in ipairs(rows) do
    local read = self:clock_of(row)
    lines[at] = self:line(row, by_id, paint.clock(row, read, day), options, look)
    day = read.day or day
  end
  return lines
end

---@param at integer counted from 0
---@param shown pisession.Shown
---@param row pisession.Row
---@param width integer
function View:decorate(at, shown, row, width)
  local column, length = 0, #shown.text
  for _, piece in ipairs(shown.painted.left) do
    local stop = math.min(column + #piece[1], length)
    if stop > column then
      vim.api.nvim_buf_set_extmark(self.buffer, namespace, at, column, {
        end_col = stop,
        hl_group = piece[2],
        hl_mode = 'combine',
      })
    end
    column = column + #piece[1]
  end
  self:decorate_right(at, shown.painted, row, width)
end

function View:decorate_right(at, painted, row, width)
  local mark = { virt_text_pos = 'overlay', hl_mode = 'combine' }
  if painted.right ~= '' then
    mark.virt_text = { { painted.right, GRADES[painted.grade] or 'PisessionRight' } }
    mark.virt_text_win_col = width - text.width(painted.right)
  end
  if row.kind == 'here' then
    mark.line_hl_group = 'PisessionLeafLine'
  end
  if mark.virt_text or mark.line_hl_group then
    vim.api.nvim_buf_set_extmark(self.buffer, namespace, at, 0, mark)
  end
end

--- How many lines at the beginning and at the end are as they were.
---@param old string[]
---@param new pisession.Shown[]
---@return integer front
---@return integer back
local function same_ends(old, new)
  local front, most = 0, math.min(#old, #new)
  while front < most and old[front + 1] == new[front + 1].key do
    front = front + 1
  end
  local back = 0
  while back < most - front and old[#old - back] == new[#new - back].key do
    back = back + 1
  end
  return front, back
end

---@param first integer counted from 0
---@param stop integer
---@param lines string[]
function View:set_lines(first, stop, lines)
  local options = vim.bo[self.buffer]
  options.modifiable = true
  vim.api.nvim_buf_clear_namespace(self.buffer, namespace, first, stop)
  vim.api.nvim_buf_set_lines(self.buffer, first, stop, false, lines)
  options.modifiable = false
  options.modified = false
end

--- Shows rows; sets the lines that differ and no others.
---@param rows pisession.Row[]
---@param options pisession.PaintOptions
---@return integer changed lines that were set or taken away
function View:show(rows, options)
  local lines = self:paint(rows, options)
  local front, back = same_ends(self.shown, lines)
  local stop, gone = #lines - back, #self.shown - back
  self.rows, self.lines = rows, nil
  if front == stop and front == gone then
    return 0
  end
  local texts = {}
  for at = front + 1, stop do
    texts[#texts + 1] = lines[at].text
  end
  self:set_lines(front, #self.shown == 0 and -1 or gone, texts)
  for at = front + 1, stop do
    self:decorate(at - 1, lines[at], rows[at], options.width)
  end
  self.shown, self.said = {}, nil
  for at, line in ipairs(lines) do
    self.shown[at] = line.key
  end
  return math.max(#texts, gone - front)
end

--- Shows sentences instead of rows.
---@param sentences string[]
function View:say(sentences)
  local key = table.concat(sentences, '\n')
  if self.said == key then
    return
  end
  self.rows, self.lines, self.shown, self.said = {}, nil, {}, key
  self:set_lines(0, -1, sentences)
  for at = 0, #sentences - 1 do
    vim.api.nvim_buf_set_extmark(self.buffer, namespace, at, 0, { line_hl_group = 'PisessionHint' })
  end
end

--- Draws a line in front of a row, or takes it away: the cut of a compaction that is looked at.
---@param id string?
---@param words string
function View:draw_cut(id, words)
  vim.api.nvim_buf_clear_namespace(self.buffer, cuts, 0, -1)
  local line = id and self:line_of(id)
  if line then
    vim.api.nvim_buf_set_extmark(self.buffer, cuts, line - 1, 0, {
      virt_lines = { { { words, 'PisessionCompaction' } } },
      virt_lines_above = true,
    })
  end
end

--- Forgets what is painted, so that all of it is set anew.
function View:forget()
  self.shown, self.said = {}, nil
end

---@param line integer counted from 1
---@return pisession.Row?
function View:row_at(line)
  return self.rows[line]
end

--- The line a row is on, counted from 1.
---@param id string
---@return integer?
function View:line_of(id)
  if not self.lines then
    self.lines = {}
    for at, row in ipairs(self.rows) do
      self.lines[row.id] = at
    end
  end
  return self.lines[id]
end

return M
