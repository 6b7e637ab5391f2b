--- What happens around the rows: whose act it was is told in words, rows of others are new for a
--- while, and the sidebar goes along when another session begins.

local rpc = require('pisession.rpc')
local windows = require('pisession.window')

local M = {}

--- Milliseconds a row of another client is `new` while it is in sight.
local NEW_FOR = 3000

--- Whether it is somebody else's act: what the daemon puts right by itself is nobody's.
local function is_foreign(origin)
  return origin == 'external' or type(origin) == 'table' and origin.clientId ~= rpc.client_id
end

--- Who did it. What writes without being connected is most likely a pi, but not beside one that is.
---@param origin table|string
---@param pis pisession.Pi[]?
---@return string
local function name_of(origin, pis)
  return type(origin) == 'table' and origin.client or #(pis or {}) > 0 and 'Another program' or 'pi'
end

local TELL = {} ---@type table<string, fun(who: string, clock: string): string>

function TELL.navigate(who, clock)
  return ('%s moved the leaf %s; gl shows where.'):format(who, clock)
end

function TELL.leafConflict(who, clock)
  return ('%s went on elsewhere %s; <CR> on its row goes there.'):format(who, clock)
end

function TELL.compact(who, clock)
  return ('%s compacted the session %s.'):format(who, clock)
end

function TELL.append(who)
  return ('%s went on.'):format(who)
end

---@param sidebar pisession.Sidebar
---@param progress pisession.Progress
local function tell_progress(sidebar, progress)
  if progress.state == 'failed' or progress.state == 'cancelled' then
    sidebar:say(
      progress.message or ('The %s was %s.'):format(progress.operation, progress.state),
      true
    )
  end
end

---@param pis pisession.Pi[]
---@return table<integer, pisession.Pi>
local function by_pid(pis)
  local found = {}
  for _, one in ipairs(pis) do
    found[one.pid] = one
  end
  return found
end

--- Tells of pi that came and went, of what one has not read, and of one that asks its user.
---@param sidebar pisession.Sidebar
---@param before pisession.Pi[]
local function tell_pis(sidebar, before)
  local session = sidebar.session
  local old, new = by_pid(before), by_pid(session.info.pis or {})
  for pid, one in pairs(new) do
    local was = old[pid]
    if not was then
      sidebar:say(('pi %d opened this session.'):format(pid), true)
    elseif one.unseen > was.unseen then
      sidebar:say('pi has not read what came from outside; R lets it.', true)
    end
    local waiting = session.waiting
    if one.waitingForUser and waiting and waiting.is_prompt and not waiting.is_told then
      waiting.is_told = true
      sidebar:say('pi asks there whether you may; <C-c> takes it back.')
    end
  end
  for pid in pairs(old) do
    if not new[pid] then
      sidebar:say(('pi %d has left this session.'):format(pid), true)
    end
  end
end

--- Tells in words what others did, and how operations end.
---@param sidebar pisession.Sidebar
---@param detail { acts: pisession.Change[]?, progress: pisession.Progress?, reset: string?, pis: pisession.Pi[]? }
function M.changed(sidebar, detail)
  for _, change in ipairs(detail.acts or {}) do
    local tell = TELL[change.kind]
    if tell and is_foreign(change.origin) then
      local who = name_of(change.origin, sidebar.session.info.pis)
      sidebar:say(tell(who, os.date('%H:%M') --[[@as string]]), true)
    end
    if change.kind == 'append' and change.origin == 'external' then
      M.saw_outside(sidebar)
    end
  end
  if detail.pis then
    tell_pis(sidebar, detail.pis)
  end
  if detail.progress then
    tell_progress(sidebar, detail.progress)
  elseif detail.reset then
    sidebar:say(('Read anew: the file was %s.'):format(detail.reset), true)
  end
end

--- What writes here and is no pi that is seen to run may be one without the bridge.
---@param sidebar pisession.Sidebar
function M.saw_outside(sidebar)
  if #(sidebar.session.info.pis or {}) == 0 then
    require('pisession.bridge').offer(sidebar)
  end
end

--- The entries that are new and whose rows are in sight.
---@param sidebar pisession.Sidebar
---@return string[]
local function new_in_sight(sidebar)
  local found = {}
  local first, last = windows.sight(sidebar.window)
  for line = first, last do
    local row = sidebar.view:row_at(line)
    if row and row.last and sidebar.session.new[row.last] then
      found[#found + 1] = row.last
    end
  end
  return found
end

--- Takes the mark off new rows once they were in sight for a while.
---@param sidebar pisession.Sidebar
function M.seen(sidebar)
  local session = sidebar.session
  if next(session.new) == nil or sidebar.is_forgetting then
    return
  end
  local entries = new_in_sight(sidebar)
  if #entries == 0 then
    return
  end
  sidebar.is_forgetting = true
  vim.defer_fn(function()
    sidebar.is_forgetting = false
    if sidebar:is_visible() then
      for _, entry in ipairs(entries) do
        session.new[entry] = nil
      end
    end
    sidebar:redraw_soon()
  end, NEW_FOR)
end

--- Asks to be told of sessions of the folder.
---@param cwd string
local function watch(cwd)
  rpc.request('session/list', { cwd = cwd, limit = 1, watch = true }, function() end)
end

--- The same for a sidebar that goes along to newer sessions.
---@param sidebar pisession.Sidebar
function M.watch(sidebar)
  if sidebar.follows and not sidebar.is_gone then
    watch(vim.fn.getcwd())
  end
end

--- Goes along when a newer session appears in the folder.
---@param sidebar pisession.Sidebar
function M.attach(sidebar)
  if not sidebar.follows then
    return
  end
  local cwd, session = vim.fn.getcwd(), sidebar.session
  watch(cwd)
  local listener = {}
  function listener.state()
    -- A new connection knows nothing of what the old one asked.
    if rpc.connection.state == 'ready' and sidebar.session == session and not sidebar.is_gone then
      watch(cwd)
    end
  end
  function listener.notification(method, params)
    if sidebar.is_gone or sidebar.session ~= session then
      rpc.unlisten(listener)
    elseif method == 'sessions/didChange' then
      M.consider(sidebar, params.sessions, cwd)
    end
  end
  rpc.listen(listener)
end

---@param one table
---@param session pisession.Session
---@param cwd string
---@return boolean
local function is_newer(one, session, cwd)
  local header = session.info.header
  local began = header and header.timestamp or ''
  return one.cwd == cwd
    and not one.fork
    and one.session ~= session.handle
    and (one.created or '') > began
end

--- Switches to the newest of some listed sessions if it began after the one shown.
---@param sidebar pisession.Sidebar
---@param listed table[]
---@param cwd string
function M.consider(sidebar, listed, cwd)
  local session, newest = sidebar.session, nil
  for _, one in ipairs(listed) do
    if is_newer(one, session, cwd) and (not newest or one.created > newest.created) then
      newest = one
    end
  end
  if newest then
    local is_first = session.handle == nil
    local wish = newest.path and not newest.unsaved and { path = newest.path }
      or { session = newest.session }
    sidebar:switch(wish, true)
    if not is_first then
      sidebar:say('pi began another session here; - lists the others.', true)
    end
  end
end

return M
