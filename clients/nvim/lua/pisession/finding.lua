--- Searching in the session, folded rows and bodies included, and finding a branch by its words.

local acts = require('pisession.acts')
local rpc = require('pisession.rpc')
local text = require('pisession.text')

local M = {}

--- Goes to the hit at hand, or past those that have no row under this filter: names, settings.
---@param sidebar pisession.Sidebar
---@param by 1|-1
---@param passed integer? hits that were passed
local function go_to_hit(sidebar, by, passed)
  local session = sidebar.session
  local search = session.search
  local hit = search.hits[search.at]
  passed = passed or 0
  session.folds = vim.deepcopy(search.folds)
  sidebar:reveal(hit.entry, function(row)
    if row or session.search ~= search then
      return
    elseif passed + 1 == #search.hits then
      return sidebar:say('What says so has no row under this filter; gF chooses another.')
    end
    search.at = (search.at - 1 + by) % #search.hits + 1
    go_to_hit(sidebar, by, passed + 1)
  end)
end

local function start(sidebar, query)
  local session = sidebar.session
  rpc.request(
    'session/search',
    { query = query, session = session.handle, limit = 100 },
    function(err, answer)
      if err then
        return require('pisession.refusals').say(sidebar, err)
      elseif #answer.hits == 0 then
        session.search = nil
        return sidebar:say(('Nothing here says %s.'):format(query))
      end
      local folds = session.search and session.search.folds or vim.deepcopy(session.folds)
      session.search = { query = query, hits = answer.hits, at = 1, folds = folds }
      go_to_hit(sidebar, 1)
    end
  )
end

function M.search(sidebar, _, words)
  if #words > 0 then
    return start(sidebar, table.concat(words, ' '))
  end
  vim.ui.input({ prompt = 'Search in session: ' }, function(query)
    if query and query ~= '' then
      start(sidebar, query)
    elseif query == '' and sidebar.session.search then
      M.stop(sidebar)
    end
  end)
end

--- Ends the search and closes the folds it opened.
function M.stop(sidebar)
  local session = sidebar.session
  session.folds, session.search = session.search.folds, nil
  sidebar:redraw_soon()
end

local function step(sidebar, by, key)
  local search = sidebar.session.search
  if not sidebar.session.handle then
    return key == 'n' and require('pisession.sessions').new(sidebar)
  elseif not search then
    -- Without a search of the session these are Neovim's own.
    return vim.api.nvim_feedkeys(key, 'n', false)
  end
  search.at = (search.at - 1 + by) % #search.hits + 1
  go_to_hit(sidebar, by)
end

function M.next_hit(sidebar)
  step(sidebar, 1, 'n')
end

function M.previous_hit(sidebar)
  step(sidebar, -1, 'N')
end

local function branch_line(one)
  local clock, date, day = text.clock(one.time)
  local when = day == os.date('%Y-%m-%d') and clock or date
  local size = one.size and text.tokens(one.size.tokens) or ''
  local label = one.label and ('[%s] '):format(text.clean(one.label)) or ''
  local first = text.cut(text.clean(one.first), 40, '…')
  local last = text.cut(text.clean(one.last), 30, '…')
  return ('%s%s … %s  (%d entries, %s, %s)'):format(
    label,
    first,
    last,
    one.entries,
    when or '',
    size
  )
end

--- Picks a branch by its label, first or last text, and goes to its row.
function M.find_branch(sidebar)
  acts.ask(sidebar, 'session/branches', { limit = 500 }, function(answer)
    vim.ui.select(
      answer.branches,
      { prompt = 'Find branch', format_item = branch_line },
      acts.bind(sidebar, function(one)
        if one then
          sidebar:reveal(one.entry)
        end
      end)
    )
  end)
end

return M
