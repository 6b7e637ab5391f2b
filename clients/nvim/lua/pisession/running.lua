--- What is asked of a running pi: a prompt, a stop, reading what it missed.

local acts = require('pisession.acts')
local pis = require('pisession.pis')

local M = {}

local NONE = 'No running pi has this session open; gx goes on with it in one.'

--- Why no pi takes a prompt here; nil where one does.
---@param session pisession.Session
---@return string?
local function hindrance(session)
  local all = pis.of(session)
  if #all == 0 then
    return NONE
  elseif #pis.driven(session) == 0 then
    return ('pi is only watched: %s.'):format(pis.why(all[1]))
  end
end

---@param answer { queued: boolean }
---@param deliver 'steer'|'followUp'|nil
---@return string
local function taken_words(answer, deliver)
  if not answer.queued then
    return 'pi has it; its answer comes here.'
  end
  return deliver == 'steer' and 'pi has it for between its steps.' or 'pi has it for after its run.'
end

---@param sidebar pisession.Sidebar
---@param body string
---@param deliver 'steer'|'followUp'|nil
---@param done fun()?
local function send(sidebar, body, deliver, done)
  local params = { text = body, deliverAs = deliver }
  acts.ask(sidebar, 'session/prompt', params, function(answer)
    sidebar:say(taken_words(answer, deliver))
    sidebar:reveal('here')
    if done then
      done()
    end
  end)
end

--- Gives pi a prompt; while it is at work it is asked when it is to come.
---@param sidebar pisession.Sidebar
---@param body string
---@param deliver 'steer'|nil
---@param done fun()?
function M.send(sidebar, body, deliver, done)
  local session = sidebar.session
  local why = hindrance(session)
  if why then
    return sidebar:say(why)
  elseif vim.trim(body) == '' then
    return sidebar:say('An empty prompt is not sent.')
  elseif session.waiting and session.waiting.is_prompt then
    return sidebar:say('A prompt is on its way already; <C-c> takes it back.')
  elseif deliver or #pis.at_work(session) == 0 then
    return send(sidebar, body, deliver, done)
  end
  local asked = { prompt = 'pi is at work. When is it to have this?' }
  local times = { 'After its run', 'Now, between its steps' }
  local function chosen(choice)
    if choice then
      send(sidebar, body, choice == times[1] and 'followUp' or 'steer', done)
    end
  end
  vim.ui.select(times, asked, acts.bind(sidebar, chosen))
end

---@param sidebar pisession.Sidebar
---@param words string[]
---@param to 'pi'|'steer'
local function send_or_open(sidebar, words, to)
  local why = hindrance(sidebar.session)
  if why then
    return sidebar:say(why)
  elseif #words > 0 then
    return M.send(sidebar, table.concat(words, ' '), to == 'steer' and to or nil)
  end
  require('pisession.prompting').open(sidebar, '', to)
end

--- Prompts pi with words, or opens the prompt for it.
---@param sidebar pisession.Sidebar
---@param words string[]
function M.prompt(sidebar, _, words)
  send_or_open(sidebar, words, 'pi')
end

--- Steers pi with words, or opens the prompt for it.
---@param sidebar pisession.Sidebar
---@param words string[]
function M.steer(sidebar, _, words)
  send_or_open(sidebar, words, 'steer')
end

---@param way table
---@return string
local function words_of(way)
  return way[1]
end

--- Opens the prompt; where a pi could have it, after asking whom it is for.
---@param sidebar pisession.Sidebar
function M.choose(sidebar)
  local session = sidebar.session
  local open = require('pisession.prompting').open
  if hindrance(session) then
    return open(sidebar, '', 'append')
  end
  local ways = { { 'Prompt pi', 'pi' } }
  if #pis.at_work(session) > 0 then
    ways[2] = { 'Steer pi: it has it between its steps', 'steer' }
  end
  ways[#ways + 1] = { 'Append a message, without an answer', 'append' }
  local asked = { prompt = 'A message', format_item = words_of }
  local function chosen(way)
    if way then
      open(sidebar, '', way[2])
    end
  end
  vim.ui.select(ways, asked, acts.bind(sidebar, chosen))
end

---@param sidebar pisession.Sidebar
---@param one pisession.Pi
local function abort(sidebar, one)
  acts.ask(sidebar, 'session/abort', { pi = one.pid }, function()
    sidebar:say('pi was told to stop.')
  end)
end

--- Ends what runs: what waits for pi is taken back, an operation is cancelled, and a pi's own run
--- is stopped after a question.
---@param sidebar pisession.Sidebar
function M.stop(sidebar)
  local session = sidebar.session
  local working = pis.at_work(session)
  if session.waiting then
    return session.waiting.cancel()
  elseif #working == 0 then
    if not session.operation then
      return sidebar:say('Nothing runs here.')
    end
    return acts.ask(sidebar, 'session/cancel', {})
  end
  local ways = { { 'Let it go on' } }
  if session.operation then
    local doing = require('pisession.header').operation(session.operation)
    ways[2] = {
      'Cancel: ' .. doing,
      function()
        acts.ask(sidebar, 'session/cancel', {})
      end,
    }
  end
  for _, one in ipairs(working) do
    local name = pis.name(one, pis.of(session))
    ways[#ways + 1] = {
      ('Stop %s, which is %s'):format(name, pis.doing(one)),
      function()
        abort(sidebar, one)
      end,
    }
  end
  local asked = { prompt = 'What runs here', format_item = words_of }
  local function chosen(way)
    if way and way[2] then
      way[2]()
    end
  end
  vim.ui.select(ways, asked, acts.bind(sidebar, chosen))
end

--- Lets each pi read what others wrote to its file.
---@param sidebar pisession.Sidebar
function M.let_read(sidebar)
  local behind = pis.behind(sidebar.session)
  if #behind == 0 then
    local is_any = #pis.of(sidebar.session) > 0
    return sidebar:say(is_any and 'pi has read all there is.' or NONE)
  end
  for _, one in ipairs(behind) do
    acts.ask(sidebar, 'session/reread', { pi = one.pid }, function()
      sidebar:say('pi has read what it missed.')
    end)
  end
end

return M
