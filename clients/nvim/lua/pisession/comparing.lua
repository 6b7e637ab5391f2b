--- Two branches side by side: figures, and a diff of what was said since they parted.

local acts = require('pisession.acts')
local text = require('pisession.text')

local M = {}

local function figure(size)
  local tilde = size.source == 'measured' and '' or '~'
  return tilde
    .. text.tokens(size.tokens)
    .. (size.percent and (' ' .. tilde .. text.percent(size.percent)) or '')
end

local function difference(side, ancestor)
  if not ancestor then
    return ''
  end
  local more = side.size.tokens - ancestor.tokens
  return ('  (%s%s)'):format(more < 0 and '-' or '+', text.tokens(math.abs(more)))
end

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

local function both(one, other)
  local missing = only(one, other)
  return only(one, missing)
end

--- The figures of a comparison.
---@param answer table
---@param names string[]
---@return string[]
function M.lines(answer, names)
  local a, b = answer.a, answer.b
  local function line(name, left, right)
    return (' %-16s  %-26s %s'):format(name, left, right)
  end
  local function entries(side)
    return ('%d, %d %s'):format(side.entries, side.turns, side.turns == 1 and 'turn' or 'turns')
  end
  local function spent(side)
    return ('%s  $%.2f'):format(text.duration(side.seconds * 1000), side.cost)
  end
  local files_a, files_b = a.files.modified, b.files.modified
  local lines = {
    line('', 'A  ' .. text.cut(names[1], 22, '…'), 'B  ' .. text.cut(names[2], 22, '…')),
    line('entries', entries(a), entries(b)),
    line(
      'context',
      figure(a.size) .. difference(a, answer.ancestorSize),
      figure(b.size) .. difference(b, answer.ancestorSize)
    ),
    line('time, cost', spent(a), spent(b)),
    line('files, both', table.concat(both(files_a, files_b), ' '), ''),
    line(
      'files, one only',
      table.concat(only(files_a, files_b), ' '),
      table.concat(only(files_b, files_a), ' ')
    ),
  }
  return lines
end

local function branch_buffer(sidebar, name, entry, ancestor, filled)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].filetype = 'markdown'
  pcall(vim.api.nvim_buf_set_name, buffer, ('pisession-compare://%d/%s'):format(buffer, name))
  acts.ask(sidebar, 'session/entries', { branch = entry, limit = 5000 }, function(answer)
    local lines, is_behind = {}, ancestor == nil
    for _, body in ipairs(answer.entries) do
      if
        is_behind
        and (body.type == 'message' or body.type == 'branch_summary' or body.type == 'compaction')
      then
        vim.list_extend(lines, require('pisession.entries').markdown(body))
        lines[#lines + 1] = ''
      end
      is_behind = is_behind or body.id == ancestor
    end
    if vim.api.nvim_buf_is_valid(buffer) then
      vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
      vim.bo[buffer].modifiable = false
      filled()
    end
  end)
  return buffer
end

--- Shows two branches, each named by its end.
---@param sidebar pisession.Sidebar
---@param a string
---@param b string
---@param names string[]
function M.show(sidebar, a, b, names)
  acts.ask(sidebar, 'session/compare', { a = a, b = b }, function(answer)
    vim.cmd.tabnew()
    local figures = vim.api.nvim_get_current_buf()
    vim.bo[figures].buftype = 'nofile'
    vim.bo[figures].bufhidden = 'wipe'
    local lines = M.lines(answer, names)
    vim.api.nvim_buf_set_lines(figures, 0, -1, false, lines)
    vim.bo[figures].modifiable = false
    vim.keymap.set('n', 'q', vim.cmd.tabclose, { buffer = figures })
    local count = 0
    local function filled()
      count = count + 1
      if count == 2 then
        vim.cmd.diffupdate()
      end
    end
    for at, entry in ipairs({ a, b }) do
      local buffer = branch_buffer(
        sidebar,
        names[at],
        entry == 'leaf' and sidebar.session.info.leaf or entry,
        answer.ancestor,
        filled
      )
      vim.api.nvim_open_win(
        buffer,
        true,
        { split = at == 1 and 'below' or 'right', win = at == 1 and -1 or 0 }
      )
      vim.cmd.diffthis()
      vim.wo.wrap = true
      vim.keymap.set('n', 'q', vim.cmd.tabclose, { buffer = buffer })
    end
    vim.api.nvim_win_set_height(vim.fn.bufwinid(figures), #lines)
  end)
end

local function name_of(row)
  return row.label and text.clean(row.label) or text.clean(row.title)
end

function M.with_leaf(sidebar, row)
  M.show(sidebar, 'leaf', row.entry, { 'active branch', name_of(row) })
end

--- Compares the marked row with this one, or this one with the leaf.
function M.compare(sidebar, row)
  if not row or not row.entry then
    return sidebar:say('Put the cursor on what is to be compared.')
  elseif sidebar.marked_entry and sidebar.marked ~= row.id then
    local line = sidebar.view:line_of(sidebar.marked)
    local marked = line and sidebar.view:row_at(line)
    return M.show(
      sidebar,
      sidebar.marked_entry,
      row.entry,
      { marked and name_of(marked) or 'A', name_of(row) }
    )
  end
  M.with_leaf(sidebar, row)
end

return M
