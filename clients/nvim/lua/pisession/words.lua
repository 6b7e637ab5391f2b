--- A row as one spoken sentence: role, text, label, states, branch, size, time.

local text = require('pisession.text')

local M = {}

local ROLES = {
  user = 'You',
  answer = 'Answer',
  work = 'Work',
  step = 'Step',
  bash = 'Shell command',
  note = 'Note',
  alternative = 'Alternative',
  group = 'Alternatives',
  meta = 'Setting',
}
local OUTCOMES = { error = 'Ended in an error', aborted = 'Aborted', running = 'Running' }
local STATES = {
  { 'unsaved', 'Unsaved' },
  { 'problem', 'A problem in the file' },
  { 'omitted', 'Out of the context' },
  { 'replaced', 'Replaced in the context' },
  { 'external', 'Written by another program' },
}

local function short(number)
  return (('%.1f'):format(number):gsub('%.0$', ''))
end

local function tokens(count)
  if count < 1000 then
    return tostring(math.floor(count))
  elseif count < 9950 then
    return short(math.floor((count + 50) / 100) / 10) .. ' thousand'
  elseif count < 999500 then
    return ('%d thousand'):format(math.floor((count + 500) / 1000))
  end
  return short(math.floor((count + 50000) / 100000) / 10) .. ' million'
end

local function size_words(size)
  local parts = { tokens(size.tokens) .. ' tokens' }
  if size.percent then
    parts[#parts + 1] = ('%d percent'):format(math.floor(size.percent + 0.5))
  end
  parts[#parts + 1] = size.source
  return table.concat(parts, ', ')
end

local function duration_words(milliseconds)
  local seconds, parts = math.floor((milliseconds + 500) / 1000), {}
  for _, unit in ipairs({ { 'hour', 3600 }, { 'minute', 60 }, { 'second', 1 } }) do
    local count = math.floor(seconds / unit[2])
    seconds = seconds % unit[2]
    if count > 0 and #parts < 2 then
      parts[#parts + 1] = ('%d %s%s'):format(count, unit[1], count > 1 and 's' or '')
    end
  end
  return #parts > 0 and table.concat(parts, ' ') or 'no time'
end

local function branch_words(flags)
  for _, known in ipairs({
    { 'summarised', 'Summarised' },
    { 'ahead', 'Ahead of where you are' },
    { 'active', 'On the active branch' },
  }) do
    if vim.tbl_contains(flags, known[1]) then
      return known[2]
    end
  end
  return 'On another branch'
end

local UNSPOKEN = {
  compaction = 'Compaction',
  summarised = 'Summarised',
  branchSummary = 'Branch summary',
  ahead = 'Ahead',
  here = 'The leaf',
}

--- What a row is, in a word or two.
---@param row pisession.Row
---@return string
function M.role(row)
  return ROLES[row.kind] or UNSPOKEN[row.kind] or 'Entry'
end

---@param row table
---@param is_open boolean
---@return string
function M.speak(row, is_open)
  local parts = {}
  local function say(words)
    parts[#parts + 1] = words .. '.'
  end
  local title = text.clean(row.title):gsub(' → ', ' to '):gsub('~', 'about '):gsub('%.+$', '')
  local role = ROLES[row.kind]
  say(role and role .. ': ' .. title or (title:gsub('^%l', string.upper)))
  if row.label then
    say('Label ' .. text.clean(row.label))
  end
  if OUTCOMES[row.outcome] then
    say(OUTCOMES[row.outcome])
  end
  if row.failed > 0 then
    say(row.failed .. ' failed')
  end
  if row.out and not vim.tbl_contains(row.flags, 'omitted') then
    say(row.out .. ' out of the context')
  end
  for _, state in ipairs(STATES) do
    if vim.tbl_contains(row.flags, state[1]) then
      say(state[2])
    end
  end
  if #row.forks > 0 then
    say(#row.forks == 1 and '1 fork made here' or #row.forks .. ' forks made here')
  end
  if row.fold ~= 'none' then
    say(is_open and 'Open' or 'Closed')
  end
  if row.kind ~= 'here' then
    say(branch_words(row.flags))
  end
  if row.size then
    say('Context ' .. size_words(row.size))
  end
  if row.kind == 'work' and row.duration then
    say('Took ' .. duration_words(row.duration))
  elseif row.kind ~= 'here' then
    local clock = text.clock(row.time)
    if clock then
      say(clock)
    end
  end
  return table.concat(parts, ' ')
end

return M
