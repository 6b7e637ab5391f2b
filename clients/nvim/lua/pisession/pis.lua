--- Running pi in words: how many, what each is doing, and what may be asked of it.

local text = require('pisession.text')

local M = {}

---@class pisession.Pi
---@field pid integer
---@field mode 'tui'|'rpc'|'print'|'json'
---@field version string
---@field state 'idle'|'turn'|'compaction'|'summary'|'stalled'
---@field waitingForUser boolean a dialog is open there
---@field pending integer messages that wait for the end of its run
---@field drives boolean it can be moved and prompted from here
---@field why string? why it cannot
---@field owner boolean it alone has the session open
---@field unseen integer entries in the file that it has not read
---@field leaf string? where it stands

local DOING = {
  idle = 'idle',
  turn = 'at work',
  compaction = 'compacting',
  summary = 'summarizing',
  stalled = 'not answering',
}

local MODES = { tui = 'in a terminal', rpc = 'in RPC mode', print = 'with -p', json = 'with -p' }

--- Those that have a session open, as far as the daemon has told.
---@param session pisession.Session
---@return pisession.Pi[]
function M.of(session)
  return session.info.pis or {}
end

--- `idle`, `at work`, `waiting for you`.
---@param one pisession.Pi
---@return string
function M.doing(one)
  return one.waitingForUser and 'waiting for you' or DOING[one.state] or one.state
end

---@param pis pisession.Pi[]
---@param is_so fun(one: pisession.Pi): boolean
---@return pisession.Pi[]
local function those(pis, is_so)
  return vim.tbl_filter(is_so, pis)
end

---@param one pisession.Pi
---@return boolean
function M.is_at_work(one)
  return one.state ~= 'idle' and one.state ~= 'stalled'
end

--- Those that run something which could be stopped.
---@param session pisession.Session
---@return pisession.Pi[]
function M.at_work(session)
  return those(M.of(session), M.is_at_work)
end

--- Those that may be moved and prompted.
---@param session pisession.Session
---@return pisession.Pi[]
function M.driven(session)
  return those(M.of(session), function(one)
    return one.drives
  end)
end

--- Those that have not read all of the file.
---@param session pisession.Session
---@return pisession.Pi[]
function M.behind(session)
  return those(M.of(session), function(one)
    return one.unseen > 0
  end)
end

local URGENT = { 'waiting for you', 'not answering', 'at work', 'compacting', 'summarizing' }

--- What is most urgent among several, with how many: `1 waiting for you`.
---@param pis pisession.Pi[]
---@return string?
local function urgent(pis)
  for _, doing in ipairs(URGENT) do
    local count = #those(pis, function(one)
      return M.doing(one) == doing
    end)
    if count > 0 then
      return ('%d %s'):format(count, doing)
    end
  end
end

--- `pi: idle`, `pi: waiting for you`, `2 pi: 1 at work`; nil where there is none.
---@param pis pisession.Pi[]?
---@return string?
function M.company(pis)
  if not pis or #pis == 0 then
    return nil
  elseif #pis == 1 then
    local unread = pis[1].unseen > 0 and (', %d unread'):format(pis[1].unseen) or ''
    return ('pi: %s%s'):format(M.doing(pis[1]), unread)
  end
  local most = urgent(pis)
  return ('%d pi%s'):format(#pis, most and ': ' .. most or '')
end

--- What is worth a few cells of a status line; nil where every pi is idle.
---@param pis pisession.Pi[]
---@return string?
function M.short(pis)
  local most = urgent(pis)
  return most and (most:gsub('^%d+ ', ''))
end

--- `pi`, and of several which: `pi 4242`.
---@param one pisession.Pi
---@param pis pisession.Pi[]
---@return string
function M.name(one, pis)
  return #pis > 1 and ('pi %d'):format(one.pid) or 'pi'
end

--- Why one cannot be moved from here, without a full stop.
---@param one pisession.Pi
---@return string
function M.why(one)
  return (text.clean(one.why or 'it lets nobody move it'):gsub('%.$', ''))
end

--- All of one in a line: `pi 4242, in a terminal: idle`, why it is only watched, what it has not
--- read.
---@param one pisession.Pi
---@return string
function M.describe(one)
  local parts = { M.doing(one) }
  if one.pending > 0 then
    parts[#parts + 1] = text.many(one.pending, 'message waits', 'messages wait')
  end
  if one.unseen > 0 then
    parts[#parts + 1] = text.many(one.unseen, 'entry', 'entries') .. ' not read, R lets it'
  end
  if not one.drives then
    parts[#parts + 1] = 'only watched: ' .. M.why(one)
  end
  return ('pi %d, %s: %s'):format(one.pid, MODES[one.mode] or one.mode, table.concat(parts, ', '))
end

--- The same of a choice among several, with the row it stands at.
---@param choice { pid: integer, mode: string, state: string, leaf: string? }
---@param title string?
---@return string
function M.choice(choice, title)
  local doing = DOING[choice.state] or choice.state
  local at = title and (', at "%s"'):format(text.cut(text.clean(title), 40, '…')) or ''
  return ('pi %d, %s: %s%s'):format(choice.pid, MODES[choice.mode] or choice.mode, doing, at)
end

return M
