--- Looking closer: previews, details, what fills the context, problems, help.

local acts = require('pisession.acts')
local float = require('pisession.float')
local header = require('pisession.header')
local text = require('pisession.text')

local M = {}

local function fold_marked(window)
  vim.wo[window].foldmethod = 'marker'
  vim.wo[window].foldenable = true
  vim.wo[window].foldlevel = 0
  vim.wo[window].conceallevel = 2
end

local function show_preview(sidebar, body)
  local lines = require('pisession.entries').markdown(body)
  local window = sidebar.preview
  if window and vim.api.nvim_win_is_valid(window) then
    local buffer = vim.api.nvim_win_get_buf(window)
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modifiable = false
    return
  end
  local width = math.min(80, vim.o.columns - vim.api.nvim_win_get_width(sidebar.window) - 6)
  window = float.open(lines, { enter = false, filetype = 'markdown', width = math.max(width, 20) })
  fold_marked(window)
  sidebar.preview = window
end

local function close_preview(sidebar)
  if sidebar.preview and vim.api.nvim_win_is_valid(sidebar.preview) then
    vim.api.nvim_win_close(sidebar.preview, true)
  end
  sidebar.preview = nil
end

---@param sidebar pisession.Sidebar
---@param row table?
function M.preview(sidebar, row)
  if not row or not row.entry then
    return
  elseif
    sidebar.preview
    and sidebar.previewed == row.id
    and vim.api.nvim_win_is_valid(sidebar.preview)
  then
    return close_preview(sidebar)
  end
  sidebar.previewed = row.id
  acts.ask(sidebar, 'session/entries', { ids = { row.entry } }, function(answer)
    if sidebar.previewed == row.id and answer.entries[1] then
      show_preview(sidebar, answer.entries[1])
    end
  end)
end

--- A preview that goes along with the cursor.
function M.toggle_preview(sidebar, row)
  if sidebar.follows_cursor then
    vim.api.nvim_del_autocmd(sidebar.follows_cursor)
    sidebar.follows_cursor = nil
    return close_preview(sidebar)
  end
  sidebar.follows_cursor = vim.api.nvim_create_autocmd('CursorMoved', {
    buffer = sidebar.buffer,
    callback = function()
      local now = sidebar:row()
      if now and now.id ~= sidebar.previewed then
        M.preview(sidebar, now)
      end
    end,
  })
  M.preview(sidebar, row)
end

local NAMES = {
  unsaved = 'unsaved',
  omitted = 'out of the context',
  replaced = 'replaced in the context',
  problem = 'a problem in the file',
  external = 'written by another program',
  summarised = 'summarised',
  notInContext = 'no longer in the context',
}

local function detail_lines(row, window)
  local clock, date = text.clock(row.time)
  local lines = { ' ' .. text.clean(row.title) }
  if row.label then
    lines[#lines + 1] = ' label: ' .. text.clean(row.label)
  end
  lines[#lines + 1] = (' %s%s'):format(
    clock and (date .. ' ' .. clock .. ' · ') or '',
    row.entry and ('entry ' .. row.entry) or ''
  )
  local own = row.tokens and (', +' .. text.tokens(row.tokens)) or ''
  lines[#lines + 1] = (' %d %s%s'):format(
    row.entries,
    row.entries == 1 and 'entry' or 'entries',
    own
  )
  if row.size then
    local of = window and (' of %s, %s'):format(text.tokens(window), text.percent(row.size.percent))
      or ''
    lines[#lines + 1] = (' context %s%s, %s'):format(
      text.tokens(row.size.tokens),
      of,
      row.size.source
    )
  end
  local states = {}
  for _, flag in ipairs(row.flags) do
    states[#states + 1] = NAMES[flag]
  end
  if row.failed > 0 then
    states[#states + 1] = row.failed .. ' failed'
  end
  if row.by then
    states[#states + 1] = 'by ' .. text.clean(row.by)
  end
  if #row.forks > 0 then
    states[#states + 1] = ('%d forked here'):format(#row.forks)
  end
  if #states > 0 then
    lines[#lines + 1] = ' ' .. table.concat(states, ', ')
  end
  return lines
end

function M.details(sidebar, row)
  if row then
    float.open(
      detail_lines(row, sidebar.session.size and sidebar.session.size.window),
      { enter = true }
    )
  end
end

function M.where(sidebar, row)
  row = row or (sidebar.view:line_of('here') and sidebar.view:row_at(sidebar.view:line_of('here')))
  if row then
    vim.api.nvim_echo(
      { { require('pisession.words').speak(row, sidebar:is_open_id(row.id)) } },
      true,
      {}
    )
  end
end

local PARTS = {
  { 'toolResults', 'tool results' },
  { 'system', 'system' },
  { 'toolCalls', 'tool calls' },
  { 'assistant', 'assistant' },
  { 'thinking', 'thinking' },
  { 'user', 'user' },
  { 'summaries', 'summaries' },
  { 'images', 'images' },
}

local function share(tokens, whole)
  return whole > 0 and ('%d%%'):format(math.floor(tokens * 100 / whole + 0.5)) or ''
end

--- The lines of the context detail, and which of them lead to an entry.
---@param size table
---@return string[]
---@return table<integer, string>
function M.context_lines(size, totals)
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  local window = size.window and (', window ' .. text.tokens(size.window)) or ', window unknown'
  local lines, entries = { (' %s%s'):format(size.model or 'no model', window) }, {}
  local percent = size.percent and (' %.1f%%'):format(size.percent) or ''
  local at = size.measuredAt and text.clock(size.measuredAt)
  local source = size.source .. (size.source == 'measured' and at and (' ' .. at) or '')
  local due = size.dueAt and ('   automatic compaction at ' .. text.tokens(size.dueAt)) or ''
  local bar = header.bar(size, 9, glyphs, true)
  lines[2] = (' %s%s%s   %s%s'):format(
    bar ~= '' and bar .. ' ' or '',
    text.tokens(size.tokens),
    percent,
    source,
    due
  )
  if size.parts then
    local known = vim.deepcopy(PARTS)
    table.sort(known, function(a, b)
      return (size.parts[a[1]] or 0) > (size.parts[b[1]] or 0)
    end)
    for _, part in ipairs(known) do
      local tokens = size.parts[part[1]] or 0
      if tokens > 0 then
        lines[#lines + 1] = ('   %-14s %6s %4s'):format(
          part[2],
          text.tokens(tokens),
          share(tokens, size.tokens)
        )
      end
    end
    local rest = size.unexplained or 0
    if rest ~= 0 then
      local sign = rest < 0 and '-' or '+'
      lines[#lines + 1] = ('   %-14s %6s %4s'):format(
        'not explained',
        sign .. text.tokens(math.abs(rest)),
        share(math.abs(rest), size.tokens)
      )
      if size.estimated and math.abs(rest) * 5 > size.tokens then
        local way = rest > 0 and 'low' or 'high'
        lines[#lines + 1] = ('   the estimate runs %s here (x%.1f)'):format(
          way,
          size.tokens / math.max(size.estimated, 1)
        )
      end
    end
  end
  if size.largest and #size.largest > 0 then
    lines[#lines + 1] = ' largest                    x takes out, <CR> goes there'
    for rank, one in ipairs(size.largest) do
      lines[#lines + 1] = (' %2d %6s %4s  %s'):format(
        rank,
        text.tokens(one.tokens),
        share(one.tokens, size.tokens),
        text.clean(one.title)
      )
      entries[#lines] = one.entry
    end
  end
  if totals then
    local tokens = totals.tokens
    local read = tokens.input + tokens.cacheRead + tokens.cacheWrite
    lines[#lines + 1] = (' Totals, whole file: %s in, %s out, $%.2f'):format(
      text.tokens(read),
      text.tokens(tokens.output),
      totals.cost
    )
  end
  return lines, entries
end

function M.context(sidebar)
  acts.ask(sidebar, 'session/contextSize', {}, function(size)
    acts.ask(sidebar, 'session/stats', {}, function(stats)
      local lines, entries = M.context_lines(size, stats.file)
      local window
      local function of_line(act)
        return function()
          local entry = entries[vim.api.nvim_win_get_cursor(window)[1]]
          if entry then
            vim.api.nvim_win_close(window, true)
            act(entry)
          end
        end
      end
      window = float.open(lines, {
        title = 'Context at the leaf',
        stay = {
          ['<CR>'] = of_line(function(entry)
            sidebar:reveal(entry)
          end),
          x = of_line(function(entry)
            sidebar:reveal(entry, function(row)
              require('pisession.omitting').toggle(sidebar, row)
            end)
          end),
        },
      })
    end)
  end)
end

function M.problems(sidebar)
  acts.ask(sidebar, 'session/check', {}, function(answer)
    if #answer.problems == 0 then
      return sidebar:say('No problems in the file.')
    end
    local items = {}
    for _, problem in ipairs(answer.problems) do
      items[#items + 1] = {
        filename = sidebar.session.info.path,
        lnum = problem.line or 1,
        text = text.clean(problem.message .. ' ' .. problem.consequence),
        type = 'W',
      }
    end
    vim.fn.setqflist({}, ' ', { title = 'Problems of the session', items = items })
    vim.cmd.copen()
  end)
end

local LEGEND = {
  user = 'you',
  answer = 'answer',
  work = 'work, folded',
  step = 'tool call',
  bash = 'shell command',
  note = 'note',
  compaction = 'compaction, or what it summarised',
  branchSummary = 'summary of a branch left',
}

function M.help()
  local lines = require('pisession.keys').help()
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  lines[#lines + 1] = ' Signs'
  for _, kind in ipairs({
    'user',
    'answer',
    'work',
    'step',
    'bash',
    'note',
    'compaction',
    'branchSummary',
  }) do
    lines[#lines + 1] = ('   %s  %s'):format(glyphs.roles[kind], LEGEND[kind])
  end
  for _, mark in ipairs({
    { glyphs.leaf, 'where you are' },
    { glyphs.active, 'the active branch' },
    { glyphs.ahead, 'ahead of where you are' },
    { '+', 'unsaved' },
    { '!', 'failed steps, or a problem' },
    { glyphs.omitted, 'out of the context' },
    { glyphs.replaced, 'replaced' },
    { glyphs.forks, 'forks made here' },
    { '~', 'estimated' },
  }) do
    lines[#lines + 1] = ('   %s  %s'):format(mark[1], mark[2])
  end
  float.open(lines, { title = 'pisession' })
end

--- `:Pisession export [html|markdown|jsonl] [path]`
function M.export(sidebar, _, words)
  local format = words[1] or 'html'
  local ending = ({ html = 'html', markdown = 'md', jsonl = 'jsonl' })[format]
  if not ending then
    return sidebar:say('The forms are html, markdown and jsonl.')
  end
  local name = (sidebar.session.info.name or 'session'):gsub('[^%w._-]+', '-')
  local path = vim.fn.fnamemodify(words[2] or ('%s.%s'):format(name, ending), ':p')
  acts.ask(sidebar, 'session/export', { format = format, path = path }, function(answer)
    sidebar:say('Exported to ' .. vim.fn.fnamemodify(answer.path, ':~:.') .. '.')
  end)
end

return M
