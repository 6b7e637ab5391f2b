--- What stands above and below the rows, and in a status line: the context size in few cells.

local text = require('pisession.text')

local M = {}

---@param size table
---@return 'ok'|'warn'|'high'
function M.grade(size)
  local own = require('pisession.config').get().thresholds
  if own and size.percent then
    return size.percent >= own.high and 'high' or size.percent >= own.warn and 'warn' or 'ok'
  end
  return size.grade
end

--- A bar: rounded, one cell from above 0 %, never full below 100 %.
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
    local at = math.floor(size.dueAt / size.window * cells + 0.5)
    if at > full and at <= cells then
      parts[at] = parts[at] .. glyphs.due
    end
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

local DOING = { compact = 'compacting', summarise = 'summarizing', fork = 'forking', navigate = 'moving' }

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

local function name_of(session)
  local info = session.info
  local name = info.name or (info.header and info.header.id and info.header.id:sub(1, 8)) or 'pi'
  return text.clean(name) .. (info.unsaved and ' [+]' or '')
end

--- What is wrong or going on, which takes the place of the size.
---@return string?
local function trouble(session, connection)
  if connection.state == 'offline' then
    local wait = connection.next_try and math.max(connection.next_try - os.time(), 0)
    local since = connection.since and os.date('%H:%M', connection.since)
    return ('offline since %s%s'):format(since or '?', wait and (', next try in %d s'):format(wait) or '')
  elseif session.operation then
    return M.operation(session.operation)
  end
end

--- The line above the rows, as wide as the window.
---@param session pisession.Session
---@param connection pisession.Connection
---@param width integer
---@param glyphs pisession.Glyphs
---@return string
function M.top(session, connection, width, glyphs)
  local size = session.size
  local figure = M.figure(size)
  local right = trouble(session, connection)
  if not right and size and size.percent then
    local cells = width >= 56 and 9 or 5
    local bar = M.bar(size, cells, glyphs, width >= 56)
    right = bar .. ' ' .. figure
    if width >= 56 then
      right = ('%s of %s  %s %s'):format(text.tokens(size.tokens), text.tokens(size.window), right, size.source)
    end
  elseif not right then
    right = figure
  end
  if width < 24 then
    return ' ' .. text.cut(size and figure or name_of(session), width - 1, glyphs.cut)
  end
  right = text.cut(right, width - 2, glyphs.cut)
  local room = width - text.width(right) - 3
  local left = room >= 4 and text.cut(name_of(session), room, glyphs.cut) or ''
  return ' ' .. text.fill(left, width - text.width(right) - 2) .. right
end

local FILTERS = {
  ['default'] = 'default',
  ['no-tools'] = 'no tools',
  ['user-only'] = 'user only',
  ['labeled-only'] = 'labelled',
  ['all'] = 'all',
}

local function company(session)
  local others = {}
  local count = session.info.clients and #session.info.clients or 1
  if count > 1 then
    others[1] = count .. ' windows'
  end
  local seen = text.epoch(session.info.lastExternal)
  if seen and os.time() - seen < 900 then
    others[#others + 1] = 'pi'
  end
  return table.concat(others, ', ')
end

--- The line below: filter and counts, model and company.
---@param session pisession.Session
---@param rows integer
---@param width integer
---@return string
function M.bottom(session, rows, width)
  local left = ('%s · %d rows of %d entries'):format(FILTERS[session.filter], rows, session.info.entryCount or 0)
  if session.search then
    left = ('%d of %d'):format(session.search.at, #session.search.hits)
  end
  local parts = {}
  local model = session.size and session.size.model
  if model then
    parts[1] = (model:gsub('^[^/]*/', ''))
  end
  local with = company(session)
  if with ~= '' then
    parts[#parts + 1] = with
  end
  local right = table.concat(parts, ' · ')
  local room = width - text.width(left) - 2
  if text.width(right) > room then
    right = ''
  end
  return ' ' .. text.fill(left, math.max(width - 2 - text.width(right), text.width(left))) .. right
end

--- The same in a few cells, for a status line.
---@param size table?
---@param glyphs pisession.Glyphs
---@param state { unsaved: boolean?, operation: table?, offline: boolean }
---@return string
function M.component(size, glyphs, state)
  if not size then
    return ''
  elseif state.offline then
    return ('pi (%s)'):format(size.percent and text.percent(size.percent) or text.tokens(size.tokens))
  elseif state.operation then
    return 'pi ' .. M.operation(state.operation)
  end
  local bar = M.bar(size, 5, glyphs)
  local shown = 'pi ' .. (bar == '' and '' or bar .. ' ') .. M.figure(size)
  if size.due or M.grade(size) == 'high' then
    shown = shown .. ' compact?'
  end
  return shown .. (state.unsaved and ' +' or '')
end

return M
