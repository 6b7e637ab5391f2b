--- Compaction: its dry run first, then written, reviewed, or left.

local acts = require('pisession.acts')
local attention = require('pisession.attention')
local float = require('pisession.float')
local header = require('pisession.header')
local text = require('pisession.text')
local windows = require('pisession.window')

local M = {}

--- Cells of a line whose right end is a figure.
local WIDTH = 72
--- Turns and rows that are named.
local TURNS, KEPT = 5, 3

---@return pisession.Glyphs
local function glyphs()
  return require('pisession.glyphs').choose(require('pisession.config').get().icons)
end

---@param left string
---@param right string
---@return string
local function line(left, right)
  local room = WIDTH - text.width(right) - 1
  return text.fill(text.cut(left, room, glyphs().cut), room) .. ' ' .. right
end

---@param tokens integer
---@param size pisession.ContextSize?
---@param is_measured boolean
---@return string
local function figure(tokens, size, is_measured)
  local window = size and size.window
  local counted = {
    tokens = tokens,
    percent = window and tokens * 100 / window,
    window = window,
    dueAt = size and size.dueAt,
    source = is_measured and 'measured' or 'estimated',
  }
  local bar = window and header.bar(counted, 10, glyphs(), true) .. ' ' or ''
  return bar .. text.size(counted)
end

---@class pisession.Stretch
---@field rows pisession.Row[] of the main line
---@field tokens integer
---@field times string

--- What the main line's rows say of some entries.
---@param rows pisession.Row[]
---@param ids string[]
---@return pisession.Stretch
local function stretch_of(rows, ids)
  local wanted, found, tokens = {}, {}, 0
  for _, id in ipairs(ids) do
    wanted[id] = true
  end
  for _, row in ipairs(rows) do
    if
      row.level == nil
      and wanted[row.first]
      and row.kind ~= 'alternative'
      and row.kind ~= 'group'
    then
      found[#found + 1] = row
      tokens = tokens + (row.tokens or 0)
    end
  end
  local first, last = text.clock((found[1] or {}).time), text.clock((found[#found] or {}).time)
  local times = first and last and (', %s–%s'):format(first, last) or ''
  return { rows = found, tokens = tokens, times = times }
end

--- A line for each turn that is summarised, with its tokens.
---@param stretch pisession.Stretch
---@return string[]
local function turn_lines(stretch)
  local turns = {}
  for _, row in ipairs(stretch.rows) do
    if row.kind == 'user' then
      turns[#turns + 1] = { title = text.clean(row.title), tokens = 0 }
    end
    if #turns > 0 then
      turns[#turns].tokens = turns[#turns].tokens + (row.tokens or 0)
    end
  end
  local lines = {}
  for at = 1, math.min(#turns, TURNS) do
    local title = ('   %s %s'):format(glyphs().roles.user, turns[at].title)
    lines[at] = line(title, '~' .. text.tokens(turns[at].tokens))
  end
  if #turns > TURNS then
    lines[#lines + 1] = ('   … %s'):format(text.many(#turns - TURNS, 'more turn', 'more turns'))
  end
  return lines
end

---@param stretch pisession.Stretch
---@return string[]
local function kept_lines(stretch)
  local lines = {}
  for at = math.max(#stretch.rows - KEPT + 1, 1), #stretch.rows do
    local row = stretch.rows[at]
    local role = glyphs().roles[row.kind] or ' '
    lines[#lines + 1] =
      text.cut(('   %s %s'):format(role, text.clean(row.title)), WIDTH, glyphs().cut)
  end
  return lines
end

---@param preview table
---@return string
local function cut_line(preview)
  local arm = glyphs().arm
  local where = preview.isSplitTurn and 'cut, inside a turn: its beginning is summarised apart'
    or 'cut'
  local words = (' %s%s %s '):format(arm, arm, where)
  return words .. arm:rep(WIDTH - text.width(words))
end

---@param preview table
---@return string[]
local function writer_lines(preview)
  local forecast = preview.forecast
  local files = (' files in the summary: %d read, %d modified'):format(
    #preview.readFiles,
    #preview.modifiedFiles
  )
  if forecast then
    local cost = forecast.cost and (', about $%.2f'):format(forecast.cost) or ''
    local who = text.clean((forecast.model or forecast.summarizer):gsub('^[^/]*/', ''))
    return {
      ('%s · by %s: %s in%s'):format(files, who, text.tokens(forecast.tokensIn), cost),
      ' w write   r review first   o own instructions   v view input   q quit',
    }
  end
  local lines = { files }
  for _, sentence in ipairs(vim.split(preview.noSummarizer or '', '\n')) do
    lines[#lines + 1] = ' ' .. text.clean(sentence)
  end
  lines[#lines + 1] = ' e extract, without a model   v view input   q quit'
  return lines
end

--- The lines of the dry run.
---@param preview table
---@param size pisession.ContextSize?
---@param rows pisession.Row[]
---@return string[]
function M.lines(preview, size, rows)
  local gone = stretch_of(rows, preview.summarised)
  local kept = stretch_of(rows, preview.kept)
  local due = size and size.dueAt and 'automatic compaction at ' .. text.tokens(size.dueAt) or ''
  local is_measured = size ~= nil and size.measured ~= nil
  local lines = {
    line(' now    ' .. figure(preview.tokensBefore, size, is_measured), due),
    (' after  %s and the summary, at most %s'):format(
      figure(preview.tokensAfter, size, false),
      text.tokens(preview.summaryAtMost)
    ),
    line(
      (' summarised, %s%s'):format(text.many(#preview.summarised, 'entry', 'entries'), gone.times),
      '~' .. text.tokens(gone.tokens)
    ),
  }
  vim.list_extend(lines, turn_lines(gone))
  lines[#lines + 1] = cut_line(preview)
  lines[#lines + 1] = line(
    (' kept, %s%s'):format(text.many(#preview.kept, 'entry', 'entries'), kept.times),
    '~' .. text.tokens(preview.tokensKept)
  )
  vim.list_extend(lines, kept_lines(kept))
  if preview.previousSummary then
    lines[#lines + 1] = ' the earlier summary is brought up to date'
  end
  return vim.list_extend(lines, writer_lines(preview))
end

---@param sidebar pisession.Sidebar
---@param answer table
local function done(sidebar, answer)
  local size = sidebar.session.size
  local window = size and size.window
  local function shown(tokens)
    return window and text.percent(tokens * 100 / window) or text.tokens(tokens)
  end
  if answer.tokensBefore and answer.tokensAfter then
    sidebar:say(
      ('Compacted, %s → ~%s.'):format(shown(answer.tokensBefore), shown(answer.tokensAfter))
    )
  else
    sidebar:say('Compacted.')
  end
end

--- Has a summary written, or takes one, and stores it.
---@param sidebar pisession.Sidebar
---@param params table
---@param stored fun()?
function M.write(sidebar, params, stored)
  acts.ask(sidebar, 'session/compact', params, function(answer)
    done(sidebar, answer)
    if stored then
      stored()
    end
  end)
end

---@param name string
---@param lines string[]
---@param title string
---@return integer buffer
local function open_text(name, lines, title)
  local buffer = vim.api.nvim_create_buf(false, true)
  pcall(vim.api.nvim_buf_set_name, buffer, ('%s://%d'):format(name, buffer))
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.cmd('tab sbuffer ' .. buffer)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].filetype = 'markdown'
  windows.set(0, 'winbar', ' ' .. title)
  windows.set(0, 'wrap', true)
  return buffer
end

--- Has the summary written, and stores it only once it was looked at and saved.
---@param sidebar pisession.Sidebar
function M.review(sidebar)
  local function show_summary(answer)
    local lines = vim.split(answer.summary, '\n')
    local title = 'Summary: :w compacts with it, :q! leaves everything as it is'
    local buffer = open_text('pisession-summary', lines, title)
    vim.bo[buffer].buftype = 'acwrite'
    vim.bo[buffer].modified = false
    vim.api.nvim_create_autocmd('BufWriteCmd', {
      buffer = buffer,
      callback = acts.bind(sidebar, function()
        local summary = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
        M.write(sidebar, { summary = summary, draft = answer.draft }, function()
          pcall(vim.api.nvim_buf_delete, buffer, { force = true })
        end)
      end),
    })
  end
  local sentence = 'The summary is written; it opens once you are in the sidebar.'
  local keep = attention.keep_for(sidebar, show_summary, sentence)
  acts.ask(sidebar, 'session/compact', { dryRun = 'summary' }, keep)
end

---@param sidebar pisession.Sidebar
local function view_input(sidebar)
  local function show_input(answer)
    local lines = {}
    for _, input in ipairs(answer.preview.inputs or {}) do
      lines[#lines + 1] = '# ' .. input.kind
      vim.list_extend(lines, require('pisession.entries').lines(input.text))
      lines[#lines + 1] = ''
    end
    local buffer = open_text('pisession-input', lines, 'What the summarizer would read; q closes')
    vim.bo[buffer].modifiable = false
    vim.keymap.set('n', 'q', vim.cmd.tabclose, { buffer = buffer, desc = 'close the input' })
  end
  local params = { dryRun = true, withInput = true }
  acts.ask(sidebar, 'session/compact', params, attention.keep(sidebar, show_input))
end

---@param sidebar pisession.Sidebar
local function with_instructions(sidebar)
  local function write(given)
    if given and given ~= '' then
      M.write(sidebar, { customInstructions = given })
    end
  end
  vim.ui.input({ prompt = 'Instructions for the summary: ' }, acts.bind(sidebar, write))
end

---@param sidebar pisession.Sidebar
---@param preview table
---@return table<string, fun()>
local function keys_of(sidebar, preview)
  local keys = {}
  function keys.v()
    view_input(sidebar)
  end
  if not preview.forecast then
    function keys.e()
      M.write(sidebar, { summarizer = 'extract' })
    end
    return keys
  end
  function keys.w()
    M.write(sidebar, {})
  end
  function keys.r()
    M.review(sidebar)
  end
  function keys.o()
    with_instructions(sidebar)
  end
  return keys
end

---@param sidebar pisession.Sidebar
---@param preview table
local function show(sidebar, preview)
  local session = sidebar.session
  local rows = session:rows()
  local name = text.cut(text.clean(session.info.name or 'the session'), 30, '…')
  sidebar:draw_cut(preview.kept)
  local _, buffer = float.open(M.lines(preview, session.size, rows), {
    title = ('Compact %s: a dry run, nothing is changed'):format(name),
    keys = acts.bind_keys(sidebar, keys_of(sidebar, preview)),
    on_close = function()
      sidebar:draw_cut({})
    end,
  })
  float.mark_keys(buffer)
end

--- Shows the dry run, or why there is nothing to compact.
---@param sidebar pisession.Sidebar
function M.compact(sidebar)
  local session = sidebar.session
  if session.operation then
    return sidebar:say(header.operation(session.operation) .. '; <C-c> cancels it.')
  elseif not session.handle then
    return acts.ask(sidebar, 'session/compact', {})
  end
  local function answered(err, answer)
    if err then
      float.open({ ' ' .. require('pisession.refusals').sentence(err) }, { title = 'Compact' })
      return
    end
    show(sidebar, answer.preview)
  end
  session:request('session/compact', { dryRun = true }, attention.keep(sidebar, answered))
end

return M
