--- The class of an open session: its rows as they are shown. `reading` adds how they are asked for,
--- `hearing` what the daemon tells, and `model` opens and closes one.

local MAIN = require('pisession.level').MAIN

---@class pisession.Session
---@field wish table what to open
---@field handle string? at the daemon of now
---@field is_handle_old boolean? while a daemon that was begun anew has not opened it yet
---@field private held pisession.Held[]
---@field info table what `session/open` answered, brought up to date
---@field filter string
---@field levels table<string, pisession.Level>
---@field folds table<string, boolean> what the user opened (true) or closed (false), by row
---@field new table<string, boolean> entries that another client or program has added
---@field size pisession.ContextSize? at the leaf
---@field operation pisession.Progress? what runs now
---@field foreign_rev integer of the newest change by somebody else
---@field problem pisession.Error? why there are no rows
---@field waiting pisession.Waiting? what was asked and waits for pi, or for its user
---@field left string? the leaf before the newest move
---@field hint string? said below the rows until the next act
---@field places table<string, string[]> entries that pi stand at inside of rows: the rows, inner first
---@field private asked table<string, integer> which request for a level counts
---@field private late { rev: integer, change: pisession.Change }[] the newest changes of rows
---@field private awaited { id: string, found: fun(id: string?) }?
local Session = {}
Session.__index = Session

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
      shown[#shown + 1] = top[3] and top[3]:rest() or nil
      stack[#stack] = nil
    else
      top[2] = top[2] + 1
      shown[#shown + 1] = row
      local level = row.fold ~= 'none' and self:is_open(row) and self.levels[row.id]
      if level then
        stack[#stack + 1] = { level.rows, 1, row.kind == 'group' and level or nil }
      end
    end
  end
  return shown
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

return Session
