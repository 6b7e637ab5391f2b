--- Where, then how: what each way of going somewhere would do, in numbers, the harmless one first.

local acts = require('pisession.acts')
local float = require('pisession.float')
local text = require('pisession.text')

local M = {}

local function figure(size)
  local tilde = size.source == 'measured' and '' or '~'
  local percent = size.percent and (' ' .. tilde .. text.percent(size.percent)) or ''
  return tilde .. text.tokens(size.tokens) .. percent
end

local function many(count, one, more)
  return ('%d %s'):format(count, count == 1 and one or more)
end

local function age(iso)
  local seconds = os.time() - (text.epoch(iso) or os.time())
  return seconds < 90 and 'just now' or ('%d min ago'):format(math.floor(seconds / 60))
end

--- The lines of the how-dialog; each is there only when it is true.
---@param row table
---@param preview table
---@return string[]
function M.lines(row, preview)
  local lines = {}
  if preview.returnsText then
    lines[#lines + 1] = ' Its text goes to the prompt, to be changed and sent again.'
  elseif row.kind == 'answer' then
    lines[#lines + 1] = ' You go on after this answer.'
  elseif row.kind == 'alternative' or row.kind == 'ahead' then
    lines[#lines + 1] = ' You go on at its end.'
  end
  local left = preview.leaves
  if left.entries > 0 then
    local turns = left.turns > 0 and (' (%s)'):format(many(left.turns, 'turn', 'turns')) or ''
    local are = left.entries == 1 and ' is left; it stays' or ' are left; they stay'
    lines[#lines + 1] = (' %s%s%s in the tree. Files are not undone.'):format(
      many(left.entries, 'entry', 'entries'),
      turns,
      are
    )
  end
  if preview.outside then
    lines[#lines + 1] = (' pi wrote here %s: a pi in a terminal will not follow; f is safer.'):format(
      age(preview.outside)
    )
  end
  lines[#lines + 1] = (' > h  here              context %s → %s'):format(
    figure(preview.sizeNow),
    figure(preview.sizeAfter)
  )
  if preview.summary then
    local cost = preview.summary.cost and (', about $%.2f'):format(preview.summary.cost) or ''
    lines[#lines + 1] = ('   s  with summary      the %s summarised first, %s in%s'):format(
      many(left.entries, 'entry is', 'entries are'),
      text.tokens(preview.summary.tokensIn),
      cost
    )
    lines[#lines + 1] = '   o  with summary and my own focus…'
  elseif left.entries > 0 then
    lines[#lines + 1] = '   s  with summary      nobody is set up to write it; e has it extracted'
    lines[#lines + 1] = '   e  with an extract   made from the messages, without a model'
  end
  lines[#lines + 1] = '   f  as a fork         new session '
    .. (preview.returnsText and 'before this message' or 'up to here')
  lines[#lines + 1] = '   d  compare with the leaf first                          Esc  nothing'
  return lines
end

local function went(sidebar, from, target, answer)
  if answer.editorText then
    require('pisession.prompting').open(sidebar, answer.editorText)
    vim.api.nvim_set_current_win(sidebar.window)
  end
  acts.remember(
    sidebar,
    answer,
    'session/navigate',
    { target = from or vim.NIL, exact = true },
    'Back where you were.'
  )
  sidebar:reveal('here')
  sidebar:say(('Moved to %s, u undoes.'):format(target))
end

---@param sidebar pisession.Sidebar
---@param row table
---@param extra table?
function M.go(sidebar, row, extra)
  local from = sidebar.session.info.leaf
  local params = vim.tbl_extend(
    'force',
    { target = row.entry or vim.NIL, baseLeaf = from or vim.NIL },
    extra or {}
  )
  acts.ask(sidebar, 'session/navigate', params, function(answer)
    went(sidebar, from, text.cut(text.clean(row.title), 40, '…'), answer)
  end)
end

local function with_focus(sidebar, row)
  vim.ui.input({ prompt = 'What the summary is to look at: ' }, function(focus)
    if focus and focus ~= '' then
      M.go(sidebar, row, { summarize = true, customInstructions = focus })
    end
  end)
end

--- Asks how to go to a row's entry.
---@param sidebar pisession.Sidebar
---@param row table
function M.navigate(sidebar, row)
  if not row.entry then
    return
  elseif row.entry == sidebar.session.info.leaf then
    return sidebar:say('You are here already.')
  end
  acts.ask(sidebar, 'session/navigate', { target = row.entry, dryRun = true }, function(answer)
    local lines = M.lines(row, answer.preview)
    local clock = text.clock(row.time)
    local title = ('Navigate to  %s %s'):format(
      text.cut(text.clean(row.title), 50, '…'),
      clock or ''
    )
    local function go(extra)
      return function()
        M.go(sidebar, row, extra)
      end
    end
    local keys = {
      h = go(),
      ['<CR>'] = go(),
      f = function()
        M.fork(sidebar, row)
      end,
      d = function()
        require('pisession.comparing').with_leaf(sidebar, row)
      end,
    }
    if answer.preview.summary then
      keys.s = go({ summarize = true })
      keys.o = function()
        with_focus(sidebar, row)
      end
    elseif answer.preview.leaves.entries > 0 then
      keys.e = go({ summarize = true, summarizer = 'extract' })
    end
    local _, buffer = float.open(lines, { title = title, keys = keys })
    float.mark_keys(buffer)
  end)
end

--- Goes to an entry by its id, without a question: for commands.
function M.navigate_to(sidebar, row, words)
  if words[1] then
    return M.go(sidebar, { entry = words[1], title = words[1] })
  elseif row then
    M.navigate(sidebar, row)
  end
end

local function forked(sidebar, answer)
  sidebar:say(('Forked as %s; - lists it.'):format(text.cut(answer.session, 12, '…')))
  if answer.editorText then
    sidebar.fork_text = answer.editorText
  end
  vim.ui.select({ 'Stay here', 'Open the fork' }, { prompt = 'The fork is made.' }, function(choice)
    if choice == 'Open the fork' then
      sidebar:switch({ session = answer.session })
      if answer.editorText then
        require('pisession.prompting').open(sidebar, answer.editorText)
      end
    end
  end)
end

---@param sidebar pisession.Sidebar
---@param row table?
function M.fork(sidebar, row)
  if not row or not row.entry then
    return sidebar:say('This row stands for no entry a fork could begin at.')
  end
  local position = row.kind == 'user' and 'before' or 'at'
  acts.ask(sidebar, 'session/fork', { entry = row.entry, position = position }, function(answer)
    forked(sidebar, answer)
  end)
end

function M.clone(sidebar)
  acts.ask(sidebar, 'session/clone', {}, function(answer)
    forked(sidebar, answer)
  end)
end

return M
