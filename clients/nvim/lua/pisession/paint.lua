--- Rows as painted lines: a pure function of what the daemon answers, the same in every client.
---
--- `tests/rows` of the repository holds rows and what they look like; both sides are held to it.

local text = require('pisession.text')

local M = {}

local MAX_LEVELS = 4
local MIN_TEXT = 12
local WITH_TIME, WITH_TOKENS, WITH_PERCENT, WITH_TEXT = 56, 40, 24, 12

---@class pisession.Piece
---@field [1] string text
---@field [2] string highlight group

---@class pisession.Painted
---@field left pisession.Piece[] guides, glyph, label and title, cut to fit
---@field right string marks, time and size; set at the window's edge
---@field grade string of the row's size

---@class pisession.PaintOptions
---@field width integer
---@field glyphs pisession.Glyphs
---@field today string?
---@field size 'context'|'own'|'off'|nil
---@field is_open fun(id: string): boolean
---@field new table<string, boolean>? entries that another client or program has added
---@field doing string? what runs, said where the leaf is
---@field standing table<string, string>? the sign of a row at which a running pi stands
---@field marked string? the row marked for a comparison

local function has(row, flag)
  return vim.tbl_contains(row.flags, flag)
end

local BRANCHES = { alternative = true, group = true }

---@param row table
---@param by_id table<string, table>
---@param glyphs pisession.Glyphs
local function lines_above(row, by_id, glyphs)
  local signs, level = {}, row.level
  while level and #signs < row.depth do
    local outer = by_id[level]
    table.insert(signs, 1, (not outer or BRANCHES[outer.kind]) and glyphs.guide or ' ')
    level = outer and outer.level or nil
  end
  while #signs < row.depth do
    table.insert(signs, 1, ' ')
  end
  return signs
end

local function guides(row, by_id, glyphs, spine)
  if row.depth > MAX_LEVELS then
    return spine .. row.depth .. glyphs.deep
  end
  local parts = { spine }
  for _, sign in ipairs(lines_above(row, by_id, glyphs)) do
    parts[#parts + 1] = ' ' .. sign
  end
  return table.concat(parts)
end

local function branch_guides(row, by_id, glyphs, spine)
  if row.depth > MAX_LEVELS then
    return spine .. row.depth .. glyphs.deep .. glyphs.arm
  elseif row.depth == 0 then
    return (has(row, 'ahead') and glyphs.ahead or glyphs.branch) .. glyphs.arm
  end
  local signs = lines_above(row, by_id, glyphs)
  local parts = { spine }
  for at = 1, #signs - 1 do
    parts[#parts + 1] = ' ' .. signs[at]
  end
  return table.concat(parts) .. ' ' .. glyphs.side_branch .. glyphs.arm
end

local ROLE_GROUPS = {
  user = 'PisessionUser',
  work = 'PisessionWork',
  step = 'PisessionWork',
  meta = 'PisessionWork',
  compaction = 'PisessionCompaction',
  summarised = 'PisessionCompaction',
}

--- Whether the spine beside a row is ahead of the leaf: that of the row, or of what it is inside.
---@param row pisession.Row
---@param by_id table<string, pisession.Row>
---@return boolean
local function is_ahead(row, by_id)
  local outer = row ---@type pisession.Row?
  while outer do
    if has(outer, 'ahead') then
      return true
    end
    outer = outer.level and by_id[outer.level] or nil
  end
  return false
end

---@return pisession.Piece[]
local function left_of(row, by_id, options)
  local glyphs = options.glyphs
  if row.kind == 'here' then
    return { { glyphs.leaf .. ' ', 'PisessionLeaf' } }
  end
  local spine = is_ahead(row, by_id) and glyphs.ahead or glyphs.active
  local fold = row.fold == 'none' and ' '
    or (options.is_open(row.id) and glyphs.open or glyphs.closed)
  if BRANCHES[row.kind] then
    return { { branch_guides(row, by_id, glyphs, spine) .. fold .. ' ', 'PisessionSpine' } }
  end
  local before = guides(row, by_id, glyphs, spine) .. fold
  if row.kind == 'ahead' then
    return { { before .. ' ', 'PisessionSpine' } }
  elseif row.kind == 'more' then
    return { { before, 'PisessionSpine' }, { glyphs.cut .. ' ', 'PisessionAside' } }
  end
  local role = glyphs.roles[row.kind] or glyphs.roles.meta
  return { { before, 'PisessionSpine' }, { role .. ' ', ROLE_GROUPS[row.kind] or 'PisessionRole' } }
end

--- The signs of a row's states.
---@param row table
---@param options pisession.PaintOptions
---@return string
function M.marks(row, options)
  local glyphs, signs = options.glyphs, {}
  if has(row, 'unsaved') then
    signs[#signs + 1] = '+'
  end
  if row.failed > 0 then
    signs[#signs + 1] = '!' .. row.failed
  elseif has(row, 'problem') then
    signs[#signs + 1] = '!'
  end
  if has(row, 'omitted') then
    signs[#signs + 1] = glyphs.omitted
  elseif row.out then
    signs[#signs + 1] = glyphs.omitted .. row.out
  end
  if has(row, 'replaced') then
    signs[#signs + 1] = glyphs.replaced
  end
  if #row.forks > 0 then
    signs[#signs + 1] = glyphs.forks .. #row.forks
  end
  if options.new and row.last and row.kind ~= 'here' and options.new[row.last] then
    signs[#signs + 1] = 'new'
  end
  if options.standing then
    signs[#signs + 1] = options.standing[row.id]
  end
  if options.marked == row.id then
    signs[#signs + 1] = 'A'
  end
  return table.concat(signs, ' ')
end

local function size_texts(row, options)
  if options.size == 'off' then
    return '', ''
  elseif options.size == 'own' then
    return row.tokens and '+' .. text.tokens(row.tokens) or '', ''
  end
  local size = row.size
  if not size then
    return '', ''
  end
  local tilde = size.source == 'measured' and '' or '~'
  local percent = text.percent(size.percent)
  return tilde .. text.tokens(size.tokens), percent == '' and '' or tilde .. percent
end

local function pad(value, cells)
  return (' '):rep(cells - text.width(value)) .. value
end

local function right_of(row, clock, options)
  local width = options.width
  if width < WITH_PERCENT then
    return ''
  end
  local tokens, percent = size_texts(row, options)
  local marks = ' ' .. pad(M.marks(row, options), 2)
  if width < WITH_TOKENS then
    return marks .. pad(options.size == 'own' and tokens or percent, 5)
  elseif width < WITH_TIME then
    return marks .. ' ' .. pad(tokens, 6) .. ' ' .. pad(percent, 5)
  end
  return marks .. '  ' .. pad(clock, 5) .. ' ' .. pad(tokens, 6) .. ' ' .. pad(percent, 5)
end

local function title_of(row, options)
  local glyphs = options.glyphs
  local title = text.clean(row.kind == 'here' and options.doing or row.title)
  for sign, spelled in pairs(glyphs.spelled) do
    title = title:gsub(sign, spelled)
  end
  return title
end

---@param row table
---@param pieces pisession.Piece[]
---@return pisession.Painted
local function tiny(row, pieces, options)
  local shown = {}
  for _, piece in ipairs(pieces) do
    shown[#shown + 1] = piece[1]
  end
  local left = text.cut((table.concat(shown):gsub('%s+$', '')), options.width, options.glyphs.cut)
  local _, percent = size_texts(row, options)
  if #percent >= options.width - text.width(left) then
    percent = ''
  end
  return {
    left = { { left, 'PisessionSpine' } },
    right = percent,
    grade = row.size and row.size.grade or 'ok',
  }
end

local function used_by(pieces)
  local used = 0
  for _, piece in ipairs(pieces) do
    used = used + text.width(piece[1])
  end
  return used
end

local function text_group(row)
  if row.kind == 'here' then
    return 'PisessionLeaf'
  elseif row.outcome == 'error' or row.outcome == 'aborted' then
    return 'PisessionError'
  elseif has(row, 'omitted') then
    return 'PisessionOmitted'
  elseif not has(row, 'active') then
    return 'PisessionAside'
  end
  return row.kind == 'user' and 'PisessionUser' or ROLE_GROUPS[row.kind] or 'PisessionText'
end

--- A row too narrow for text between its columns keeps the text and the end of the columns.
local function fitting(right, room)
  local over = MIN_TEXT - room
  return over < text.width(right) and vim.fn.strcharpart(right, over) or ''
end

--- One painted row.
---@param row pisession.Row
---@param by_id table<string, pisession.Row> the rows shown, for the guides
---@param clock string what stands in the column of times
---@param options pisession.PaintOptions
---@return pisession.Painted
function M.row(row, by_id, clock, options)
  local glyphs = options.glyphs
  local pieces = left_of(row, by_id, options)
  if options.width < WITH_TEXT then
    return tiny(row, pieces, options)
  end
  local right = right_of(row, clock, options)
  local rest = options.width - used_by(pieces)
  local room = rest - text.width(right)
  if room < MIN_TEXT then
    right = fitting(right, room)
    room = math.max(rest - text.width(right), 0)
  end
  local label = row.label and ('[%s] '):format(text.clean(row.label)) or ''
  label = text.cut(label, room, glyphs.cut)
  if label ~= '' then
    pieces[#pieces + 1] = { label, 'PisessionLabel' }
  end
  pieces[#pieces + 1] =
    { text.cut(title_of(row, options), room - text.width(label), glyphs.cut), text_group(row) }
  return { left = pieces, right = right, grade = row.size and row.size.grade or 'ok' }
end

---@class pisession.Clock
---@field clock string?
---@field date string?
---@field day string?

--- What stands in the column of times of a row behind one of some day.
---@param row pisession.Row
---@param read pisession.Clock
---@param day string?
---@return string
function M.clock(row, read, day)
  if row.kind == 'work' and row.duration then
    return text.duration(row.duration)
  elseif not read.clock or row.kind == 'here' then
    return ''
  end
  return read.day == day and read.clock or read.date --[[@as string]]
end

--- The time of a row, read once.
---@param row pisession.Row
---@return pisession.Clock
function M.read_clock(row)
  local clock, date, day = text.clock(row.time)
  return { clock = clock, date = date, day = day }
end

--- The painted lines of rows that stand in the order of the screen.
---@param rows pisession.Row[]
---@param options pisession.PaintOptions
---@return pisession.Painted[]
function M.rows(rows, options)
  local by_id, day, painted = {}, options.today, {}
  for _, row in ipairs(rows) do
    by_id[row.id] = row
  end
  for at, row in ipairs(rows) do
    local read = M.read_clock(row)
    painted[at] = M.row(row, by_id, M.clock(row, read, day), options)
    day = read.day or day
  end
  return painted
end

--- One painted line as the screen shows it.
---@param line pisession.Painted
---@param width integer
---@return string
function M.flat(line, width)
  local parts = {}
  for _, piece in ipairs(line.left) do
    parts[#parts + 1] = piece[1]
  end
  local left = table.concat(parts)
  local filled = line.right == '' and left
    or text.fill(left, width - text.width(line.right)) .. line.right
  return (filled:gsub('%s+$', ''))
end

return M
