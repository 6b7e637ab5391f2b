--- Where, then how: what each way of going somewhere would do, in numbers, the harmless one first.

local acts = require('pisession.acts')
local float = require('pisession.float')
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

--- Where one would stand, and what comes along.
---@param row pisession.Row
---@param preview table
---@return string[]
local function where_lines(row, preview)
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
  if preview.outside then
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
---@return string[]
function M.lines(row, preview, is_summary_offered)
  local lines = where_lines(row, preview)
  lines[#lines + 1] = (' > h  here              context %s → %s'):format(
    text.size(preview.sizeNow),
    text.size(preview.sizeAfter)
  )
  if is_summary_offered then
    vim.list_extend(lines, summary_lines(preview))
  end
  lines[#lines + 1] = '   f  as a fork         new session '
    .. (preview.returnsText and 'before this message' or 'up to here')
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

--- Goes to a row's entry, if the leaf is still where it was seen.
---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param from string? the leaf as it was seen
---@param extra table?
local function go(sidebar, row, from, extra)
  local params = { target = row.entry or vim.NIL, baseLeaf = from or vim.NIL }
  params = vim.tbl_extend('force', params, extra or {})
  acts.ask(sidebar, 'session/navigate', params, function(answer)
    went(sidebar, from, row, answer)
  end)
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param from string?
local function with_focus(sidebar, row, from)
  vim.ui.input({ prompt = 'What the summary is to look at: ' }, function(focus)
    if focus and focus ~= '' then
      go(sidebar, row, from, { summarize = true, customInstructions = focus })
    end
  end)
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param preview table
---@param is_summary_offered boolean
---@return table<string, fun()>
local function keys_of(sidebar, row, preview, is_summary_offered)
  local from, keys = sidebar.session.info.leaf, {}
  local function way(extra)
    return function()
      go(sidebar, row, from, extra)
    end
  end
  keys.h, keys['<CR>'] = way(), way()
  function keys.f()
    M.fork(sidebar, row)
  end
  function keys.d()
    require('pisession.comparing').with_leaf(sidebar, row)
  end
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
  acts.ask(sidebar, 'session/navigate', params, function(answer)
    local preview = answer.preview
    local is_offered = not sidebar.session.info.skipBranchPrompt
    local _, buffer = float.open(M.lines(row, preview, is_offered), {
      title = title_of(row),
      keys = keys_of(sidebar, row, preview, is_offered),
    })
    float.mark_keys(buffer)
  end)
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
local function forked(sidebar, answer)
  sidebar:say('The fork is made; - lists it under this session.')
  vim.ui.select({ 'Stay here', 'Open the fork' }, { prompt = 'The fork is made.' }, function(choice)
    if choice ~= 'Open the fork' then
      return
    end
    sidebar:switch({ session = answer.session })
    if answer.editorText then
      require('pisession.prompting').open(sidebar, answer.editorText)
    end
  end)
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.fork(sidebar, row)
  if not row or not row.entry then
    return sidebar:say('This row stands for no entry a fork could begin at.')
  end
  local params = { entry = row.entry, position = row.kind == 'user' and 'before' or 'at' }
  acts.ask(sidebar, 'session/fork', params, function(answer)
    forked(sidebar, answer)
  end)
end

---@param sidebar pisession.Sidebar
function M.clone(sidebar)
  acts.ask(sidebar, 'session/clone', {}, function(answer)
    forked(sidebar, answer)
  end)
end

return M
