--- `g?`: the keys and the signs, from the tables they are made of.

local text = require('pisession.text')

local M = {}

local KINDS = {
  { 'user', 'you' },
  { 'answer', 'answer' },
  { 'work', 'work, folded' },
  { 'step', 'tool call' },
  { 'bash', 'shell command' },
  { 'note', 'note' },
  { 'compaction', 'compaction' },
  { 'branchSummary', 'summary of a branch' },
}

---@param glyphs pisession.Glyphs
---@return string[]
local function signs(glyphs)
  local lines = { ' Signs' }
  local function say(sign, words)
    lines[#lines + 1] = ('   %s %s'):format(text.fill(sign, 3), words)
  end
  for _, kind in ipairs(KINDS) do
    say(glyphs.roles[kind[1]], kind[2])
  end
  say(glyphs.leaf, 'where you are')
  say(glyphs.active, 'the active branch')
  say(glyphs.ahead, 'ahead of where you are')
  say(glyphs.branch .. glyphs.arm, 'leaves the line here')
  say('+', 'unsaved')
  say('!2', 'failed steps, or a problem')
  say(glyphs.omitted, 'out of the context')
  say(glyphs.replaced, 'replaced in the context')
  say(glyphs.forks .. '1', 'forks made here')
  say('new', 'by somebody else')
  say(glyphs.outside, 'where a running pi stands')
  say('A', 'marked for compare')
  say('~', 'estimated')
  return lines
end

---@param left string[]
---@param right string[]
---@return string[]
local function beside(left, right)
  local width, lines = 0, {}
  for _, line in ipairs(left) do
    width = math.max(width, text.width(line))
  end
  for at = 1, math.max(#left, #right) do
    lines[at] = (text.fill(left[at] or '', width + 1) .. (right[at] or '')):gsub('%s+$', '')
  end
  return lines
end

---@param ... string[]
---@return string[]
local function below(...)
  local lines = {}
  for _, part in ipairs({ ... }) do
    vim.list_extend(lines, part)
  end
  return lines
end

--- The lines of the help: what is looked up most on top.
---@return string[]
function M.lines()
  local keys = require('pisession.keys').help()
  local glyphs = require('pisession.glyphs').choose(require('pisession.config').get().icons)
  local first = below(keys.Going or {}, keys.Folds or {}, keys.Acting or {})
  return beside(first, below(keys.Looking or {}, signs(glyphs)))
end

function M.show()
  require('pisession.float').open(M.lines(), { title = 'pisession' })
end

return M
