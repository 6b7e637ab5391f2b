--- Painted lines into a buffer: only what changed is set, and the cursor stays on its row.

local paint = require('pisession.paint')
local text = require('pisession.text')

local M = {}

local namespace = vim.api.nvim_create_namespace('pisession')
M.namespace = namespace

---@class pisession.View
---@field buffer integer
---@field ids string[] the row of each line
---@field keys string[] what each line was painted from, to compare
local View = {}
View.__index = View

---@param buffer integer
---@return pisession.View
function M.new(buffer)
  return setmetatable({ buffer = buffer, ids = {}, keys = {}, rows = {} }, View)
end

local GRADES = { ok = 'PisessionRight', warn = 'PisessionWarn', high = 'PisessionHigh' }

local function key_of(line)
  local parts = { line.right, line.grade }
  for _, piece in ipairs(line.left) do
    parts[#parts + 1] = piece[1]
    parts[#parts + 1] = piece[2]
  end
  return table.concat(parts, '\0')
end

local function left_text(line)
  local parts = {}
  for at, piece in ipairs(line.left) do
    parts[at] = piece[1]
  end
  return (table.concat(parts):gsub('%s+$', ''))
end

function View:decorate(at, line, row, width)
  local column = 0
  local length = #left_text(line)
  for _, piece in ipairs(line.left) do
    local stop = math.min(column + #piece[1], length)
    if stop > column then
      vim.api.nvim_buf_set_extmark(self.buffer, namespace, at, column, {
        end_col = stop,
        hl_group = piece[2],
        hl_mode = 'combine',
        strict = false,
      })
    end
    column = column + #piece[1]
  end
  local mark = { virt_text_pos = 'overlay', hl_mode = 'combine' }
  if line.right ~= '' then
    mark.virt_text = { { line.right, GRADES[line.grade] or 'PisessionRight' } }
    mark.virt_text_win_col = width - text.width(line.right)
  end
  if row.kind == 'here' then
    mark.line_hl_group = 'PisessionLeafLine'
  end
  vim.api.nvim_buf_set_extmark(self.buffer, namespace, at, 0, mark)
end

--- How many lines at the beginning and at the end are as they were.
local function same_ends(old, new)
  local front, most = 0, math.min(#old, #new)
  while front < most and old[front + 1] == new[front + 1] do
    front = front + 1
  end
  local back = 0
  while back < most - front and old[#old - back] == new[#new - back] do
    back = back + 1
  end
  return front, back
end

--- Shows rows; sets the lines that differ and no others.
---@param rows table[]
---@param options pisession.PaintOptions
---@return integer changed lines that were set
function View:show(rows, options)
  local lines = paint.rows(rows, options)
  local keys, ids = {}, {}
  for at, line in ipairs(lines) do
    keys[at] = key_of(line)
    ids[at] = rows[at].id
  end
  local front, back = same_ends(self.keys, keys)
  local is_first = #self.keys == 0
  local stop = #lines - back
  local texts = {}
  for at = front + 1, stop do
    texts[#texts + 1] = left_text(lines[at])
  end
  self.rows, self.ids = rows, ids
  if front == stop and #self.keys == #keys then
    return 0
  end
  local last = is_first and -1 or #self.keys - back
  self.keys = keys
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_clear_namespace(self.buffer, namespace, front, is_first and -1 or last)
  vim.api.nvim_buf_set_lines(self.buffer, front, last, false, texts)
  vim.bo[self.buffer].modifiable = false
  vim.bo[self.buffer].modified = false
  for at = front + 1, stop do
    self:decorate(at - 1, lines[at], rows[at], options.width)
  end
  return #texts
end

--- Shows sentences instead of rows.
---@param sentences string[]
function View:say(sentences)
  local key = table.concat(sentences, '\n')
  if self.said == key and #self.keys == 0 then
    return
  end
  self.rows, self.ids, self.keys, self.said = {}, {}, {}, key
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_clear_namespace(self.buffer, namespace, 0, -1)
  vim.api.nvim_buf_set_lines(self.buffer, 0, -1, false, sentences)
  vim.bo[self.buffer].modifiable = false
  vim.bo[self.buffer].modified = false
  for at = 0, #sentences - 1 do
    vim.api.nvim_buf_set_extmark(self.buffer, namespace, at, 0, { line_hl_group = 'PisessionHint' })
  end
end

--- Forgets what is painted, so that all of it is set anew (another width, other glyphs).
function View:forget()
  self.keys = {}
end

---@param line integer counted from 1
---@return table?
function View:row_at(line)
  return self.rows[line]
end

---@param id string
---@return integer?
function View:line_of(id)
  for at, known in ipairs(self.ids) do
    if known == id then
      return at
    end
  end
end

return M
