--- Compaction: its dry run first, then written, reviewed, or left.

local acts = require('pisession.acts')
local float = require('pisession.float')
local header = require('pisession.header')
local text = require('pisession.text')

local M = {}

local function glyphs()
  return require('pisession.glyphs').choose(require('pisession.config').get().icons)
end

local function sized(tokens, window, is_measured)
  local tilde = is_measured and '' or '~'
  local size = { tokens = tokens, percent = window and tokens * 100 / window, window = window }
  local bar = window and header.bar(size, 9, glyphs(), false) .. ' ' or ''
  local percent = window and ('  %s%s'):format(tilde, text.percent(size.percent)) or ''
  return bar .. tilde .. text.tokens(tokens) .. percent
end

local function many(count)
  return ('%d %s'):format(count, count == 1 and 'entry' or 'entries')
end

--- The lines of the dry run.
---@param preview table
---@param size table?
---@return string[]
function M.lines(preview, size)
  local window = size and size.window
  local due = size
      and size.dueAt
      and ('         automatic compaction at ' .. text.tokens(size.dueAt))
    or ''
  local lines = {
    (' now    %s%s'):format(
      sized(preview.tokensBefore, window, size and size.measured ~= nil),
      due
    ),
    (' after  %s with a summary of at most %s'):format(
      sized(preview.tokensAfter, window, false),
      text.tokens(preview.summaryAtMost)
    ),
    (' summarised, %s'):format(many(#preview.summarised)),
    preview.isSplitTurn and ' ── cut, inside a turn: its beginning is summarised apart ──'
      or ' ── cut ──',
    (' kept, %s%s~%s'):format(many(#preview.kept), (' '):rep(8), text.tokens(preview.tokensKept)),
    (' files in the summary: %d read, %d modified'):format(
      #preview.readFiles,
      #preview.modifiedFiles
    ),
  }
  if preview.previousSummary then
    lines[#lines + 1] = ' the earlier summary is brought up to date'
  end
  local forecast = preview.forecast
  if forecast then
    local cost = forecast.cost and (', about $%.2f'):format(forecast.cost) or ''
    lines[#lines + 1] = (' by %s: %s in%s'):format(
      forecast.model or forecast.summarizer,
      text.tokens(forecast.tokensIn),
      cost
    )
    lines[#lines + 1] =
      '   w  write   r  review first   o  own instructions   v  view input   q  quit'
  else
    for _, line in
      ipairs(vim.split(preview.noSummarizer or 'Nobody is set up to write the summary.', '\n'))
    do
      lines[#lines + 1] = ' ' .. line
    end
    lines[#lines + 1] = '   e  extract, without a model   v  view input   q  quit'
  end
  return lines
end

local function done(sidebar, answer, size)
  local window = size and size.window
  local function percent(tokens)
    return window and text.percent(tokens * 100 / window) or text.tokens(tokens)
  end
  local before, after = answer.tokensBefore, answer.tokensAfter
  if before and after then
    sidebar:say(('Compacted, %s → ~%s.'):format(percent(before), percent(after)))
  else
    sidebar:say('Compacted.')
  end
end

---@param sidebar pisession.Sidebar
---@param params table
function M.write(sidebar, params)
  local size = sidebar.session.size
  acts.ask(sidebar, 'session/compact', params, function(answer)
    done(sidebar, answer, size)
  end)
end

--- Has the summary written, and stores it only once it was looked at and saved.
---@param sidebar pisession.Sidebar
---@param params table
function M.review(sidebar, params)
  params = vim.tbl_extend('force', params, { dryRun = 'summary' })
  acts.ask(sidebar, 'session/compact', params, function(answer)
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.bo[buffer].buftype = 'acwrite'
    vim.bo[buffer].bufhidden = 'wipe'
    vim.bo[buffer].filetype = 'markdown'
    pcall(vim.api.nvim_buf_set_name, buffer, ('pisession-summary://%d'):format(buffer))
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(answer.summary, '\n'))
    vim.api.nvim_create_autocmd('BufWriteCmd', {
      buffer = buffer,
      callback = function()
        local summary = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
        vim.bo[buffer].modified = false
        M.write(sidebar, { summary = summary, draft = answer.draft })
        vim.schedule(function()
          pcall(vim.api.nvim_buf_delete, buffer, { force = true })
        end)
      end,
    })
    vim.cmd.tabnew()
    vim.api.nvim_win_set_buf(0, buffer)
    vim.wo.winbar = ' Summary: :w compacts with it, :q! leaves everything as it is'
  end)
end

local function view_input(sidebar)
  acts.ask(sidebar, 'session/compact', { dryRun = true, withInput = true }, function(answer)
    local lines = {}
    for _, input in ipairs(answer.preview.inputs or {}) do
      lines[#lines + 1] = '# ' .. input.kind
      vim.list_extend(lines, require('pisession.entries').lines(input.text))
      lines[#lines + 1] = ''
    end
    vim.cmd.tabnew()
    local buffer = vim.api.nvim_get_current_buf()
    vim.bo[buffer].buftype = 'nofile'
    vim.bo[buffer].bufhidden = 'wipe'
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modifiable = false
  end)
end

local function with_instructions(sidebar)
  vim.ui.input({ prompt = 'Instructions for the summary: ' }, function(given)
    if given and given ~= '' then
      M.write(sidebar, { customInstructions = given })
    end
  end)
end

--- Shows the dry run.
---@param sidebar pisession.Sidebar
function M.compact(sidebar)
  local session = sidebar.session
  if session.operation then
    return sidebar:say(header.operation(session.operation) .. '; <C-c> cancels it.')
  end
  session:request('session/compact', { dryRun = true }, function(err, answer)
    if err then
      float.open({ ' ' .. require('pisession.refusals').sentence(err) }, { title = 'Compact' })
      return
    end
    local preview = answer.preview
    local keys = {
      v = function()
        view_input(sidebar)
      end,
    }
    if preview.forecast then
      keys.w = function()
        M.write(sidebar, {})
      end
      keys.r = function()
        M.review(sidebar, {})
      end
      keys.o = function()
        with_instructions(sidebar)
      end
    else
      keys.e = function()
        M.write(sidebar, { summarizer = 'extract' })
      end
    end
    local name = session.info.name or 'the session'
    local title = ('Compact %s: a dry run, nothing is changed'):format(
      text.cut(text.clean(name), 30, '…')
    )
    local _, buffer = float.open(M.lines(preview, session.size), { title = title, keys = keys })
    float.mark_keys(buffer)
  end)
end

return M
