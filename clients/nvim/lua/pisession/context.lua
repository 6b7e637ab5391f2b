--- What fills the context at the leaf: figures, parts, and the entries that take most.

local acts = require('pisession.acts')
local float = require('pisession.float')
local header = require('pisession.header')
local text = require('pisession.text')

local M = {}

local PARTS = {
  toolResults = 'tool results',
  system = 'system',
  toolCalls = 'tool calls',
  assistant = 'assistant',
  thinking = 'thinking',
  user = 'user',
  summaries = 'summaries',
  images = 'images',
}
--- Parts side by side.
local COLUMNS = 3

---@param tokens number
---@param whole number
---@return string
local function share(tokens, whole)
  return whole > 0 and ('%d%%'):format(math.floor(tokens * 100 / whole + 0.5)) or ''
end

---@param size pisession.ContextSize
---@param glyphs pisession.Glyphs
---@return string
local function figures(size, glyphs)
  local bar = header.bar(size, 10, glyphs, true)
  local percent = size.percent and (' %.1f%%'):format(size.percent) or ''
  local clock = size.source == 'measured' and text.clock(size.measuredAt)
  local parts = {
    bar ~= '' and bar .. ' ' or '',
    size.source == 'measured' and '' or '~',
    text.tokens(size.tokens),
    percent,
    '   ',
    size.source,
    clock and ' ' .. clock or '',
  }
  if size.dueAt then
    parts[#parts + 1] = '   automatic compaction at ' .. text.tokens(size.dueAt)
  end
  return ' ' .. table.concat(parts)
end

--- The parts, the largest first, and what they do not explain.
---@param size pisession.ContextSize
---@return string[]
local function part_cells(size)
  local names, cells = vim.tbl_keys(size.parts), {}
  table.sort(names, function(a, b)
    return size.parts[a] > size.parts[b] or (size.parts[a] == size.parts[b] and a < b)
  end)
  for _, name in ipairs(names) do
    local tokens = size.parts[name]
    if tokens > 0 then
      local shown = share(tokens, size.tokens)
      cells[#cells + 1] = ('%-13s %6s %4s'):format(PARTS[name] or name, text.tokens(tokens), shown)
    end
  end
  local rest = size.unexplained or 0
  if rest ~= 0 then
    local figure = (rest < 0 and '-' or '+') .. text.tokens(math.abs(rest))
    cells[#cells + 1] = ('%-13s %6s %4s'):format(
      'not explained',
      figure,
      share(math.abs(rest), size.tokens)
    )
  end
  return cells
end

---@param cells string[]
---@return string[]
local function in_columns(cells)
  local lines = {}
  local count = math.ceil(#cells / COLUMNS)
  for at = 1, count do
    local line = {}
    for column = 0, COLUMNS - 1 do
      line[#line + 1] = cells[at + column * count]
    end
    lines[at] = '   ' .. table.concat(line, '   ')
  end
  return lines
end

--- Said only where the estimate is off by more than a fifth.
---@param size pisession.ContextSize
---@return string?
local function estimate_words(size)
  local rest = size.unexplained or 0
  if not size.estimated or size.estimated == 0 or math.abs(rest) * 5 <= size.tokens then
    return nil
  end
  local way = rest > 0 and 'low' or 'high'
  return ('   the estimate runs %s here (x%.1f)'):format(way, size.tokens / size.estimated)
end

---@param totals table
---@return string
local function totals_words(totals)
  local tokens = totals.tokens
  local read = tokens.input + tokens.cacheRead + tokens.cacheWrite
  return (' Totals, whole file: %s in, %s out, $%.2f'):format(
    text.tokens(read),
    text.tokens(tokens.output),
    totals.cost
  )
end

--- Cells of the titles of the largest, behind which their times stand in a column.
local WIDEST_TITLE = 44

--- The largest entries, one a line.
---@param size pisession.ContextSize
---@param glyphs pisession.Glyphs
---@return string[]
local function largest_lines(size, glyphs)
  local titles, width, lines = {}, 0, {}
  for rank, one in ipairs(size.largest) do
    titles[rank] = text.cut(text.clean(one.title), WIDEST_TITLE, glyphs.cut)
    width = math.max(width, text.width(titles[rank]))
  end
  for rank, one in ipairs(size.largest) do
    local tokens, shown = text.tokens(one.tokens), share(one.tokens, size.tokens)
    local title = text.fill(titles[rank], width)
    local line = (' %2d %6s %4s  %s  %s'):format(rank, tokens, shown, title, text.moment(one.time))
    lines[rank] = line:gsub('%s+$', '')
  end
  return lines
end

--- The lines of the context detail, and which of them lead to an entry.
---@param size pisession.ContextSize
---@param totals table?
---@return string[]
---@return table<integer, string>
function M.lines(size, totals)
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  local window = size.window and ('window ' .. text.tokens(size.window)) or 'window unknown'
  local model = text.clean(size.model or 'no model')
  local lines, entries = { (' %s, %s'):format(model, window), figures(size, glyphs) }, {}
  if size.parts then
    vim.list_extend(lines, in_columns(part_cells(size)))
    lines[#lines + 1] = estimate_words(size)
  end
  if size.largest and #size.largest > 0 then
    lines[#lines + 1] = (' %d largest%sx takes out, <CR> goes there'):format(
      #size.largest,
      (' '):rep(32)
    )
    for rank, line in ipairs(largest_lines(size, glyphs)) do
      lines[#lines + 1] = line
      entries[#lines] = size.largest[rank].entry
    end
  end
  lines[#lines + 1] = totals and totals_words(totals)
  return lines, entries
end

---@param sidebar pisession.Sidebar
---@param lines string[]
---@param entries table<integer, string>
local function show(sidebar, lines, entries)
  local window
  local function of_line(act)
    return function()
      local entry = entries[vim.api.nvim_win_get_cursor(window)[1]]
      if entry then
        vim.api.nvim_win_close(window, true)
        act(entry)
      end
    end
  end
  window = float.open(lines, {
    title = 'Context at the leaf',
    stay = acts.bind_keys(sidebar, {
      ['<CR>'] = of_line(function(entry)
        sidebar:reveal(entry)
      end),
      x = of_line(function(entry)
        sidebar:reveal(entry, function(row)
          require('pisession.omitting').toggle(sidebar, row)
        end)
      end),
    }),
  })
end

---@param sidebar pisession.Sidebar
function M.show(sidebar)
  local show_at_hand = require('pisession.attention').keep(sidebar, show)
  acts.ask(sidebar, 'session/contextSize', {}, function(size)
    acts.ask(sidebar, 'session/stats', {}, function(stats)
      show_at_hand(sidebar, M.lines(size, stats.file))
    end)
  end)
end

return M
