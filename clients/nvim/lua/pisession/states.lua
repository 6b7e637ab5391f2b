--- What stands in place of rows: nothing yet, nothing here, or what is wrong and what helps.

local rpc = require('pisession.rpc')

local M = {}

--- Milliseconds before anything says that it takes a while, and before it says where to look.
M.CALM = 300
M.LONG = 5000

local SENTENCES = {} ---@type table<string, fun(err: pisession.Error, wish: table): string[]>

function SENTENCES.SessionNotFound(problem, wish)
  if not wish.latest then
    return { problem.message, '', '-  other sessions' }
  end
  return {
    'No pi session in this folder yet.',
    'They appear when pi runs here.',
    '',
    'n  new    -  all sessions',
  }
end

---@param waited integer
---@return string[]
local function waiting(waited)
  if waited < M.CALM then
    return { '' }
  elseif waited < M.LONG then
    return { 'Starting pisessiond…' }
  end
  return { 'Starting pisessiond…', '', ':checkhealth pisession says what is wrong.' }
end

--- The sentences for a sidebar without rows.
---@param sidebar pisession.Sidebar
---@return string[]
function M.sentences(sidebar)
  local session, connection = sidebar.session, rpc.connection
  local problem = session.problem
  if connection.state == 'offline' then
    return { connection.problem or 'The connection to pisessiond was lost.' }
  elseif problem then
    local known = SENTENCES[problem.kind]
    return known and known(problem, session.wish)
      or { problem.message, '', '-  other sessions    <C-l>  try again' }
  end
  return waiting(vim.uv.now() - sidebar.opened_at)
end

return M
