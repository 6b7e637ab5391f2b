--- The connection to the daemon: found or started, kept up, and answered in sentences.
---
--- One connection serves all sidebars of this Neovim. It is made when the first one opens, made
--- anew after a loss while anybody still wants it, and ended with the last.

local transport = require('pisession.transport')

local M = {}

local PROTOCOL = 1
local UNREACHED = 'pisessiond could not be reached; :checkhealth pisession tells more.'
local NOT_CONNECTED = 'There is no connection to the daemon.'
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

local client ---@type pisession.Client?
local generation = 0
local tries = 0
local wanted = 0
local questions = {} ---@type table<pisession.Question, true> without an answer
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

---@param message string
---@return pisession.Error
local function offline(message)
  return { kind = 'Offline', message = message, data = {} }
end

--- What was asked on a connection that is lost is answered by nobody else.
local function give_up_questions()
  for _, question in ipairs(vim.tbl_keys(questions)) do
    if question.id then
      question.end_with(offline('The connection to the daemon was lost.'))
    end
  end
end

---@param problem string?
local function failed(problem)
  generation = generation + 1
  client = nil
  connection.problem = problem or connection.problem
  connection.since = connection.since or os.time()
  local calls = waiting
  waiting = {}
  try_later()
  set_state('offline')
  give_up_questions()
  -- There is no client now, so each of them says so to whoever asked.
  for _, call in ipairs(calls) do
    call()
  end
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
  assert(client):request('initialize', {
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
      local ending = client
      failed(sentence)
      return ending and ending:terminate()
    end
    assert(client):notify('initialized', vim.empty_dict())
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

---@return pisession.Handlers
---@return integer mine
local function handlers_of_next()
  generation = generation + 1
  local mine = generation
  return {
    notification = function(method, params)
      if mine == generation then
        tell('notification', method, params)
      end
    end,
    request = on_request,
    exit = function()
      if mine == generation then
        local is_first = connection.state == 'connecting'
        failed(is_first and UNREACHED or nil)
      end
    end,
  },
    mine
end

---@param made pisession.Client
---@param mine integer
local function begin(made, mine)
  client = made
  initialize(mine)
  vim.defer_fn(function()
    if mine == generation and connection.state == 'connecting' then
      failed('pisessiond does not answer; its log says why (pisessiond doctor).')
      made:terminate()
    end
  end, PATIENCE)
end

---@param socket string
local function connect(socket)
  local path = vim.fs.normalize(socket)
  local handlers, mine = handlers_of_next()
  transport.connect(path, handlers, function(made)
    if mine ~= generation then
      return made and made:terminate()
    elseif made then
      return begin(made, mine)
    end
    local shown = vim.fn.fnamemodify(path, ':~')
    failed(('No daemon listens at %s; start it with pisessiond serve --socket.'):format(shown))
  end)
end

---@param command string[]
local function start_program(command)
  local program = command[1]
  if vim.fn.executable(program) ~= 1 then
    return failed(
      program == 'pisessiond'
          and 'pisessiond is not installed; :checkhealth pisession says how to get it.'
        or ('%s is no program; look at the option cmd.'):format(program)
    )
  end
  local handlers, mine = handlers_of_next()
  local ok, made = pcall(transport.start, command, handlers)
  if not ok then
    return failed('pisessiond could not be started: ' .. tostring(made):gsub('\n.*', ''))
  end
  begin(made, mine)
end

start = function()
  local config = require('pisession.config').get()
  set_state('connecting')
  if config.socket then
    return connect(config.socket)
  end
  start_program(config.cmd)
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
  if wanted == 0 and next(questions) == nil then
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
  if ending then
    ending:notify('exit')
    ending:terminate()
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

--- What is answered where a request was taken back before it was sent.
M.CANCELLED = { kind = 'Cancelled', message = 'It was cancelled; nothing was changed.', data = {} }

---@class pisession.Question
---@field id integer? once it is sent
---@field end_with fun(err: pisession.Error?, result: any)

---@param callback fun(err: pisession.Error?, result: any)
---@return pisession.Question
local function make_question(callback)
  local question = {}
  questions[question] = true
  function question.end_with(err, result)
    if not questions[question] then
      return
    end
    questions[question] = nil
    callback(err, result)
    if wanted == 0 and next(questions) == nil and connection.state ~= 'idle' then
      M.stop()
    end
  end
  return question
end

---@param question pisession.Question
---@param method string
---@param params table
local function send(question, method, params)
  if not questions[question] then
    return
  elseif not client then
    return question.end_with(offline(connection.problem or NOT_CONNECTED))
  end
  local body = next(params) == nil and vim.empty_dict() or params
  question.id = client:request(method, body, function(err, result)
    question.end_with(error_of(err), result)
  end)
  if not question.id then
    question.end_with(offline(NOT_CONNECTED))
  end
end

--- Asks the daemon; the callback is called once, whatever happens.
---@param method string
---@param params table
---@param callback fun(err: pisession.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  local question = make_question(callback)
  if connection.state == 'ready' then
    send(question, method, params)
  elseif connection.state == 'connecting' then
    waiting[#waiting + 1] = function()
      send(question, method, params)
    end
  else
    vim.schedule(function()
      question.end_with(offline(connection.problem or NOT_CONNECTED))
    end)
  end
  return function()
    if client and question.id and questions[question] then
      client:notify('$/cancelRequest', { id = question.id })
    elseif not question.id then
      question.end_with(M.CANCELLED)
    end
  end
end

return M
