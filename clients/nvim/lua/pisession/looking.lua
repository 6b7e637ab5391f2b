--- Looking closer: details of a row, problems of the file, exports.

local acts = require('pisession.acts')
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

--- The values of a list that has gaps.
local function compact(list, count)
  local kept = {}
  for at = 1, count do
    kept[#kept + 1] = list[at]
  end
  return kept
end

---@param row pisession.Row
---@return string
local function states_of(row)
  local states = {
    vim.tbl_contains(row.flags, 'active') and 'on the active branch'
      or vim.tbl_contains(row.flags, 'ahead') and 'ahead of where you are'
      or 'on another branch',
  }
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
    states[#states + 1] = text.many(#row.forks, 'fork made here', 'forks made here')
  end
  return ' ' .. table.concat(states, ', ')
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
  return (' context %s, %s'):format(of or text.tokens(size.tokens), size.source)
end

---@param row pisession.Row
---@param window integer?
---@return string[]
local function detail_lines(row, window)
  local clock, date = text.clock(row.time)
  local lines = { ' ' .. text.clean(row.title) }
  if row.label then
    lines[#lines + 1] = ' label: ' .. text.clean(row.label)
  end
  lines[#lines + 1] = states_of(row)
  local own = row.tokens and ('+' .. text.tokens(row.tokens)) or nil
  local entry = row.entry and ('entry ' .. row.entry) or nil
  local facts = {
    clock and (date .. ' ' .. clock) or nil,
    entry,
    text.many(row.entries, 'entry', 'entries'),
    own,
  }
  lines[#lines + 1] = ' ' .. table.concat(compact(facts, 4), ' · ')
  if row.size then
    lines[#lines + 1] = size_line(row, window)
  end
  return lines
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.details(sidebar, row)
  if row then
    float.open(detail_lines(row, sidebar.session.size and sidebar.session.size.window))
  end
end

--- Says a row as one sentence, for whoever does not see it.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.where(sidebar, row)
  local line = sidebar.view:line_of('here')
  row = row or (line and sidebar.view:row_at(line))
  if row then
    local spoken = require('pisession.words').speak(row, sidebar:is_open_id(row.id))
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
