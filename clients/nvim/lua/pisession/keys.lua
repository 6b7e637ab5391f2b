--- The keys of the sidebar, in one table: they are mapped, completed and explained from it.

local M = {}

---@class pisession.Key
---@field keys string[]
---@field act string the function in `pisession.acts`
---@field what string for `g?`
---@field group string

---@type pisession.Key[]
M.table = {
  { keys = { '<CR>' }, act = 'enter', what = 'navigate (where, then how)', group = 'Going' },
  { keys = { 'u' }, act = 'undo', what = 'undo my last act', group = 'Acting' },
  { keys = { 'gl' }, act = 'go_to_leaf', what = 'to the leaf', group = 'Going' },
  {
    keys = { 'gp' },
    act = 'go_to_branch_point',
    what = 'to the branch point above',
    group = 'Going',
  },
  { keys = { 'p' }, act = 'preview', what = 'preview', group = 'Looking' },
  { keys = { 'P' }, act = 'toggle_preview', what = 'preview that follows', group = 'Looking' },
  { keys = { 'K' }, act = 'details', what = 'row details', group = 'Looking' },
  { keys = { 'i' }, act = 'context', what = 'what fills the context', group = 'Looking' },
  { keys = { ']]' }, act = 'next_turn', what = 'next turn', group = 'Going' },
  { keys = { '[[' }, act = 'previous_turn', what = 'previous turn', group = 'Going' },
  { keys = { ']b' }, act = 'next_branch', what = 'next branch point', group = 'Going' },
  { keys = { '[b' }, act = 'previous_branch', what = 'previous branch point', group = 'Going' },
  { keys = { ']l' }, act = 'next_label', what = 'next label', group = 'Going' },
  { keys = { '[l' }, act = 'previous_label', what = 'previous label', group = 'Going' },
  { keys = { ']c' }, act = 'next_compaction', what = 'next compaction', group = 'Going' },
  { keys = { '[c' }, act = 'previous_compaction', what = 'previous compaction', group = 'Going' },
  { keys = { 'g/' }, act = 'search', what = 'search in session', group = 'Looking' },
  { keys = { 'n' }, act = 'next_hit', what = 'next hit, of / too', group = 'Looking' },
  { keys = { 'N' }, act = 'previous_hit', what = 'previous hit', group = 'Looking' },
  { keys = { 'l' }, act = 'label', what = 'label (empty clears)', group = 'Acting' },
  { keys = { 'x' }, act = 'omit', what = 'out of the context and back', group = 'Acting' },
  { keys = { 'c' }, act = 'compact', what = 'compact (dry run first)', group = 'Acting' },
  { keys = { 'f' }, act = 'fork', what = 'fork', group = 'Acting' },
  { keys = { 'C' }, act = 'clone', what = 'clone', group = 'Acting' },
  { keys = { 'm' }, act = 'mark', what = 'mark for compare', group = 'Looking' },
  { keys = { 'd' }, act = 'compare', what = 'compare', group = 'Looking' },
  { keys = { 'gb' }, act = 'find_branch', what = 'find branch', group = 'Going' },
  { keys = { 'F' }, act = 'next_filter', what = 'next filter', group = 'Looking' },
  { keys = { 'gF' }, act = 'choose_filter', what = 'choose a filter', group = 'Looking' },
  { keys = { 's' }, act = 'size_column', what = 'size column', group = 'Looking' },
  { keys = { '-' }, act = 'sessions', what = 'sessions', group = 'Going' },
  { keys = { 'r' }, act = 'rename', what = 'rename', group = 'Acting' },
  { keys = { '!' }, act = 'problems', what = 'problems', group = 'Looking' },
  { keys = { 'a' }, act = 'append', what = 'message: to pi, or appended', group = 'Acting' },
  { keys = { 'A' }, act = 'prompt_pi', what = 'prompt pi', group = 'Acting' },
  { keys = { 'gs' }, act = 'steer_pi', what = 'steer pi', group = 'Acting' },
  { keys = { 'R' }, act = 'let_pi_read', what = 'let pi read what it missed', group = 'Acting' },
  { keys = { 'y' }, act = 'yank_text', what = 'yank text', group = 'Looking' },
  { keys = { 'Y' }, act = 'yank_id', what = 'yank id', group = 'Looking' },
  { keys = { 'gx' }, act = 'continue_in_pi', what = 'continue in pi', group = 'Acting' },
  { keys = { '<Tab>', 'za' }, act = 'fold_toggle', what = 'open or close', group = 'Folds' },
  { keys = { 'zo' }, act = 'fold_open', what = 'open', group = 'Folds' },
  { keys = { 'zc' }, act = 'fold_close', what = 'close', group = 'Folds' },
  { keys = { 'zR' }, act = 'fold_open_all', what = 'open all in sight', group = 'Folds' },
  { keys = { 'zM' }, act = 'fold_close_all', what = 'close all', group = 'Folds' },
  { keys = { '<C-c>' }, act = 'cancel', what = 'stop what runs', group = 'Acting' },
  { keys = { '<C-l>' }, act = 'reload', what = 'read anew', group = 'Looking' },
  { keys = { 'q' }, act = 'close', what = 'close', group = 'Going' },
  { keys = { 'g?' }, act = 'help', what = 'this help', group = 'Looking' },
}

--- The key of an act as the user has it: by an option, by a `<Plug>` mapping of his, or as here.
local function chosen_keys(key, wished)
  local found = {}
  for lhs, act in pairs(wished) do
    if act == key.act then
      found[#found + 1] = lhs
    end
  end
  for _, lhs in ipairs(key.keys) do
    if wished[lhs] == nil then
      found[#found + 1] = lhs
    end
  end
  return found
end

--- Maps the keys in a sidebar's buffer.
---@param sidebar pisession.Sidebar
function M.map(sidebar)
  local wished = require('pisession.config').get().keys
  for _, key in ipairs(M.table) do
    local plug = ('<Plug>(pisession-%s)'):format(key.act:gsub('_', '-'))
    for _, lhs in ipairs(chosen_keys(key, wished)) do
      vim.keymap.set(
        'n',
        lhs,
        plug,
        { buffer = sidebar.buffer, desc = 'pisession: ' .. key.what, remap = true }
      )
    end
  end
  vim.keymap.set(
    'n',
    '<2-LeftMouse>',
    '<Plug>(pisession-preview)',
    { buffer = sidebar.buffer, remap = true }
  )
end

--- The lines of the help: keys by group.
---@return table<string, string[]>
function M.help()
  local wished = require('pisession.config').get().keys
  local groups = {}
  for _, key in ipairs(M.table) do
    local keys = chosen_keys(key, wished)
    if #keys > 0 then
      local lines = groups[key.group] or { ' ' .. key.group }
      lines[#lines + 1] = ('   %-9s %s'):format(table.concat(keys, ' '), key.what)
      groups[key.group] = lines
    end
  end
  return groups
end

return M
