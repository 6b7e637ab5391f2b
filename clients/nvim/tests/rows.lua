--- The row files, painted and spoken by the plugin: `nvim -l tests/rows.lua` with TZ=UTC.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
vim.opt.rtp:prepend(vim.fn.fnamemodify(here, ':h'))
local paint = require('pisession.paint')
local glyphs = require('pisession.glyphs')
local words = require('pisession.words')

local folder = vim.fn.fnamemodify(here, ':h:h:h') .. '/tests/rows'
local shapes = {
  { '80 cells', 80, glyphs.unicode },
  { '44 cells', 44, glyphs.unicode },
  { '30 cells', 30, glyphs.unicode },
  { '30 cells, ASCII', 30, glyphs.ascii },
  { '20 cells', 20, glyphs.unicode },
  { '10 cells', 10, glyphs.unicode },
}

local function painted(file)
  local given = vim.json.decode(
    table.concat(vim.fn.readfile(file), '\n'),
    { luanil = { object = true, array = true } }
  )
  local open, lines = {}, {}
  for _, id in ipairs(given.open) do
    open[id] = true
  end
  for _, shape in ipairs(shapes) do
    lines[#lines + 1] = '== ' .. shape[1]
    local options = {
      width = shape[2],
      glyphs = shape[3],
      today = given.today,
      is_open = function(id)
        return open[id] == true
      end,
    }
    for _, line in ipairs(paint.rows(given.rows, options)) do
      lines[#lines + 1] = paint.flat(line, shape[2])
    end
  end
  lines[#lines + 1] = '== spoken'
  for _, row in ipairs(given.rows) do
    lines[#lines + 1] = words.speak(row, open[row.id] == true)
  end
  return lines
end

local failed, files = 0, vim.fn.glob(folder .. '/*.json', false, true)
assert(#files > 0, 'no row files')
for _, file in ipairs(files) do
  local expected = vim.fn.readfile((file:gsub('%.json$', '.txt')))
  local got = painted(file)
  for at = 1, math.max(#expected, #got) do
    if expected[at] ~= got[at] then
      failed = failed + 1
      io.write(
        ('%s line %d\n  expected %s\n  painted  %s\n'):format(file, at, expected[at], got[at])
      )
    end
  end
end
io.write(('%d row files, %d lines differ\n'):format(#files, failed))
os.exit(failed == 0 and 0 or 1)
