--- Text and figures as the screen takes them: cleaned, cut by cells, short.

local M = {}

local function is_hidden(code)
  return code < 0x20
    or (code >= 0x7f and code <= 0x9f)
    or code == 0xad
    or code == 0x34f
    or code == 0x61c
    or code == 0x115f
    or code == 0x1160
    or (code >= 0x17b4 and code <= 0x17b5)
    or (code >= 0x180b and code <= 0x180f)
    or (code >= 0x200b and code <= 0x200f)
    or (code >= 0x202a and code <= 0x202e)
    or (code >= 0x2060 and code <= 0x206f)
    or code == 0xfeff
    or (code >= 0xfff9 and code <= 0xfffb)
    or (code >= 0xe0000 and code <= 0xe0fff)
end

local function characters(text)
  return vim.fn.split(text, '\\zs')
end

--- Blanks of three bytes that a line is not to begin or end with.
local WIDE_BLANKS = { ['\225\154\128'] = true, ['\226\129\159'] = true, ['\227\128\128'] = true }
for last = 0x80, 0x8a do
  WIDE_BLANKS['\226\128' .. string.char(last)] = true
end

---@param text string
---@return string
local function trim_right(text)
  text = text:gsub('%s+$', '')
  while WIDE_BLANKS[text:sub(-3)] do
    text = text:sub(1, -4):gsub('%s+$', '')
  end
  return text
end

---@param text string
---@return string
local function trim(text)
  text = text:gsub('^%s+', '')
  while WIDE_BLANKS[text:sub(1, 3)] do
    text = text:sub(4):gsub('^%s+', '')
  end
  return trim_right(text)
end

--- The text without sequences that act on a terminal: colours, cursor, titles, clipboard.
---@param text string
---@return string
local function without_escapes(text)
  -- U+009C ends what BEL ends, and U+009B begins what ESC [ begins.
  text = text:gsub('\194\156', '\7'):gsub('\194\155', '\27[')
  text = text:gsub('\27%[[0-?]*[ -/]*[@-~]', '')
  text = text:gsub('\27[%]PX^_][^\7\27]*\7', ''):gsub('\27[%]PX^_][^\7\27]*\27\\', '')
  return (text:gsub('\27[ -/]*[0-~]', ''))
end

--- One plain line: nothing in it moves the cursor, turns the direction or hides.
---@param text string
---@return string
function M.clean(text)
  if not text:find('[%c\128-\255]') then
    return (vim.trim(text:gsub('  +', ' ')))
  end
  -- Neovim takes a string that holds a NUL for bytes.
  text = without_escapes(text:gsub('%z', ''))
  text =
    text:gsub('[\t\r\n\v\f\28-\30]+', ' '):gsub('\226\128[\168\169]', ' '):gsub('\194\133', ' ')
  local kept = {}
  for _, code in ipairs(vim.fn.str2list(text, true)) do
    if code >= 0xd800 and code <= 0xdfff then
      code = 0xfffd
    end
    if not is_hidden(code) then
      kept[#kept + 1] = code == 0xa0 and 0x20 or code
    end
  end
  return trim((vim.fn.list2str(kept, true):gsub('  +', ' ')))
end

--- How many cells a line takes.
---@param text string
---@return integer
function M.width(text)
  if not text:find('[\128-\255]') then
    return #text
  end
  return vim.api.nvim_strwidth(text)
end

--- The beginning of a line that fits, with a mark where something is missing.
---@param text string
---@param cells integer
---@param mark string
---@return string
function M.cut(text, cells, mark)
  if M.width(text) <= cells then
    return text
  end
  local room = cells - M.width(mark)
  if room < 0 then
    return ''
  end
  if not text:find('[\128-\255]') then
    return trim_right(text:sub(1, room)) .. mark
  end
  local kept = {}
  for _, character in ipairs(characters(text)) do
    room = room - M.width(character)
    if room < 0 then
      break
    end
    kept[#kept + 1] = character
  end
  return trim_right(table.concat(kept)) .. mark
end

--- The line with blanks up to a width.
---@param text string
---@param cells integer
---@return string
function M.fill(text, cells)
  return text .. (' '):rep(cells - M.width(text))
end

--- Lines broken between words, so that none is wider than so many cells; a longer word stays whole.
---@param lines string[]
---@param cells integer
---@return string[]
function M.wrap(lines, cells)
  local broken = {}
  for _, line in ipairs(lines) do
    local at = ''
    -- Spaces go with the word behind them: those that part columns stay.
    for word in line:gmatch('%s*%S+') do
      if at ~= '' and M.width(at .. word) > cells then
        broken[#broken + 1] = at
        at = vim.trim(word)
      else
        at = at .. word
      end
    end
    broken[#broken + 1] = at
  end
  return broken
end

local function tenths(tokens, unit)
  local whole = math.floor((tokens + unit / 2) / unit)
  return ('%d.%d'):format(math.floor(whole / 10), whole % 10)
end

--- `812`, `9.4k`, `84k`, `1.2M`: three digits at most, in the steps of pi's footer.
---@param tokens integer
---@return string
function M.tokens(tokens)
  if tokens < 1000 then
    return tostring(math.floor(tokens))
  elseif tokens < 9950 then
    return tenths(tokens, 100) .. 'k'
  elseif tokens < 999500 then
    return ('%dk'):format(math.floor((tokens + 500) / 1000))
  elseif tokens < 9950000 then
    return tenths(tokens, 100000) .. 'M'
  end
  return ('%dM'):format(math.floor((tokens + 500000) / 1000000))
end

--- `42%`, or nothing when the window is unknown.
---@param percent number?
---@return string
function M.percent(percent)
  return percent and ('%d%%'):format(math.floor(percent + 0.5)) or ''
end

--- `84k 42%`, `~31k ~16%`, or tokens alone where the window is unknown.
---@param size pisession.RowSize
---@return string
function M.size(size)
  local tilde = size.source == 'measured' and '' or '~'
  local percent = size.percent and (' ' .. tilde .. M.percent(size.percent)) or ''
  return tilde .. M.tokens(size.tokens) .. percent
end

--- `1 entry`, `2 entries`.
---@param count integer
---@param one string
---@param more string
---@return string
function M.many(count, one, more)
  return ('%d %s'):format(count, count == 1 and one or more)
end

--- `45s`, `6m12s`, `1h05m`, `2d04h`.
---@param milliseconds integer
---@return string
function M.duration(milliseconds)
  local seconds = math.floor((milliseconds + 500) / 1000)
  if seconds < 60 then
    return ('%ds'):format(seconds)
  end
  local minutes = math.floor(seconds / 60)
  if minutes < 60 then
    return ('%dm%02ds'):format(minutes, seconds % 60)
  end
  local hours = math.floor(minutes / 60)
  if hours < 24 then
    return ('%dh%02dm'):format(hours, minutes % 60)
  end
  return ('%dd%02dh'):format(math.floor(hours / 24), hours % 24)
end

local function days_from_civil(year, month, day)
  if month <= 2 then
    year = year - 1
  end
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  local days = of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year
  return era * 146097 + days - 719468
end

--- The seconds since 1970 of an ISO time; nil when it cannot be read.
---@param iso string?
---@return integer?
function M.epoch(iso)
  if type(iso) ~= 'string' then
    return nil
  end
  local year, month, day, hour, minute, second, rest =
    iso:match('^(%d%d%d%d)-(%d%d)-(%d%d)[T ](%d%d):(%d%d):(%d%d)(.*)$')
  if not year then
    return nil
  end
  local sign, hours, minutes = rest:match('([+-])(%d%d):?(%d%d)$')
  local offset = sign
      and (tonumber(hours) * 3600 + tonumber(minutes) * 60) * (sign == '-' and -1 or 1)
    or 0
  local days = days_from_civil(tonumber(year), tonumber(month), tonumber(day))
  return days * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + tonumber(second) - offset
end

local MONTHS =
  { 'Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec' }

--- `14:31` and `12Nov`, in the reader's zone, and the day to compare with others.
---@param iso string?
---@return string? clock
---@return string? date
---@return string? day
function M.clock(iso)
  local epoch = M.epoch(iso)
  if not epoch then
    return nil
  end
  local at = os.date('*t', epoch) --[[@as osdate]]
  local day = ('%04d-%02d-%02d'):format(at.year, at.month, at.day)
  return ('%02d:%02d'):format(at.hour, at.min), ('%d%s'):format(at.day, MONTHS[at.month]), day
end

--- The time as one reads it today: `14:31`, or the date of another day; empty where there is none.
---@param iso string?
---@return string
function M.moment(iso)
  local clock, date, day = M.clock(iso)
  return (day == os.date('%Y-%m-%d') and clock or date) or ''
end

return M
