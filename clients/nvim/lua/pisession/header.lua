--- What stands above and below the rows, and in a status line: the context size in few cells.

local pis = require('pisession.pis')
local text = require('pisession.text')

local M = {}

--- Cells from which the header says everything, and below which it says the percent alone.
local WIDE, NARROW = 56, 24

---@param size table
---@return 'ok'|'warn'|'high'
function M.grade(size)
  local own = require('pisession.config').get().thresholds
  if own and size.percent then
    return size.percent >= own.high and 'high' or size.percent >= own.warn and 'warn' or 'ok'
  end
  return size.grade
end

--- A bar: rounded, one cell from above 0 %, never full below 100 %. Where it is to be seen, the
--- cell in which automatic compaction starts is a line.
---@param size table
---@param cells integer
---@param glyphs pisession.Glyphs
---@param with_due boolean?
---@return string
function M.bar(size, cells, glyphs, with_due)
  local percent = size.percent
  if not percent then
    return ''
  end
  local full = math.floor(percent / 100 * cells + 0.5)
  if percent > 0 then
    full = math.max(full, 1)
  end
  full = percent >= 100 and cells or math.min(full, cells - 1)
  local parts = {}
  for at = 1, cells do
    parts[at] = glyphs.bar[at <= full and 2 or 1]
  end
  if with_due and size.dueAt and size.window then
    parts[math.min(math.floor(size.dueAt / size.window * cells) + 1, cells)] = glyphs.due
  end
  return table.concat(parts)
end

--- `42%`, `~17% (was 93%)`, or tokens alone where the window is unknown.
---@param size table?
---@return string
function M.figure(size)
  if not size then
    return '…'
  end
  local tilde = size.source == 'measured' and '' or '~'
  if not size.percent then
    return tilde .. text.tokens(size.tokens)
  end
  local shown = tilde .. text.percent(size.percent)
  if size.before and size.window then
    shown = ('%s (was %s)'):format(shown, text.percent(size.before * 100 / size.window))
  end
  return shown
end

local DOING =
  { compact = 'compacting', summarise = 'summarizing', fork = 'forking', navigate = 'moving' }

--- `compacting, 1.2k received`.
---@param operation table
---@return string
function M.operation(operation)
  local doing = DOING[operation.operation] or operation.operation
  if operation.received > 0 then
    return ('%s, %s received'):format(doing, text.tokens(operation.received))
  end
  return doing .. '…'
end

---@param session pisession.Session
---@return string
local function name_of(session)
  local info = session.info
  local name = info.name
    or (info.header and info.header.id and tostring(info.header.id):sub(1, 8))
    or 'pi'
  local marks = (info.unsaved and ' [+]' or '') .. (info.readOnly and ' [RO]' or '')
  return text.clean(name) .. marks
end

--- What is wrong or going on, which takes the place of the size.
---@param session pisession.Session
---@param connection pisession.Connection
---@return string?
local function trouble(session, connection)
  if connection.state == 'offline' then
    local wait = connection.next_try and math.max(connection.next_try - os.time(), 0)
    local since = os.date('%H:%M', connection.since)
    return ('offline since %s%s'):format(since, wait and (', next try in %d s'):format(wait) or '')
  elseif session.operation then
    return M.operation(session.operation)
  end
end

---@param size pisession.ContextSize?
---@param width integer
---@param glyphs pisession.Glyphs
---@return string
local function size_words(size, width, glyphs)
  local figure = M.figure(size)
  if not size or not size.percent then
    return figure
  end
  local is_wide = width >= WIDE
  local bar = M.bar(size, is_wide and 10 or 5, glyphs, is_wide)
  if not is_wide then
    return bar .. ' ' .. figure
  end
  return ('%s of %s  %s %s %s'):format(
    text.tokens(size.tokens),
    text.tokens(size.window),
    bar,
    figure,
    size.source
  )
end

--- The line above the rows, as wide as the window: the name, and what fills the context.
---@param session pisession.Session
---@param connection pisession.Connection
---@param width integer
---@param glyphs pisession.Glyphs
---@return string left
---@return string right
---@return 'ok'|'warn'|'high' grade of the right
function M.top(session, connection, width, glyphs)
  local size, wrong = session.size, trouble(session, connection)
  local grade = not wrong and size and M.grade(size) or 'ok'
  if width < NARROW then
    local short = size and M.figure(size) or name_of(session)
    return '', ' ' .. text.cut(short, width - 1, glyphs.cut), grade
  end
  local right = text.cut(wrong or size_words(size, width, glyphs), width - 2, glyphs.cut)
  local room = width - text.width(right) - 3
  local left = room >= 4 and text.cut(name_of(session), room, glyphs.cut) or ''
  return ' ' .. text.fill(left, width - text.width(right) - 2), right, grade
end

local FILTERS = {
  ['default'] = 'default',
  ['no-tools'] = 'no tools',
  ['user-only'] = 'user only',
  ['labeled-only'] = 'labelled',
  ['all'] = 'all',
}

--- Seconds in which another program that wrote counts as going on.
local LIVE = 900

--- For how many seconds another program will count as going on; nil where none does.
---@param session pisession.Session
---@return integer?
function M.outside_left(session)
  local seen = text.epoch(session.info.lastExternal)
  local left = seen and LIVE - (os.time() - seen)
  return left and left > 0 and left or nil
end

local function company(session)
  local others = {}
  local count = session.info.clients and #session.info.clients or 1
  if count > 1 then
    others[1] = count .. ' windows'
  end
  others[#others + 1] = pis.company(session.info.pis) or M.outside_left(session) and 'pi' or nil
  return table.concat(others, ', ')
end

--- What is shown of how much, or what keeps it from being shown.
---@param session pisession.Session
---@param rows integer
---@return string
local function shown_words(session, rows)
  local info = session.info
  local entries, problems = info.entryCount or 0, #(info.problems or {})
  if session.search then
    return ('%d of %d'):format(session.search.at, #session.search.hits)
  elseif session.filter == 'labeled-only' and rows == 1 then
    return ('No labelled rows, %d entries hidden; F shows others.'):format(entries)
  end
  if info.leafConflict then
    return 'pi went on elsewhere; gb finds its branch, any move settles it.'
  elseif session.hint then
    return session.hint
  end
  local wrong = problems > 0
      and (' · %d %s, !'):format(problems, problems == 1 and 'problem' or 'problems')
    or ''
  return ('%s · %s of %s%s'):format(
    FILTERS[session.filter],
    text.many(rows, 'row', 'rows'),
    text.many(entries, 'entry', 'entries'),
    wrong
  )
end

--- The model and how hard it thinks: `opus-5 high`.
---@param size pisession.ContextSize?
---@return string?
local function model_words(size)
  local model = size and size.model
  if not size or not model then
    return nil
  end
  local level = size.thinkingLevel and (' ' .. size.thinkingLevel) or ''
  return text.clean(model:gsub('^[^/]*/', '') .. level)
end

--- The first of some pairs of ends that fits a line, with the room between them.
---@param ends string[][]
---@param width integer
---@return string
local function spread(ends, width)
  for _, both in ipairs(ends) do
    if text.width(both[1]) + text.width(both[2]) + 3 <= width then
      return ' ' .. text.fill(both[1], width - 2 - text.width(both[2])) .. both[2]
    end
  end
  return ' ' .. ends[1][1]
end

--- The line below: filter and counts, model and company; what was said last takes the place of all
--- but what pi is doing.
---@param session pisession.Session
---@param rows integer
---@param width integer
---@param message string?
---@return string
function M.bottom(session, rows, width, message)
  local running = pis.company(session.info.pis)
  if message then
    return spread({ { message, running or '' } }, width)
  elseif not session.info.entryCount then
    -- Nothing at all would let the status line of all windows in.
    return ' '
  end
  local left, model, with = shown_words(session, rows), model_words(session.size), company(session)
  if with == '' then
    return spread({ { left, model or '' } }, width)
  end
  local ends = { { left, model and ('%s · %s'):format(model, with) or with }, { left, with } }
  if running and not session.hint and not session.search then
    -- What a pi does is wanted before the counts.
    ends[3] = { text.many(rows, 'row', 'rows'), running }
  end
  return spread(ends, width)
end

--- The same in a few cells, for a status line.
---@param size table?
---@param glyphs pisession.Glyphs
---@param state { unsaved: boolean?, operation: table?, offline: boolean, pis: pisession.Pi[]? }
---@return string
function M.component(size, glyphs, state)
  if not size then
    return ''
  elseif state.offline then
    return ('pi (%s)'):format(
      size.percent and text.percent(size.percent) or text.tokens(size.tokens)
    )
  elseif state.operation then
    return 'pi ' .. M.operation(state.operation)
  end
  local bar = M.bar(size, 5, glyphs)
  local shown = 'pi ' .. (bar == '' and '' or bar .. ' ') .. M.figure(size)
  if size.due or M.grade(size) == 'high' then
    shown = shown .. ' compact?'
  end
  local doing = pis.short(state.pis or {})
  return shown .. (state.unsaved and ' +' or '') .. (doing and ' ' .. doing or '')
end

return M
