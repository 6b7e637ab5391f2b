--- The signs rows are painted with: Unicode by default, ASCII, or icons of a patched font.

local M = {}

---@class pisession.Glyphs
---@field active string
---@field ahead string
---@field guide string
---@field leaf string
---@field branch string where an alternative leaves the active part of the main line
---@field side_branch string where one leaves an alternative
---@field arm string
---@field closed string
---@field open string
---@field deep string
---@field cut string
---@field omitted string
---@field replaced string
---@field forks string
---@field outside string the row a running pi stands at, or another program wrote last
---@field bar string[] empty and full cell
---@field due string where automatic compaction starts
---@field roles table<string, string>
---@field spelled table<string, string> how signs in titles are written

---@type pisession.Glyphs
M.unicode = {
  active = '┃',
  ahead = '┆',
  guide = '│',
  leaf = '●',
  branch = '┠',
  side_branch = '├',
  arm = '─',
  closed = '▸',
  open = '▾',
  deep = '›',
  cut = '…',
  omitted = 'x',
  replaced = '±',
  forks = '⑂',
  outside = '‹pi›',
  bar = { '▱', '▰' },
  due = '│',
  roles = {
    user = '»',
    answer = '«',
    work = '≡',
    step = '·',
    bash = '$',
    note = 'i',
    compaction = '▬',
    summarised = '▬',
    branchSummary = '~',
    meta = '·',
  },
  spelled = {},
}

---@type pisession.Glyphs
M.ascii = {
  active = '|',
  ahead = ':',
  guide = '|',
  leaf = '@',
  branch = '|',
  side_branch = '|',
  arm = '-',
  closed = '+',
  open = '-',
  deep = '>',
  cut = '~',
  omitted = 'x',
  replaced = '*',
  forks = 'Y',
  outside = '<pi>',
  bar = { '.', '#' },
  due = '|',
  roles = {
    user = '>',
    answer = '<',
    work = '=',
    step = '-',
    bash = '$',
    note = 'i',
    compaction = '#',
    summarised = '#',
    branchSummary = '~',
    meta = '.',
  },
  spelled = { ['→'] = '>', ['·'] = '-', ['…'] = '~', ['⇄'] = '<>' },
}

---@type pisession.Glyphs
M.nerd = vim.tbl_deep_extend('force', M.unicode, {
  roles = {
    user = '',
    answer = '󰚩',
    work = '',
    step = '',
    bash = '',
    note = '',
    compaction = '',
    summarised = '',
    branchSummary = '',
  },
})

--- The set for a wish; Unicode gives way to ASCII where the screen draws its signs two cells wide.
---@param wish 'unicode'|'ascii'|'nerd'
---@return pisession.Glyphs
function M.choose(wish)
  if wish == 'ascii' then
    return M.ascii
  end
  for _, sign in ipairs({ '┃', '│', '●', '«', '»', '▸' }) do
    if vim.fn.strdisplaywidth(sign) ~= 1 then
      return M.ascii
    end
  end
  return wish == 'nerd' and M.nerd or M.unicode
end

return M
