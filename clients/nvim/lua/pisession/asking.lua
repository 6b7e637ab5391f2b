--- Asking the daemon for an act: once more where it only has to know which pi, or when.

local pis = require('pisession.pis')
local standing = require('pisession.standing')

local M = {}

--- What a pi that is at work can be asked for later.
local WAITING = {
  ['session/append'] = true,
  ['session/navigate'] = true,
  ['session/compact'] = true,
  ['session/fork'] = true,
  ['session/clone'] = true,
  ['session/label'] = true,
  ['session/rename'] = true,
  ['session/editContext'] = true,
}

--- Asks the daemon once more with these; with nil it is left.
---@alias pisession.Again fun(more: table?)

local ELSEWHERE = 'Another session is shown by now; nothing was changed.'

--- An act behind a dialog or a question: it is done only while the session that they are about is
--- shown, for the sidebar goes along to newer ones.
---@param sidebar pisession.Sidebar
---@param act fun(...)
---@param otherwise string? what is said elsewhere
---@return fun(...)
function M.bind(sidebar, act, otherwise)
  local session = sidebar.session
  return function(...)
    local now = sidebar.session
    if now == session or vim.deep_equal(now.wish, session.wish) then
      return act(...)
    elseif select('#', ...) == 0 or (...) ~= nil then
      -- Without an answer the question was left.
      sidebar:say(otherwise or ELSEWHERE)
    end
  end
end

--- The same for the keys of a dialog.
---@param sidebar pisession.Sidebar
---@param keys table<string, fun()>
---@return table<string, fun()>
function M.bind_keys(sidebar, keys)
  return vim.tbl_map(function(act)
    return M.bind(sidebar, act)
  end, keys)
end

--- What to ask the user about a refusal, and whether there is anything to ask. Each is given the
--- sidebar, the error, the method, and a function that asks the daemon once more.
---@type table<string, fun(...): boolean>
local QUESTIONS = {}

--- Several pi have the session open: which one is to do it?
function QUESTIONS.AmbiguousOwner(sidebar, err, _, again)
  local rows = sidebar.session:rows()
  local titles = {}
  for _, row in ipairs(rows) do
    titles[row.id] = row.title
  end
  vim.ui.select(err.data.choices or {}, {
    prompt = 'Several pi have this session open. Which one?',
    format_item = function(choice)
      local leaf = choice.leaf
      local id = type(leaf) == 'string' and standing.row_of(rows, leaf)
      return pis.choice(choice, id and titles[id])
    end,
  }, function(choice)
    again(choice and { pi = choice.pid })
  end)
  return true
end

--- The pi that has it open is at work: now is not the time, but later may be.
function QUESTIONS.Busy(_, err, method, again)
  if err.data.client ~= 'pi' or err.data.operation == 'pi does not answer' then
    return false
  elseif not WAITING[method] then
    return false
  end
  local asked = { prompt = 'pi is at work; nothing was changed.' }
  vim.ui.select({ 'Leave it', 'Do it when pi is idle' }, asked, function(choice)
    again(choice == 'Do it when pi is idle' and { whenIdle = true } or nil)
  end)
  return true
end

---@class pisession.Waiting
---@field cancel fun()
---@field is_prompt boolean
---@field is_told boolean?

--- Keeps what may wait for long, so that it can be taken back.
---@param sidebar pisession.Sidebar
---@param method string
---@param params table
---@param cancel fun()
---@return pisession.Waiting?
local function keep(sidebar, method, params, cancel)
  if method ~= 'session/prompt' and not params.whenIdle then
    return nil
  end
  local waiting = { cancel = cancel, is_prompt = method == 'session/prompt' }
  sidebar.session.waiting = waiting
  if params.whenIdle then
    sidebar:say('It waits until pi is idle; <C-c> takes it back.')
  end
  return waiting
end

--- Asks the daemon and says what it refuses; an answer goes on.
---@param sidebar pisession.Sidebar
---@param method string
---@param params table
---@param done fun(answer: table)?
---@param left fun()? nothing comes of it: it was refused, or left
---@return fun() cancel
function M.ask(sidebar, method, params, done, left)
  local session = sidebar.session
  left = left or function() end
  if session.is_closed or not session.handle then
    sidebar:say(
      session.is_closed and 'The sidebar is closed by now; nothing was changed.'
        or 'No session is open here; - lists those there are.'
    )
    left()
    return function() end
  end
  local waiting
  local cancel = session:request(method, params, function(err, answer)
    if waiting and session.waiting == waiting then
      session.waiting = nil
    end
    if not err then
      return done and done(answer)
    end
    local question = QUESTIONS[err.kind]
    local again = M.bind(sidebar, function(more)
      if not more then
        return left()
      end
      M.ask(sidebar, method, vim.tbl_extend('force', params, more), done, left)
    end)
    if not question or not question(sidebar, err, method, again) then
      require('pisession.refusals').say(sidebar, err)
      left()
    end
  end)
  waiting = keep(sidebar, method, params, cancel)
  return cancel
end

return M
