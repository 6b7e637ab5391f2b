--- Where, then how: what each way of going somewhere would do, in numbers, the harmless one first.

local acts = require('pisession.acts')
local attention = require('pisession.attention')
local float = require('pisession.float')
local pis = require('pisession.pis')
local text = require('pisession.text')

local M = {}

--- Cells of a row's title where it is quoted.
local TITLE = 50

---@param iso string
---@return string
local function age(iso)
  local seconds = os.time() - (text.epoch(iso) or os.time())
  return seconds < 90 and 'just now' or ('%d min ago'):format(math.floor(seconds / 60))
end

--- What can be done about a move with the pi that have the session open.
---@class pisession.Company
---@field count integer
---@field is_driven boolean one of them can be moved
---@field is_busy boolean the only one is at work
---@field sentence string? whether it follows, or why not

---@param session pisession.Session
---@return pisession.Company
function M.company(session)
  local all, driven = pis.of(session), pis.driven(session)
  local company = { count = #all, is_driven = #driven > 0, is_busy = false }
  local one = all[1]
  if #all > 1 then
    company.sentence = ('%d pi have it open; you are asked which one is to go.'):format(#all)
  elseif one and not one.drives then
    company.sentence = ('pi does not follow, and nothing else may move it: %s.'):format(
      pis.why(one)
    )
  elseif one and one.state == 'stalled' then
    company.sentence = 'pi does not answer now; look at its terminal.'
  elseif one then
    company.is_busy = one.state ~= 'idle'
    company.sentence = company.is_busy
        and ('pi is %s; it goes there when it is idle.'):format(pis.doing(one))
      or 'pi follows in its terminal.'
  end
  return company
end

--- Where one would stand, and what comes along.
---@param row pisession.Row
---@param preview table
---@param company pisession.Company
---@return string[]
local function where_lines(row, preview, company)
  local lines, left = {}, preview.leaves
  if preview.returnsText then
    lines[1] = ' Its text goes to the prompt, to be changed and sent again.'
  elseif row.kind == 'answer' then
    lines[1] = ' You go on after this answer.'
  elseif row.kind == 'alternative' or row.kind == 'ahead' then
    lines[1] = ' You go on at its end.'
  end
  if left.entries > 0 then
    local turns = left.turns > 0 and (' (%s)'):format(text.many(left.turns, 'turn', 'turns')) or ''
    local are = left.entries == 1 and 'is left; it stays' or 'are left; they stay'
    local entries = text.many(left.entries, 'entry', 'entries')
    lines[#lines + 1] = (' %s%s %s in the tree. Files are not undone.'):format(entries, turns, are)
  end
  if company.sentence then
    lines[#lines + 1] = ' ' .. company.sentence
  elseif preview.outside then
    lines[#lines + 1] = (' pi wrote here %s: a pi in a terminal will not follow; f is safer.'):format(
      age(preview.outside)
    )
  end
  return lines
end

---@param preview table
---@return string[]
local function summary_lines(preview)
  local left, forecast = preview.leaves, preview.summary
  if forecast then
    local cost = forecast.cost and (', about $%.2f'):format(forecast.cost) or ''
    return {
      ('   s  with summary      the %s summarised first, %s in%s'):format(
        text.many(left.entries, 'entry is', 'entries are'),
        text.tokens(forecast.tokensIn),
        cost
      ),
      '   o  with summary and my own focus…',
    }
  elseif left.entries > 0 then
    return { '   e  with an extract   made from the messages: nobody is set up to summarise' }
  end
  return {}
end

--- The lines of the how-dialog; each is there only when it is true.
---@param row pisession.Row
---@param preview table
---@param is_summary_offered boolean
---@param company pisession.Company
---@return string[]
function M.lines(row, preview, is_summary_offered, company)
  local lines = where_lines(row, preview, company)
  local is_fixed = company.count > 0 and not company.is_driven
  if not is_fixed then
    lines[#lines + 1] = (' > %s context %s → %s'):format(
      company.is_busy and 'w  when pi is idle  ' or 'h  here             ',
      text.size(preview.sizeNow),
      text.size(preview.sizeAfter)
    )
    if is_summary_offered then
      vim.list_extend(lines, summary_lines(preview))
    end
  end
  lines[#lines + 1] = (is_fixed and ' > ' or '   ')
    .. 'f  as a fork         new session '
    .. (preview.returnsText and 'before this message' or 'up to here')
  if company.is_driven then
    lines[#lines + 1] = '   t  as a fork, and pi goes there'
      .. (company.is_busy and ' when it is idle' or '')
  end
  lines[#lines + 1] = '   d  compare with the leaf first                          Esc  nothing'
  return lines
end

---@param sidebar pisession.Sidebar
---@param from string?
---@param row pisession.Row
---@param answer table
local function went(sidebar, from, row, answer)
  local back = { target = from or vim.NIL, exact = true }
  acts.remember(sidebar, answer, {
    { method = 'session/navigate', params = back },
  }, 'Back where you were.')
  sidebar:reveal('here')
  sidebar:say(('Moved to %s, u undoes.'):format(text.cut(text.clean(row.title), 40, '…')))
  if answer.editorText then
    -- Last, for it may ask, and the tree is to be seen as it is then.
    sidebar:redraw()
    require('pisession.prompting').open(sidebar, answer.editorText)
  end
end

--- Goes to a row's entry, if the leaf is still where it was seen. A pi that is waited for moves
--- it until it is idle.
---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param from string? the leaf as it was seen
---@param extra table?
local function go(sidebar, row, from, extra)
  local params = vim.tbl_extend('force', { target = row.entry or vim.NIL }, extra or {})
  if not params.whenIdle then
    params.baseLeaf = from or vim.NIL
  end
  acts.ask(sidebar, 'session/navigate', params, function(answer)
    went(sidebar, params.whenIdle and sidebar.session.left or from, row, answer)
  end)
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param from string?
local function with_focus(sidebar, row, from)
  local function given(focus)
    if focus and focus ~= '' then
      go(sidebar, row, from, { summarize = true, customInstructions = focus })
    end
  end
  vim.ui.input({ prompt = 'What the summary is to look at: ' }, acts.bind(sidebar, given))
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param preview table
---@param is_summary_offered boolean
---@param company pisession.Company
---@return table<string, fun()>
local function keys_of(sidebar, row, preview, is_summary_offered, company)
  local from, keys = sidebar.session.info.leaf, {}
  local later = company.is_busy and { whenIdle = true } or nil
  local function way(extra)
    return function()
      go(sidebar, row, from, vim.tbl_extend('force', later or {}, extra or {}))
    end
  end
  function keys.f()
    M.fork_from(sidebar, row)
  end
  function keys.d()
    require('pisession.comparing').with_leaf(sidebar, row)
  end
  if company.is_driven then
    function keys.t()
      M.fork_from(sidebar, row, vim.tbl_extend('force', later or {}, { takePi = true }))
    end
  elseif company.count > 0 then
    keys['<CR>'] = keys.f
    return keys
  end
  keys['<CR>'] = way()
  keys[later and 'w' or 'h'] = keys['<CR>']
  if is_summary_offered and preview.summary then
    keys.s = way({ summarize = true })
    function keys.o()
      with_focus(sidebar, row, from)
    end
  elseif is_summary_offered and preview.leaves.entries > 0 then
    keys.e = way({ summarize = true, summarizer = 'extract' })
  end
  return keys
end

---@param row pisession.Row
---@return string
local function title_of(row)
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  local role = glyphs.roles[row.kind] and glyphs.roles[row.kind] .. ' ' or ''
  local title = text.cut(text.clean(row.title), TITLE, glyphs.cut)
  return ('Navigate to  %s%s  %s'):format(role, title, text.clock(row.time) or '')
end

--- Asks how to go to a row's entry.
---@param sidebar pisession.Sidebar
---@param row pisession.Row
function M.navigate(sidebar, row)
  if not row.entry then
    return
  elseif row.entry == sidebar.session.info.leaf and row.kind ~= 'user' then
    return sidebar:say('You are here already.')
  end
  local params = { target = row.entry, dryRun = true }
  local function show(answer)
    local preview = answer.preview
    local is_offered = not sidebar.session.info.skipBranchPrompt
    local company = M.company(sidebar.session)
    local _, buffer = float.open(M.lines(row, preview, is_offered, company), {
      title = title_of(row),
      keys = acts.bind_keys(sidebar, keys_of(sidebar, row, preview, is_offered, company)),
    })
    float.mark_keys(buffer)
  end
  acts.ask(sidebar, 'session/navigate', params, attention.keep(sidebar, show))
end

--- Goes to an entry by its id, without a question: for commands.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
---@param words string[]
function M.navigate_to(sidebar, row, words)
  if words[1] then
    local named = { entry = words[1], title = words[1] } --[[@as pisession.Row]]
    return go(sidebar, named, sidebar.session.info.leaf)
  elseif row then
    M.navigate(sidebar, row)
  end
end

---@param sidebar pisession.Sidebar
---@param answer table
local function open_fork(sidebar, answer)
  sidebar:switch({ session = answer.session })
  if answer.editorText then
    require('pisession.prompting').open(sidebar, answer.editorText)
  end
end

---@param sidebar pisession.Sidebar
---@param answer table
local function forked(sidebar, answer)
  sidebar:say('The fork is made; - lists it under this session.')
  vim.ui.select({ 'Stay here', 'Open the fork' }, { prompt = 'The fork is made.' }, function(choice)
    if choice == 'Open the fork' then
      open_fork(sidebar, answer)
    end
  end)
end

--- Shows the fork that pi was to go to; where pi stayed, why.
---@param sidebar pisession.Sidebar
---@param answer table
local function taken_along(sidebar, answer)
  if answer.piStayed then
    sidebar:say('The fork is made, pi stays: ' .. answer.piStayed)
  else
    open_fork(sidebar, answer)
    sidebar:say('The fork is made, and pi is in it.')
  end
end

--- Makes a fork that begins at a row.
---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param extra { takePi: boolean?, whenIdle: boolean? }?
function M.fork_from(sidebar, row, extra)
  local params = { entry = row.entry, position = row.kind == 'user' and 'before' or 'at' }
  params = vim.tbl_extend('force', params, extra or {})
  acts.ask(sidebar, 'session/fork', params, function(answer)
    local show = params.takePi and taken_along or forked
    show(sidebar, answer)
  end)
end

--- The same; where a pi could come along, after asking whether it is to.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.fork(sidebar, row)
  if not row or not row.entry then
    return sidebar:say('This row stands for no entry a fork could begin at.')
  elseif #pis.driven(sidebar.session) == 0 then
    return M.fork_from(sidebar, row)
  end
  local ways = { 'Fork; pi stays where it is', 'Fork, and pi goes there' }
  local function chosen(choice)
    if choice then
      M.fork_from(sidebar, row, choice == ways[2] and { takePi = true } or nil)
    end
  end
  vim.ui.select(ways, { prompt = 'pi has this session open.' }, acts.bind(sidebar, chosen))
end

---@param sidebar pisession.Sidebar
function M.clone(sidebar)
  acts.ask(sidebar, 'session/clone', {}, function(answer)
    forked(sidebar, answer)
  end)
end

return M
