--- What happens around the rows: whose act is told in words, and going along to a newer session.

local M = {}

--- Milliseconds a row of another client is `new` while it is in sight.
local NEW_FOR = 3000

local function by_me(origin)
  return type(origin) == 'table' and origin.clientId == require('pisession.rpc').client_id
end

local function name_of(origin)
  if type(origin) == 'table' then
    return origin.client
  end
  return origin == 'external' and 'pi' or 'pisessiond'
end

local function tell(sidebar, change)
  if by_me(change.origin) then
    return
  end
  local who, clock = name_of(change.origin), os.date('%H:%M')
  if change.kind == 'navigate' then
    sidebar:say(('%s moved the leaf %s; gl shows where.'):format(who, clock))
  elseif change.kind == 'leafConflict' then
    sidebar:say(('%s went on elsewhere; gl stays, <CR> on its row goes there.'):format(who))
  elseif change.kind == 'compact' then
    sidebar:say(('%s compacted the session %s.'):format(who, clock))
  elseif change.kind == 'append' then
    sidebar.newcomer = who
  end
end

local function forget_new(sidebar, session)
  if next(session.new) == nil or sidebar.is_forgetting then
    return
  end
  sidebar.is_forgetting = true
  vim.defer_fn(function()
    sidebar.is_forgetting = false
    if sidebar.session == session and sidebar:is_visible() then
      session.new = {}
      sidebar:redraw_soon()
    end
  end, NEW_FOR)
end

local function tell_progress(sidebar, progress)
  if progress.state == 'failed' or progress.state == 'cancelled' then
    sidebar:say(progress.message or ('The %s was %s.'):format(progress.operation, progress.state))
  end
end

---@param sidebar pisession.Sidebar
---@param what string
---@param detail table
function M.changed(sidebar, what, detail)
  for _, change in ipairs(detail.acts or {}) do
    tell(sidebar, change)
  end
  if detail.progress then
    tell_progress(sidebar, detail.progress)
  elseif detail.reset then
    sidebar:say(('Read anew: the file was %s.'):format(detail.reset))
  end
  if what == 'rows' then
    forget_new(sidebar, sidebar.session)
  end
end

--- Goes along when a newer session appears in the folder.
---@param sidebar pisession.Sidebar
function M.attach(sidebar)
  if not sidebar.follows then
    return
  end
  local rpc = require('pisession.rpc')
  local cwd = vim.fn.getcwd()
  local session = sidebar.session
  rpc.request('session/list', { cwd = cwd, limit = 1, watch = true }, function() end)
  local listener = { state = function() end }
  listener.notification = function(method, params)
    if sidebar.is_gone or sidebar.session ~= session then
      return rpc.unlisten(listener)
    elseif method ~= 'sessions/didChange' or not session.info.header then
      return
    end
    M.consider(sidebar, params.sessions, cwd)
  end
  rpc.listen(listener)
end

--- Switches to the newest of some listed sessions if it began after the one shown.
function M.consider(sidebar, listed, cwd)
  local session = sidebar.session
  local began = session.info.header.timestamp or ''
  local newest
  for _, one in ipairs(listed) do
    local is_ours = one.session == session.handle or (one.path and one.path == session.info.path)
    if not is_ours and one.cwd == cwd and not one.fork and (one.created or '') > began then
      if not newest or one.created > newest.created then
        newest = one
      end
    end
  end
  if newest then
    sidebar:switch(newest.path and { path = newest.path } or { session = newest.session })
    sidebar:say('pi began another session here; - lists the others.')
  end
end

return M
