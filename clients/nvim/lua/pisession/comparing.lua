--- Two branches side by side: figures, and a diff of what was said since they parted.

local acts = require('pisession.acts')
local text = require('pisession.text')
local windows = require('pisession.window')

local M = {}

--- Cells of the name of a figure, and of one side's.
local NAME, SIDE = 16, 28

---@param side table
---@param ancestor pisession.ContextSize?
---@return string
local function size_of(side, ancestor)
  if not ancestor then
    return text.size(side.size)
  end
  local more = side.size.tokens - ancestor.tokens
  local sign = more < 0 and '-' or '+'
  return ('%s  (%s%s)'):format(text.size(side.size), sign, text.tokens(math.abs(more)))
end

--- What is in one list and not in the other.
---@param one string[]
---@param other string[]
---@return string[]
local function only(one, other)
  local known, found = {}, {}
  for _, path in ipairs(other) do
    known[path] = true
  end
  for _, path in ipairs(one) do
    if not known[path] then
      found[#found + 1] = path
    end
  end
  return found
end

---@param one string[]
---@param other string[]
---@return string[]
local function both(one, other)
  return only(one, only(one, other))
end

---@param paths string[]
---@return string
local function listed(paths)
  return text.clean(table.concat(paths, ' '))
end

---@param name string
---@param left string
---@param right string
---@return string
local function figure_line(name, left, right)
  local first = text.fill(' ' .. name, NAME) .. '  ' .. text.fill(left, SIDE)
  return ((first .. ' ' .. right):gsub('%s+$', ''))
end

---@param side table
---@return string
local function entries_of(side)
  return ('%d, %s'):format(side.entries, text.many(side.turns, 'turn', 'turns'))
end

---@param side table
---@return string
local function spent_by(side)
  return ('%s  $%.2f'):format(text.duration(side.seconds * 1000), side.cost)
end

--- The figures of a comparison.
---@param answer table
---@param names string[]
---@param since string? what both have in common last
---@return string[]
function M.lines(answer, names, since)
  local a, b = answer.a, answer.b
  local files_a, files_b = a.files.modified, b.files.modified
  local lines = {
    figure_line(
      '',
      'A  ' .. text.cut(names[1], SIDE - 4, '…'),
      'B  ' .. text.cut(names[2], SIDE - 4, '…')
    ),
    figure_line('entries', entries_of(a), entries_of(b)),
    figure_line('context', size_of(a, answer.ancestorSize), size_of(b, answer.ancestorSize)),
    figure_line('time, cost', spent_by(a), spent_by(b)),
    figure_line('files, one only', listed(only(files_a, files_b)), listed(only(files_b, files_a))),
  }
  if #both(files_a, files_b) > 0 then
    table.insert(lines, 5, figure_line('files, both', listed(both(files_a, files_b)), ''))
  end
  if since then
    table.insert(lines, 1, ' since  ' .. since)
  end
  return lines
end

---@param name string
---@return integer buffer
local function make_buffer(name)
  local buffer = vim.api.nvim_create_buf(false, true)
  pcall(vim.api.nvim_buf_set_name, buffer, ('pisession-compare://%d/%s'):format(buffer, name))
  vim.bo[buffer].bufhidden = 'wipe'
  vim.keymap.set('n', 'q', vim.cmd.tabclose, { buffer = buffer, desc = 'close the comparison' })
  return buffer
end

---@param buffer integer
---@param lines string[]
local function fill(buffer, lines)
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modifiable = false
  end
end

local SAYS = { message = true, branch_summary = true, compaction = true, custom_message = true }

--- Reads a branch page by page and calls back with what it says behind an entry, as Markdown.
---@param sidebar pisession.Sidebar
---@param leaf string
---@param ancestor string?
---@param done fun(lines: string[])
local function read_branch(sidebar, leaf, ancestor, done)
  local lines, is_behind = {}, ancestor == nil
  local function next_page(cursor)
    local params = { branch = leaf, limit = 1000, cursor = cursor }
    acts.ask(sidebar, 'session/entries', params, function(answer)
      for _, body in ipairs(answer.entries) do
        if is_behind and SAYS[body.type] then
          vim.list_extend(lines, require('pisession.entries').read(body, false).lines)
          lines[#lines + 1] = ''
        end
        is_behind = is_behind or body.id == ancestor
      end
      if answer.cursor then
        return next_page(answer.cursor)
      end
      done(lines)
    end)
  end
  next_page(nil)
end

---@param buffer integer
---@param title string
---@param place table where the window is split off
local function open_side(buffer, title, place)
  local window = vim.api.nvim_open_win(buffer, true, place)
  windows.set(window, 'winbar', ' ' .. (title:gsub('%%', '%%%%')))
  windows.set(window, 'wrap', true)
  vim.cmd.diffthis()
  vim.bo[buffer].filetype = 'markdown'
end

---@class pisession.Compared
---@field entry string the branch's end, or `leaf`
---@field name string

--- Shows two branches in a tab page of their own: figures, and a diff of what they say.
---@param sidebar pisession.Sidebar
---@param a pisession.Compared
---@param b pisession.Compared
function M.show(sidebar, a, b)
  local function show(answer)
    local ancestor = answer.ancestor
    local figures = make_buffer('figures')
    fill(figures, M.lines(answer, { a.name, b.name }, M.title_of(sidebar, ancestor)))
    vim.cmd.tabnew()
    local spare = vim.api.nvim_get_current_buf()
    vim.api.nvim_win_set_buf(0, figures)
    pcall(vim.api.nvim_buf_delete, spare, {})
    local top, left = vim.api.nvim_get_current_win(), make_buffer('A')
    local right = make_buffer('B')
    open_side(left, 'A  ' .. a.name, { split = 'below', win = top })
    open_side(right, 'B  ' .. b.name, { split = 'right', win = 0 })
    vim.api.nvim_win_set_height(top, vim.api.nvim_buf_line_count(figures))
    windows.set(top, 'winfixheight', true)
    for buffer, side in pairs({ [left] = a, [right] = b }) do
      local leaf = side.entry == 'leaf' and sidebar.session.info.leaf or side.entry
      read_branch(sidebar, leaf, ancestor, function(lines)
        fill(buffer, lines)
        vim.cmd.diffupdate()
      end)
    end
  end
  local params = { a = a.entry, b = b.entry }
  acts.ask(sidebar, 'session/compare', params, require('pisession.attention').keep(sidebar, show))
end

--- How the row of an entry reads, if it is among those shown.
---@param sidebar pisession.Sidebar
---@param entry string?
---@return string?
function M.title_of(sidebar, entry)
  for _, row in ipairs(sidebar.view.rows) do
    if entry and (row.last == entry or row.entry == entry) and row.kind ~= 'here' then
      return text.cut(text.clean(row.title), 70, '…')
    end
  end
end

local function name_of(row)
  return row.label and text.clean(row.label) or text.clean(row.title)
end

---@param sidebar pisession.Sidebar
---@param row pisession.Row
function M.with_leaf(sidebar, row)
  M.show(
    sidebar,
    { entry = 'leaf', name = 'active branch' },
    { entry = row.entry, name = name_of(row) }
  )
end

--- Compares the marked row with this one, or this one with the leaf.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.compare(sidebar, row)
  if not row or not row.entry then
    return sidebar:say('Put the cursor on what is to be compared.')
  elseif not sidebar.marked_entry or sidebar.marked == row.id then
    return M.with_leaf(sidebar, row)
  end
  local marked = sidebar.session:row(sidebar.marked)
  local name = marked and name_of(marked) or 'A'
  M.show(
    sidebar,
    { entry = sidebar.marked_entry, name = name },
    { entry = row.entry, name = name_of(row) }
  )
end

return M
