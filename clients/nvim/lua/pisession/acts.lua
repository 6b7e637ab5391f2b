--- What the keys do. Each act is given the sidebar and the row under the cursor.
---
--- Acts that need a window of their own are in modules of theirs: `navigating`, `compacting`,
--- `comparing`, `looking`, `sessions`, `finding`.

local text = require('pisession.text')

local M = {}

---@type table<string, fun(sidebar: pisession.Sidebar, row: table?, words: string[])>
local acts = {}
M.table = acts

local NEEDS_NO_SESSION = {
  help = true,
  sessions = true,
  new_session = true,
  close = true,
  reload = true,
  install_bridge = true,
}

--- Runs an act by its name in the sidebar of this tab page, which is opened where it is not.
---@param name string
---@param words string[]?
function M.run(name, words)
  local found = acts[name]
  if not found then
    return vim.notify(
      ('pisession knows no act %q; :help pisession-keys lists them.'):format(name),
      vim.log.levels.ERROR
    )
  end
  local sidebar = require('pisession.sidebar').current()
  if not sidebar then
    require('pisession.sidebar').open()
    sidebar = assert(require('pisession.sidebar').current())
  end
  if name ~= 'close' and not sidebar:is_visible() then
    sidebar:show_window()
  end
  if sidebar.message or sidebar.session.hint then
    sidebar.message, sidebar.session.hint = nil, nil
    sidebar:redraw_soon()
  end
  local function act()
    found(sidebar, sidebar:row(), words or {})
  end
  if NEEDS_NO_SESSION[name] then
    return act()
  end
  sidebar:when_read(act)
end

M.ask = require('pisession.asking').ask
M.bind = require('pisession.asking').bind
M.bind_keys = require('pisession.asking').bind_keys

local function later(module, name)
  return function(sidebar, row, words)
    require('pisession.' .. module)[name](sidebar, row, words)
  end
end

acts.navigate_to = later('navigating', 'navigate_to')
acts.fork = later('navigating', 'fork')
acts.clone = later('navigating', 'clone')
acts.compact = later('compacting', 'compact')
acts.compare = later('comparing', 'compare')
acts.preview = later('previewing', 'preview')
acts.toggle_preview = later('previewing', 'toggle_preview')
acts.details = later('looking', 'details')
acts.context = later('context', 'show')
acts.where = later('looking', 'where')
acts.problems = later('looking', 'problems')
acts.help = later('help', 'show')
acts.export = later('looking', 'export')
acts.sessions = later('sessions', 'open')
acts.new_session = later('sessions', 'new')
acts.continue_in_pi = later('sessions', 'continue_in_pi')
acts.prompt_pi = later('running', 'prompt')
acts.steer_pi = later('running', 'steer')
acts.let_pi_read = later('running', 'let_read')
acts.cancel = later('running', 'stop')
acts.install_bridge = later('bridge', 'install')
acts.search = later('finding', 'search')
acts.next_hit = later('finding', 'next_hit')
acts.previous_hit = later('finding', 'previous_hit')
acts.find_branch = later('finding', 'find_branch')

--- Shows the next page of a group, with the cursor on the first row that came.
---@param sidebar pisession.Sidebar
---@param row pisession.Row
local function read_more(sidebar, row)
  sidebar.session:read_more(row.level, function(id)
    local now = sidebar:row()
    sidebar:redraw()
    if id and now and now.id == row.id then
      sidebar:go_to(id)
    end
  end)
end

function acts.enter(sidebar, row, words)
  if not row or row.kind == 'here' then
    return
  elseif row.kind == 'more' then
    return read_more(sidebar, row)
  elseif row.kind == 'group' or (row.kind == 'summarised' and row.fold ~= 'none') then
    return acts.fold_toggle(sidebar, row)
  end
  require('pisession.navigating').navigate(sidebar, row, words)
end

-- Folds.

function acts.fold_toggle(sidebar, row)
  if not row then
    return
  elseif row.kind == 'more' then
    return read_more(sidebar, row)
  elseif row.fold == 'none' then
    return acts.fold_close(sidebar, row)
  end
  sidebar.session:fold(row, not sidebar:is_open_id(row.id))
end

function acts.fold_open(sidebar, row)
  if row then
    sidebar.session:fold(row, true)
  end
end

--- Closes the row, or what it is inside of.
function acts.fold_close(sidebar, row)
  if not row then
    return
  elseif row.fold ~= 'none' and sidebar:is_open_id(row.id) then
    return sidebar.session:fold(row, false)
  elseif row.level then
    local line = sidebar.view:line_of(row.level)
    if line then
      sidebar:go_to(row.level)
      sidebar.session:fold(sidebar.view:row_at(line), false)
    end
  end
end

function acts.fold_open_all(sidebar)
  for _, row in ipairs(sidebar.session:rows()) do
    if row.fold ~= 'none' and row.rows <= 200 then
      sidebar.session:fold(row, true)
    end
  end
end

function acts.fold_close_all(sidebar)
  sidebar.session.folds = {}
  sidebar:redraw_soon()
end

-- Going about.

local function jump(sidebar, step, matches)
  local line = vim.api.nvim_win_get_cursor(sidebar.window)[1] + step
  while sidebar.view:row_at(line) do
    if matches(sidebar.view:row_at(line)) then
      return sidebar:go_to(sidebar.view:row_at(line).id)
    end
    line = line + step
  end
end

local function jumps(name, matches)
  acts['next_' .. name] = function(sidebar)
    jump(sidebar, 1, matches)
  end
  acts['previous_' .. name] = function(sidebar)
    jump(sidebar, -1, matches)
  end
end

local function is_branch(row)
  return row.kind == 'alternative' or row.kind == 'group'
end

jumps('turn', function(row)
  return row.kind == 'user'
end)
jumps('branch', is_branch)
jumps('label', function(row)
  return row.label ~= nil
end)
jumps('compaction', function(row)
  return row.kind == 'compaction'
end)

function acts.go_to_leaf(sidebar)
  if not sidebar:go_to('here') then
    sidebar:reveal('here')
  end
end

--- The line of the row that the alternatives above a line leave from.
---@param rows pisession.Row[]
---@param line integer
---@return integer?
local function branch_point_above(rows, line)
  local depth, branch = rows[line].depth, nil
  for at = line, 1, -1 do
    local row = rows[at]
    if not branch and is_branch(row) and row.depth <= depth then
      branch = row
    elseif branch and row.level == branch.level and not is_branch(row) then
      return at
    end
  end
end

function acts.go_to_branch_point(sidebar, row)
  local line = row and sidebar.view:line_of(row.id)
  local above = line and branch_point_above(sidebar.view.rows, line)
  if above then
    sidebar:go_to(sidebar.view:row_at(above).id)
  end
end

-- Acting.

---@class pisession.Undo
---@field acts { method: string, params: table }[] in this order
---@field sentence string
---@field rev integer after the act

--- Remembers how to undo what was just answered.
---@param sidebar pisession.Sidebar
---@param answer { rev: integer }
---@param undo { method: string, params: table }[]
---@param sentence string
function M.remember(sidebar, answer, undo, sentence)
  table.insert(sidebar.undo, { acts = undo, sentence = sentence, rev = answer.rev })
end

---@param one pisession.Undo
---@param other pisession.Undo
---@return boolean
local function is_older(one, other)
  return one.rev < other.rev
end

--- Undoes my last act by acting again; nothing is erased, and nothing of others is undone.
function acts.undo(sidebar)
  local last = sidebar.undo[#sidebar.undo] --[[@as pisession.Undo?]]
  if not last then
    return sidebar:say('There is nothing of mine to undo.')
  elseif last.rev < sidebar.session.foreign_rev then
    return sidebar:say('Others came between; undo would touch what they did.')
  end
  -- At once, so that the next key undoes the act before it.
  table.remove(sidebar.undo)
  local function step(at)
    local act = last.acts[at]
    M.ask(sidebar, act.method, act.params, function()
      if last.acts[at + 1] then
        return step(at + 1)
      end
      sidebar:say(last.sentence)
    end, function()
      table.insert(sidebar.undo, last)
      table.sort(sidebar.undo, is_older)
    end)
  end
  step(1)
end

--- Gives a label or a name, from words or after asking.
---@param sidebar pisession.Sidebar
---@param words string[]
---@param old string?
---@param prompt string
---@param give fun(value: string|vim.NIL, answered: fun(answer: table))
local function give_name(sidebar, words, old, prompt, give)
  local function given(value)
    if value and vim.trim(value) ~= (old or '') then
      value = vim.trim(value)
      give(value ~= '' and value or vim.NIL, function()
        sidebar:say(value == '' and 'Cleared, u undoes.' or ('Named %s, u undoes.'):format(value))
      end)
    end
  end
  if #words > 0 then
    return given(table.concat(words, ' '))
  end
  vim.ui.input({ prompt = prompt, default = old or '' }, M.bind(sidebar, given))
end

---@param sidebar pisession.Sidebar
---@param method string
---@param now table
---@param before table
---@param answered fun()
local function do_undoably(sidebar, method, now, before, answered)
  M.ask(sidebar, method, now, function(answer)
    M.remember(sidebar, answer, { { method = method, params = before } }, 'It is as before.')
    answered()
  end)
end

function acts.label(sidebar, row, words)
  if not row or not row.entry then
    return sidebar:say('This row stands for no entry that could be labelled.')
  end
  give_name(sidebar, words, row.label, 'Label (empty clears): ', function(label, answered)
    local now = { target = row.entry, label = label }
    local before = { target = row.entry, label = row.label or vim.NIL }
    do_undoably(sidebar, 'session/label', now, before, answered)
  end)
end

function acts.rename(sidebar, _, words)
  local old = sidebar.session.info.name
  give_name(sidebar, words, old, 'Name (empty clears): ', function(name, answered)
    do_undoably(sidebar, 'session/rename', { name = name }, { name = old or vim.NIL }, answered)
  end)
end

acts.omit = later('omitting', 'toggle')

function acts.append(sidebar, _, words)
  if #words > 0 then
    return require('pisession.prompting').append(sidebar, table.concat(words, ' '))
  end
  require('pisession.running').choose(sidebar)
end

-- Looking.

local FILTERS = { 'default', 'no-tools', 'user-only', 'labeled-only', 'all' }

function acts.next_filter(sidebar)
  for at, name in ipairs(FILTERS) do
    if name == sidebar.session.filter then
      return sidebar.session:set_filter(FILTERS[at % #FILTERS + 1])
    end
  end
end

function acts.set_filter(sidebar, _, words)
  if not vim.tbl_contains(FILTERS, words[1]) then
    return sidebar:say('The filters are ' .. table.concat(FILTERS, ', ') .. '.')
  end
  sidebar.session:set_filter(words[1])
end

function acts.choose_filter(sidebar)
  vim.ui.select(FILTERS, { prompt = 'Rows to show' }, function(name)
    if name then
      sidebar.session:set_filter(name)
    end
  end)
end

function acts.size_column(sidebar)
  local next_one = { context = 'own', own = 'off', off = 'context' }
  sidebar.size = next_one[sidebar.size]
  sidebar.view:forget()
  sidebar:redraw()
end

function acts.mark(sidebar, row)
  if row and row.entry then
    sidebar.marked = sidebar.marked ~= row.id and row.id or nil
    sidebar.marked_entry = sidebar.marked and row.entry
    sidebar:redraw_soon()
  end
end

function acts.yank_id(sidebar, row)
  if row and row.entry then
    vim.fn.setreg(vim.v.register, tostring(row.entry))
    sidebar:say('Yanked the id ' .. row.entry .. '.')
  end
end

function acts.yank_text(sidebar, row)
  if not row or not row.entry then
    return
  end
  local register = vim.v.register
  M.ask(sidebar, 'session/entries', { ids = { row.entry } }, function(answer)
    local body = require('pisession.entries').plain(answer.entries[1])
    vim.fn.setreg(register, body)
    sidebar:say(('Yanked %s.'):format(text.many(#vim.split(body, '\n'), 'line', 'lines')))
  end)
end

function acts.reload(sidebar)
  require('pisession.rpc').reconnect()
  sidebar.view:forget()
  sidebar.session:fetch()
end

function acts.close(sidebar)
  sidebar:hide()
end

return M
