--- Messages in pieces of every size, and halves of surrogate pairs: `nvim -l tests/transport.lua`.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
vim.opt.rtp:prepend(vim.fn.fnamemodify(here, ':h'))
local transport = require('pisession.transport')

local HOSTILE = {
  [ [["lone \ud800 and \udc00"]] ] = 'lone \239\191\189 and \239\191\189',
  [ [["pair \ud83d\ude00"]] ] = 'pair \240\159\152\128',
  [ [["written \\ud800"]] ] = 'written \\ud800',
  [ [["both \\ud800 \ud800 \\\ud800"]] ] = 'both \\ud800 \239\191\189 \\\239\191\189',
  [ [["two highs \ud83d\ud83d\ude00"]] ] = 'two highs \239\191\189\240\159\152\128',
  [ [["plain"]] ] = 'plain',
}

local function frame(body)
  return ('Content-Length: %d\r\n\r\n%s'):format(#body, body)
end

local failed = 0
local function check(size, bytes, expected)
  local got = {}
  local path = vim.fn.tempname()
  local server = assert(vim.uv.new_pipe(false))
  assert(server:bind(path))
  server:listen(1, function()
    local peer = assert(vim.uv.new_pipe(false))
    server:accept(peer)
    local function write(from)
      if from > #bytes then
        return
      end
      peer:write(bytes:sub(from, from + size - 1), function()
        write(from + size)
      end)
    end
    write(1)
  end)
  local client
  transport.connect(path, {
    notification = function(_, params)
      got[#got + 1] = params.text
    end,
    request = function() end,
    exit = function() end,
  }, function(made)
    client = made
  end)
  vim.wait(5000, function()
    return #got >= #expected
  end, 1)
  client:terminate()
  server:close()
  if not vim.deep_equal(got, expected) then
    failed = failed + 1
    io.write(('pieces of %d: %s\n'):format(size, vim.inspect(got)))
  end
end

local bytes, expected = {}, {}
for text, meant in vim.spairs(HOSTILE) do
  bytes[#bytes + 1] = frame(([[{"jsonrpc":"2.0","method":"m","params":{"text":%s}}]]):format(text))
  expected[#expected + 1] = meant
end
for _, size in ipairs({ 1, 2, 7, 64, 100000 }) do
  check(size, table.concat(bytes), expected)
end
io.write(('%d of 5 failed\n'):format(failed))
os.exit(failed == 0 and 0 or 1)
