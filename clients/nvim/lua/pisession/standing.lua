--- The rows at which running pi stand.

local pis = require('pisession.pis')

local M = {}

--- The last of the rows that names an entry: what is inside of an open row comes behind it.
---@param rows pisession.Row[]
---@param entry string
---@return string?
function M.row_of(rows, entry)
  for at = #rows, 1, -1 do
    local row = rows[at]
    if row.kind ~= 'here' and (row.last == entry or row.entry == entry or row.first == entry) then
      return row.id
    end
  end
end

---@param page pisession.Page
---@param entry string
---@return string[] the row of an entry, then what it is inside of, the innermost first
local function places_in(page, entry)
  local found = { M.row_of(page.rows, entry) }
  local path = page.path or {}
  for at = #path, 1, -1 do
    found[#found + 1] = path[at]
  end
  return found
end

--- The row in sight that stands for an entry which no row names; asked for once.
---@param session pisession.Session
---@param rows pisession.Row[]
---@param entry string
---@return string?
local function place_inside(session, rows, entry)
  local known = session.places[entry]
  if known == nil then
    session.places[entry] = {}
    session:ask_rows({ around = entry, count = 50 }, function(page)
      session.places[entry] = places_in(page, entry)
      session.on_change('rows')
    end, function() end)
    return nil
  end
  for _, id in ipairs(known) do
    for _, row in ipairs(rows) do
      if row.id == id then
        return id
      end
    end
  end
end

--- The row a pi stands at, among those shown; nil where it has none.
---@param session pisession.Session
---@param rows pisession.Row[]
---@param one pisession.Pi
---@return string?
local function place_of(session, rows, one)
  if one.owner or one.leaf == session.info.leaf then
    return 'here'
  elseif one.leaf then
    return M.row_of(rows, one.leaf) or place_inside(session, rows, one.leaf)
  end
end

--- Running pi by the rows they stand at.
---@param session pisession.Session
---@param rows pisession.Row[]
---@return table<string, pisession.Pi[]>
function M.of(session, rows)
  local found = {}
  for _, one in ipairs(pis.of(session)) do
    local id = place_of(session, rows, one)
    if id then
      found[id] = found[id] or {}
      table.insert(found[id], one)
    end
  end
  return found
end

--- The signs of those rows: `‹pi›`, of several `‹pi 4242›`.
---@param session pisession.Session
---@param rows pisession.Row[]
---@param glyphs pisession.Glyphs
---@return table<string, string>
function M.signs(session, rows, glyphs)
  local signs, all = {}, pis.of(session)
  for id, here in pairs(M.of(session, rows)) do
    local words = #here > 1 and ('%d pi'):format(#here) or pis.name(here[1], all)
    signs[id] = (glyphs.outside:gsub('pi', words))
  end
  return signs
end

return M
