--- The lines of the list of sessions: families, what each line says, and where a new one goes.

local pis = require('pisession.pis')
local text = require('pisession.text')

local M = {}

--- Forks of a session that stand open by themselves.
local OPEN_FORKS = 2
--- Cells of a title at least.
local MIN_TITLE = 12

---@class pisession.Listed
---@field session string
---@field path string?
---@field cwd string
---@field depth integer
---@field name string?
---@field parentSession string?
---@field pis pisession.Pi[]? running pi that have it open

---@class pisession.ListLine
---@field one pisession.Listed
---@field lineage string
---@field forks pisession.Listed[] of a closed family

--- What a session is called here: other daemons change its handle.
---@param one pisession.Listed
---@return string
function M.key(one)
  return one.path or one.session
end

---@param one table
---@return string
local function title_of(one)
  local fork = one.fork and one.fork.firstMessage
  return text.clean(one.name or fork or one.firstMessage or 'nothing said yet')
end

---@param one table
---@return string
local function words_of(one)
  local parts = {}
  local function say(words)
    parts[#parts + 1] = words ~= '' and words or nil
  end
  local size = one.contextSize
  if size then
    local figure = size.percent and text.percent(size.percent) or text.tokens(size.tokens)
    say((size.source == 'measured' and '' or '~') .. figure)
  end
  say(text.moment(one.modified))
  say(one.unsaved and 'unsaved' or '')
  say(pis.company(one.pis) or one.live and 'live' or '')
  say(one.open > 1 and one.open .. ' windows' or '')
  if one.fork and one.fork.preview then
    say(('at "%s"'):format(text.cut(text.clean(one.fork.preview), 20, '…')))
  end
  return table.concat(parts, ' · ')
end

--- What a closed family still tells: how many forks, the newest, and what is urgent in it.
---@param forks pisession.Listed[]
---@return string
local function family_words(forks)
  local newest, is_live, is_unsaved, running = '', false, false, {}
  for _, one in ipairs(forks) do
    newest = (one.modified or '') > newest and one.modified or newest
    is_live, is_unsaved = is_live or one.live, is_unsaved or one.unsaved
    vim.list_extend(running, one.pis or {})
  end
  local company = pis.company(running)
  local state = company and ', ' .. company
    or is_live and ', live'
    or is_unsaved and ', unsaved'
    or ''
  local moment = newest ~= '' and text.moment(newest) or '?'
  return ('%s, newest %s%s'):format(text.many(#forks, 'fork', 'forks'), moment, state)
end

--- Whether another one of the same depth comes behind one, below the same parent.
local function has_sibling(listed, at)
  for behind = at + 1, #listed do
    if listed[behind].depth < listed[at].depth then
      return false
    elseif listed[behind].depth == listed[at].depth then
      return true
    end
  end
  return false
end

---@param listed pisession.Listed[]
---@param at integer
---@param signs table
---@return string
local function lineage_of(listed, at, signs)
  local one, parts = listed[at], {}
  for depth = 1, one.depth - 1 do
    local outer = at
    while listed[outer] and listed[outer].depth > depth do
      outer = outer - 1
    end
    parts[#parts + 1] = listed[outer] and has_sibling(listed, outer) and signs.line or '  '
  end
  return table.concat(parts) .. (has_sibling(listed, at) and signs.branch or signs.last)
end

---@param glyphs pisession.Glyphs
---@return table
local function signs_of(glyphs)
  if glyphs.guide == '│' then
    return {
      here = '●',
      other = '○',
      closed = '▸',
      line = '│ ',
      branch = '├ ⑂',
      last = '└ ⑂',
      fork = '⑂',
    }
  end
  return {
    here = '@',
    other = 'o',
    closed = '+',
    line = '| ',
    branch = '|-Y',
    last = '`-Y',
    fork = 'Y',
  }
end

---@param listed pisession.Listed[]
---@param at integer
---@return pisession.Listed[]
local function forks_of(listed, at)
  local forks = {}
  for behind = at + 1, #listed do
    if listed[behind].depth <= listed[at].depth then
      break
    end
    forks[#forks + 1] = listed[behind]
  end
  return forks
end

--- The lines to show: families of many forks are closed unless they were opened.
---@param listed pisession.Listed[]
---@param current string?
---@param folds table<string, boolean> by key
---@param glyphs pisession.Glyphs
---@return pisession.ListLine[]
function M.shown(listed, current, folds, glyphs)
  local signs, lines, at = signs_of(glyphs), {}, 1
  while at <= #listed do
    local one = listed[at]
    local forks = one.depth == 0 and forks_of(listed, at) or {}
    local is_open = folds[M.key(one)]
    if is_open == nil then
      is_open = #forks <= OPEN_FORKS
    end
    local is_closed = #forks > 0 and not is_open
    local sign = one.session == current and signs.here or one.fork and signs.fork or signs.other
    local lineage = one.depth > 0 and lineage_of(listed, at, signs)
      or is_closed and signs.closed
      or sign
    lines[#lines + 1] = { one = one, lineage = lineage, forks = is_closed and forks or {} }
    at = at + 1 + (is_closed and #forks or 0)
  end
  return lines
end

--- A line of the list, as wide as asked for.
---@param shown pisession.ListLine
---@param width integer
---@return string
function M.line(shown, width)
  local right = words_of(shown.one)
  if #shown.forks > 0 then
    right = right .. ' · ' .. family_words(shown.forks)
  end
  local left = ' ' .. shown.lineage .. ' '
  local room = math.max(width - text.width(left) - text.width(right) - 2, MIN_TITLE)
  return left .. text.fill(text.cut(title_of(shown.one), room, '…'), room) .. ' ' .. right
end

---@param one pisession.Listed
---@param other pisession.Listed
---@return boolean
function M.is_same(one, other)
  return one.session == other.session or (one.path ~= nil and one.path == other.path)
end

---@param listed pisession.Listed[]
---@param one pisession.Listed
---@return integer?
function M.position(listed, one)
  for at, other in ipairs(listed) do
    if M.is_same(one, other) then
      return at
    end
  end
end

--- Where a new session goes: a fork under what it was forked from, any other on top.
---@param listed pisession.Listed[]
---@param one pisession.Listed
---@return integer
function M.place_for(listed, one)
  for at, other in ipairs(listed) do
    if one.depth > 0 and other.path ~= nil and other.path == one.parentSession then
      return at + 1
    end
  end
  return 1
end

return M
