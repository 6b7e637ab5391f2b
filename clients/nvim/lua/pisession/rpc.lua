--- The connection to the daemon: found or started, kept up, and answered in sentences.
---
--- One connection serves all sidebars of this Neovim. It is made when the first one opens, made
--- anew after a loss while anybody still wants it, and ended with the last.

local M = {}

local PROTOCOL = 1
--- Milliseconds between two tries after a loss.
local BACKOFF = { 200, 500, 1000, 2000, 4000, 8000 }
--- Milliseconds until a connection that says nothing has failed.
local PATIENCE = 25000

---@alias pisession.State 'idle'|'connecting'|'ready'|'offline'

---@class pisession.Error
---@field kind string the daemon's `data.kind`, or `Offline`
---@field message string one sentence
---@field data table

---@class pisession.Connection
---@field state pisession.State
---@field since integer? seconds since 1970: when the connection was lost
---@field next_try integer? seconds since 1970
---@field problem string? why there is none, in one sentence
---@field server table? what the daemon said in `initialize`
local connection = { state = 'idle' }
M.connection = connection

local client ---@type vim.lsp.rpc.PublicClient?
local generation = 0
local tries = 0
local wanted = 0
local pending = 0 -- questions without an answer
local timer ---@type uv.uv_timer_t?
local waiting = {} ---@type fun()[]
local listeners = {} ---@type table<table, true>
local answers = {} ---@type table<string, fun(params: table): table>

--- Unique to this Neovim and kept over reconnects.
M.client_id = ('nvim-%d-%x'):format(vim.uv.os_getpid(), vim.uv.hrtime() % 0xffffffff)

---@param listener { state: fun(), notification: fun(method: string, params: table) }
function M.listen(listener)
  listeners[listener] = true
end

function M.unlisten(listener)
  listeners[listener] = nil
end

--- Answers a request of the daemon, such as `session/summarize`; known from the next connection on.
function M.answer(method, handler)
  answers[method] = handler
end

--- Calls all who listen now; whoever is told may begin or cease to listen.
local function tell(what, ...)
  for _, listener in ipairs(vim.tbl_keys(listeners)) do
    if listeners[listener] then
      listener[what](...)
    end
  end
end

local function set_state(state)
  connection.state = state
  if state == 'ready' then
    connection.since, connection.next_try, connection.problem = nil, nil, nil
  end
  tell('state')
end

local function stop_timer()
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
end

local start

local function try_later()
  stop_timer()
  if wanted == 0 then
    return
  end
  tries = math.min(tries + 1, #BACKOFF)
  connection.next_try = os.time() + math.ceil(BACKOFF[tries] / 1000)
  timer = assert(vim.uv.new_timer())
  timer:start(
    BACKOFF[tries],
    0,
    vim.schedule_wrap(function()
      stop_timer()
      if wanted > 0 then
        start()
      end
    end)
  )
end

local function failed(problem)
  generation = generation + 1
  client = nil
  connection.problem = problem or connection.problem
  connection.since = connection.since or os.time()
  local calls = waiting
  waiting = {}
  try_later()
  set_state('offline')
  -- There is no client now, so each of them says so to whoever asked.
  for _, call in ipairs(calls) do
    call()
  end
end

local function on_notification(method, params)
  tell('notification', method, params)
end

local function on_request(method, params)
  local handler = answers[method]
  if not handler then
    return nil, { code = -32601, message = 'Not answered here.' }
  end
  return handler(params)
end

local function common_version(answer)
  local experimental = vim.tbl_get(answer, 'capabilities', 'experimental', 'pisessiond')
  return experimental and experimental.protocolVersion == PROTOCOL and experimental or nil
end

local function initialize(mine)
  local options = {
    protocolVersions = { PROTOCOL },
    client = { id = M.client_id, name = 'nvim', version = tostring(vim.version()) },
    cwd = vim.fn.getcwd(),
    requests = vim.tbl_keys(answers),
  }
  if #options.requests == 0 then
    options.requests = nil
  end
  assert(client).request('initialize', {
    processId = vim.uv.os_getpid(),
    rootUri = vim.NIL,
    clientInfo = { name = 'Neovim', version = tostring(vim.version()) },
    capabilities = vim.empty_dict(),
    initializationOptions = { pisessiond = options },
  }, function(err, answer)
    if mine ~= generation then
      return
    end
    local server = answer and common_version(answer)
    if err or not server then
      local sentence = err and err.message
        or 'This is no pisessiond that the plugin understands; update one of the two.'
      assert(client).terminate()
      return failed(sentence)
    end
    client.notify('initialized', vim.empty_dict())
    connection.server = server
    tries = 0
    set_state('ready')
    local calls = waiting
    waiting = {}
    for _, call in ipairs(calls) do
      call()
    end
  end)
end

local function begin(make)
  generation = generation + 1
  local mine = generation
  local ok, made = pcall(make, {
    notification = on_notification,
    server_request = on_request,
    on_error = function() end,
    on_exit = vim.schedule_wrap(function()
      if mine == generation then
        failed(
          connection.state == 'connecting'
              and 'pisessiond could not be reached; :checkhealth pisession tells more.'
            or nil
        )
      end
    end),
  })
  if not ok then
    return failed('pisessiond could not be started: ' .. tostring(made):gsub('\n.*', ''))
  end
  client = made
  initialize(mine)
  vim.defer_fn(function()
    if mine == generation and connection.state == 'connecting' then
      assert(client).terminate()
      failed('pisessiond does not answer; its log says why (pisessiond doctor).')
    end
  end, PATIENCE)
end

--- A refused connect calls nothing back in `vim.lsp.rpc.connect`, so the socket is tried first.
local function probe(path, reached, refused)
  local pipe = assert(vim.uv.new_pipe(false))
  pipe:connect(
    path,
    vim.schedule_wrap(function(err)
      pipe:close()
      if err then
        refused()
      else
        reached()
      end
    end)
  )
end

start = function()
  local config = require('pisession.config').get()
  set_state('connecting')
  if config.socket then
    local path = vim.fs.normalize(config.socket)
    local mine = generation
    probe(path, function()
      if mine == generation then
        begin(vim.lsp.rpc.connect(path))
      end
    end, function()
      if mine == generation then
        failed(
          ('No daemon listens at %s; start it with pisessiond serve --socket.'):format(
            vim.fn.fnamemodify(path, ':~')
          )
        )
      end
    end)
    return
  end
  if vim.fn.executable(config.cmd[1]) ~= 1 then
    return failed(
      config.cmd[1] == 'pisessiond'
          and 'pisessiond is not installed; :checkhealth pisession says how to get it.'
        or ('%s is no program; look at the option cmd.'):format(config.cmd[1])
    )
  end
  begin(function(dispatchers)
    return vim.lsp.rpc.start(config.cmd, dispatchers)
  end)
end

--- Says that the connection is wanted; undone by `release`.
function M.acquire()
  wanted = wanted + 1
  if connection.state == 'idle' then
    start()
  end
end

--- Says that it is wanted no more. It ends once all questions are answered: a compaction that
--- was asked for goes on when the sidebar is wiped out.
function M.release()
  wanted = math.max(wanted - 1, 0)
  if wanted == 0 and pending == 0 then
    M.stop()
  end
end

--- Ends the connection; the daemon and other clients go on.
function M.stop()
  stop_timer()
  generation = generation + 1
  local ending = client
  client, waiting, tries = nil, {}, 0
  connection.since, connection.next_try, connection.problem = nil, nil, nil
  if ending and not ending.is_closing() then
    ending.notify('exit', vim.NIL)
    ending.terminate()
  end
  set_state('idle')
end

--- Tries at once instead of when its time has come.
function M.reconnect()
  if connection.state == 'offline' then
    tries = 0
    stop_timer()
    start()
  end
end

---@param message string
---@return pisession.Error
local function offline(message)
  return { kind = 'Offline', message = message, data = {} }
end

---@return pisession.Error?
local function error_of(err)
  if not err then
    return nil
  end
  local data = type(err.data) == 'table' and err.data or {}
  return {
    kind = data.kind or 'InternalError',
    message = err.message or 'The request failed.',
    data = data,
  }
end

--- Asks the daemon; the callback is called once, whatever happens.
---@param method string
---@param params table
---@param callback fun(err: pisession.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  local is_done, id = false, nil
  pending = pending + 1
  local function done(err, result)
    if is_done then
      return
    end
    is_done, pending = true, pending - 1
    callback(err, result)
    if wanted == 0 and pending == 0 and connection.state ~= 'idle' then
      M.stop()
    end
  end
  local function send()
    local mine = generation
    if is_done then
      return
    elseif not client then
      return done(offline(connection.problem or 'There is no connection to the daemon.'))
    end
    local lost = { state = nil, notification = function() end }
    lost.state = function()
      if mine ~= generation then
        M.unlisten(lost)
        done(offline('The connection to the daemon was lost.'))
      end
    end
    M.listen(lost)
    local _, sent = client.request(
      method,
      next(params) == nil and vim.empty_dict() or params,
      function(err, result)
        M.unlisten(lost)
        done(error_of(err), result)
      end,
      function()
        M.unlisten(lost)
        -- Neovim passes a cancelled request's answer to nobody (0.11, `Client:handle_body`).
        vim.schedule(function()
          done({ kind = 'Cancelled', message = 'It was cancelled; nothing was changed.', data = {} })
        end)
      end
    )
    id = sent
    if not sent then
      M.unlisten(lost)
      done(offline('There is no connection to the daemon.'))
    end
  end
  if connection.state == 'ready' then
    send()
  elseif connection.state == 'connecting' then
    waiting[#waiting + 1] = send
  else
    vim.schedule(function()
      done(offline(connection.problem or 'There is no connection to the daemon.'))
    end)
  end
  return function()
    if client and id and not is_done then
      client.notify('$/cancelRequest', { id = id })
    elseif not id then
      done({ kind = 'Cancelled', message = 'It was cancelled; nothing was changed.', data = {} })
    end
  end
end

return M
