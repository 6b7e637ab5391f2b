--- JSON-RPC in LSP's framing over a program's pipes or a socket.
---
--- Neovim's own (`vim.lsp.rpc`) drops a message that `vim.json.decode` refuses, and with it the
--- answer to a question: sessions hold halves of surrogate pairs, which are no text to it.

local M = {}

--- A written backslash, and what stands for it meanwhile: no JSON text holds that raw.
local TWO, PLACE = '\\\\', '\1'

--- The JSON with U+FFFD for each half of a surrogate pair that stands alone.
---@param body string
---@return string
local function mend(body)
  body = body:gsub(TWO, PLACE)
  local pairs_kept = {}
  body = body:gsub('\\u[dD][89abAB]%x%x\\u[dD][c-fC-F]%x%x', function(pair)
    pairs_kept[#pairs_kept + 1] = pair
    return '\2'
  end)
  body = body:gsub('\\u[dD][89a-fA-F]%x%x', '\\ufffd')
  local at = 0
  body = body:gsub('\2', function()
    at = at + 1
    return pairs_kept[at]
  end)
  return (body:gsub(PLACE, TWO))
end

---@param body string
---@return table?
local function decode(body)
  local options = { luanil = { object = true } }
  local ok, message = pcall(vim.json.decode, body, options)
  if not ok then
    ok, message = pcall(vim.json.decode, mend(body), options)
  end
  return ok and type(message) == 'table' and message or nil
end

--- Takes bytes as they come and gives whole messages out.
---@param deliver fun(message: table)
---@param broken fun() the stream cannot be followed any more
---@return fun(bytes: string)
local function parser(deliver, broken)
  local chunks, held, wanted = {}, 0, nil
  local function take()
    local whole = table.concat(chunks)
    chunks, held = { whole }, #whole
    return whole
  end
  local function drop(whole, count)
    chunks, held = { whole:sub(count + 1) }, #whole - count
  end
  local function read_header()
    local whole = take()
    local _, stop = whole:find('\r\n\r\n', 1, true)
    if not stop then
      return #whole > 8192 and broken() or nil
    end
    wanted = tonumber(whole:sub(1, stop):lower():match('content%-length:%s*(%d+)'))
    drop(whole, stop)
    return wanted or broken()
  end
  return function(bytes)
    chunks[#chunks + 1], held = bytes, held + #bytes
    while wanted or read_header() do
      if held < wanted then
        return
      end
      local whole = take()
      local message = decode(whole:sub(1, wanted))
      drop(whole, wanted)
      wanted = nil
      if message then
        deliver(message)
      end
    end
  end
end

---@class pisession.Client
---@field private write fun(bytes: string)
---@field private close fun()
---@field private handlers pisession.Handlers
---@field private callbacks table<integer, fun(err: table?, result: any)>
---@field private last integer
---@field private is_over boolean
local Client = {}
Client.__index = Client

---@class pisession.Handlers
---@field notification fun(method: string, params: table)
---@field request fun(method: string, params: table): any, table?
---@field exit fun() it is over, by whomever

---@param message table
function Client:send(message)
  message.jsonrpc = '2.0'
  local body = vim.json.encode(message)
  self.write(('Content-Length: %d\r\n\r\n%s'):format(#body, body))
end

---@param method string
---@param params table
---@param callback fun(err: table?, result: any) called once; not at all when the connection ends
---@return integer? id nil: it is over
function Client:request(method, params, callback)
  if self.is_over then
    return nil
  end
  self.last = self.last + 1
  self.callbacks[self.last] = callback
  self:send({ id = self.last, method = method, params = params })
  return self.last
end

---@param method string
---@param params table?
function Client:notify(method, params)
  if not self.is_over then
    self:send({ method = method, params = params })
  end
end

--- Ends the connection; `exit` is called where it was not over.
function Client:terminate()
  if not self.is_over then
    self.is_over = true
    self.close()
    vim.schedule(self.handlers.exit)
  end
end

---@param message table
function Client:answer(message)
  local result, err = self.handlers.request(message.method, message.params or {})
  if err then
    self:send({ id = message.id, error = err })
  else
    self:send({ id = message.id, result = result == nil and vim.NIL or result })
  end
end

---@param message table
function Client:take(message)
  if message.method and message.id ~= nil then
    self:answer(message)
  elseif message.method then
    self.handlers.notification(message.method, message.params or {})
  elseif self.callbacks[message.id] then
    local callback = self.callbacks[message.id]
    self.callbacks[message.id] = nil
    callback(message.error, message.result)
  end
end

---@param handlers pisession.Handlers
---@return pisession.Client
---@return fun(bytes: string?) what came; nil: the other end is gone
local function make(handlers)
  local self =
    setmetatable({ handlers = handlers, callbacks = {}, last = 0, is_over = false }, Client)
  local feed = parser(function(message)
    vim.schedule(function()
      if not self.is_over then
        self:take(message)
      end
    end)
  end, function()
    self:terminate()
  end)
  return self,
    function(bytes)
      if bytes then
        return feed(bytes)
      end
      self:terminate()
    end
end

--- Starts a program that speaks on its standard input and output.
---@param command string[]
---@param handlers pisession.Handlers
---@return pisession.Client
function M.start(command, handlers)
  local client, feed = make(handlers)
  local process = vim.system(command, {
    stdin = true,
    stderr = false,
    stdout = function(_, bytes)
      feed(bytes)
    end,
  }, function()
    feed(nil)
  end)
  client.write = function(bytes)
    process:write(bytes)
  end
  client.close = function()
    process:write(nil)
    process:kill('sigterm')
  end
  return client
end

--- Connects to a socket.
---@param path string
---@param handlers pisession.Handlers
---@param done fun(client: pisession.Client?) nil: nobody listens there
function M.connect(path, handlers, done)
  local pipe = assert(vim.uv.new_pipe(false))
  pipe:connect(
    path,
    vim.schedule_wrap(function(err)
      if err then
        pipe:close()
        return done(nil)
      end
      local client, feed = make(handlers)
      client.write = function(bytes)
        pipe:write(bytes)
      end
      client.close = function()
        if not pipe:is_closing() then
          pipe:close()
        end
      end
      pipe:read_start(function(failed, bytes)
        feed(not failed and bytes or nil)
      end)
      done(client)
    end)
  )
end

return M
