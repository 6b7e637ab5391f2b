--- Looking closer: details of a row, problems of the file, exports.

local acts = require('pisession.acts')
local attention = require('pisession.attention')
local entries = require('pisession.entries')
local float = require('pisession.float')
local text = require('pisession.text')

local M = {}

local NAMES = {
  unsaved = 'unsaved',
  omitted = 'out of the context',
  replaced = 'replaced in the context',
  problem = 'a problem in the file',
  external = 'written by another program',
  summarised = 'summarised',
  notInContext = 'no longer in the context',
}

--- Cells of the details at most.
local WIDEST = 80

---@param row pisession.Row
---@return string
local function states_of(row)
  local states = {
    vim.tbl_contains(row.flags, 'active') and 'On the active branch'
      or vim.tbl_contains(row.flags, 'ahead') and 'Ahead of where you are'
      or 'On another branch',
  }
  for _, flag in ipairs(row.flags) do
    states[#states + 1] = NAMES[flag]
  end
  if row.failed > 0 then
    states[#states + 1] = row.failed .. ' failed'
  end
  if row.out and not vim.tbl_contains(row.flags, 'omitted') then
    states[#states + 1] = row.out .. ' out of the context'
  end
  if row.by then
    states[#states + 1] = 'by ' .. text.clean(row.by)
  end
  if #row.forks > 0 then
    states[#states + 1] = text.many(#row.forks, 'fork made here', 'forks made here')
  end
  return table.concat(states, ', ')
end

---@param row pisession.Row
---@param window integer?
---@return string
local function size_line(row, window)
  local size = row.size --[[@as pisession.RowSize]]
  local of = window
    and size.percent
    and ('%s of %s, %s'):format(
      text.tokens(size.tokens),
      text.tokens(window),
      text.percent(size.percent)
    )
  return ('context %s, %s'):format(of or text.tokens(size.tokens), size.source)
end

--- Characters of an entry that the details show.
local SHOWN = 400

--- The beginning of what an entry says; its title where it says nothing.
---@param row pisession.Row
---@param entry table?
---@return string[]
local function beginning(row, entry)
  local body = entry and entries.plain(entry) or ''
  -- Nobody waits for a whole output to be cleaned; no character takes more than four bytes.
  local whole = vim.trim(table.concat(entries.lines(body:sub(1, 5 * SHOWN)), '\n'))
  if whole == '' then
    return { text.clean(row.title) }
  end
  local shown = vim.fn.strcharpart(whole, 0, SHOWN)
  return vim.split(shown == whole and whole or vim.trim(shown) .. '…', '\n')
end

---@param row pisession.Row
---@return string
local function heading(row)
  local clock, date = text.clock(row.time)
  local when = clock and (', %s %s'):format(date, clock) or ''
  local label = row.label and (' · label: ' .. text.clean(row.label)) or ''
  return require('pisession.words').role(row) .. when .. label
end

---@param row pisession.Row
---@param entry table? whose text is shown
---@param window integer?
---@param running pisession.Pi[] that stand here
---@return string[]
local function detail_lines(row, entry, window, running)
  local lines = { heading(row) }
  vim.list_extend(lines, beginning(row, entry))
  local facts = { states_of(row) }
  facts[#facts + 1] = row.entry and ('entry ' .. row.entry) or nil
  local own = row.tokens and (', +' .. text.tokens(row.tokens)) or ''
  facts[#facts + 1] = text.many(row.entries, 'entry', 'entries') .. own
  lines[#lines + 1] = table.concat(facts, ' · ')
  lines[#lines + 1] = row.size and size_line(row, window)
  for _, one in ipairs(running) do
    lines[#lines + 1] = require('pisession.pis').describe(one)
  end
  return vim.tbl_map(function(line)
    return ' ' .. line
  end, lines)
end

--- What stands for a stretch is told by its title, which says more than its last entry does.
local STRETCHES =
  { work = true, alternative = true, group = true, ahead = true, summarised = true, here = true }

---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@return pisession.Pi[]
local function running_at(sidebar, row)
  return require('pisession.standing').of(sidebar.session, sidebar.view.rows)[row.id] or {}
end

---@class pisession.Details
---@field window integer the float
---@field session pisession.Session
---@field row string the id of the row it is about
---@field entry table? whose text it shows
---@field lines string[]

---@param sidebar pisession.Sidebar
---@param row pisession.Row
---@param entry table?
---@return string[] lines
---@return pisession.FloatOptions options
local function drawn(sidebar, row, entry)
  local window = sidebar.session.size and sidebar.session.size.window
  local lines = detail_lines(row, entry, window, running_at(sidebar, row))
  local widths = vim.tbl_map(text.width, lines)
  return lines, { width = math.min(math.max(unpack(widths)) + 1, WIDEST) }
end

---@param sidebar pisession.Sidebar
---@param id string
---@return pisession.Row?
local function row_in_sight(sidebar, id)
  local line = sidebar.view:line_of(id)
  return line and sidebar.view:row_at(line)
end

--- Lets open details say what their row says by now: sizes come after the rows, and others move,
--- label and take out. What they are about stays in sight when its row goes.
---@param sidebar pisession.Sidebar
function M.keep_up(sidebar)
  local details = sidebar.details
  if not details then
    return
  elseif not vim.api.nvim_win_is_valid(details.window) then
    sidebar.details = nil
    return
  end
  local row = details.session == sidebar.session and row_in_sight(sidebar, details.row)
  if not row then
    return
  end
  local lines, options = drawn(sidebar, row, details.entry)
  if not vim.deep_equal(lines, details.lines) then
    details.lines = lines
    float.renew(details.window, lines, options)
  end
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.details(sidebar, row)
  if not row then
    return
  end
  local function show(entry)
    local lines, options = drawn(sidebar, row_in_sight(sidebar, row.id) or row, entry)
    local window = float.open(lines, options)
    sidebar.details = {
      window = window,
      session = sidebar.session,
      row = row.id,
      entry = entry,
      lines = lines,
    }
  end
  if not row.entry or STRETCHES[row.kind] then
    return show(nil)
  end
  local params = { ids = { row.entry } }
  local function answered(answer)
    if sidebar:is_visible() then
      show(answer.entries[1])
    end
  end
  acts.ask(sidebar, 'session/entries', params, attention.keep(sidebar, answered))
end

--- Says a row as one sentence, for whoever does not see it.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.where(sidebar, row)
  local line = sidebar.view:line_of('here')
  row = row or (line and sidebar.view:row_at(line))
  if row then
    local spoken = require('pisession.words').speak(row, sidebar:is_open_id(row.id))
    for _, one in ipairs(running_at(sidebar, row)) do
      spoken = ('%s A running %s.'):format(spoken, require('pisession.pis').describe(one))
    end
    vim.api.nvim_echo({ { spoken } }, true, {})
  end
end

--- Puts the problems of the file into the quickfix list.
---@param sidebar pisession.Sidebar
function M.problems(sidebar)
  acts.ask(sidebar, 'session/check', {}, function(answer)
    if #answer.problems == 0 then
      return sidebar:say('No problems in the file.')
    end
    local items = {}
    for _, problem in ipairs(answer.problems) do
      items[#items + 1] = {
        filename = sidebar.session.info.path,
        lnum = problem.line or 0,
        text = text.clean(problem.message .. ' ' .. problem.consequence),
        type = 'W',
      }
    end
    vim.fn.setqflist({}, ' ', { title = 'Problems of the session', items = items })
    -- Over the whole width: the sidebar's alone is too little for a sentence.
    vim.cmd.copen({ mods = { split = 'botright' } })
  end)
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
