--- Bodies of entries for reading: as plain text, and as Markdown with thinking and output to fold.

local text = require('pisession.text')

local M = {}

local function blocks_of(content)
  if type(content) == 'string' then
    return { { type = 'text', text = content } }
  end
  return type(content) == 'table' and content or {}
end

---@return string
local function texts(content)
  local parts = {}
  for _, block in ipairs(blocks_of(content)) do
    if block.type == 'text' and type(block.text) == 'string' then
      parts[#parts + 1] = block.text
    elseif block.type == 'image' then
      parts[#parts + 1] = '[image]'
    end
  end
  return table.concat(parts, '\n')
end

--- What an entry says, as it would be pasted.
---@param entry table
---@return string
function M.plain(entry)
  local message = entry.message
  if entry.type == 'message' and type(message) == 'table' then
    if message.role == 'bashExecution' then
      return ('%s\n%s'):format(message.command or '', message.output or '')
    end
    return texts(message.content)
  elseif entry.type == 'custom_message' then
    return texts(entry.content)
  elseif type(entry.summary) == 'string' then
    return entry.summary
  end
  return vim.json.encode(entry)
end

--- Lines fit for a buffer: nothing in them acts on the screen.
---@param body string
---@return string[]
function M.lines(body)
  local kept = {}
  for _, line in ipairs(vim.split(body:gsub('\r\n', '\n'), '[\n\r]')) do
    line = line:gsub('\t', '    ')
    kept[#kept + 1] = line:match('^ *') .. text.clean(line)
  end
  return kept
end

---@class pisession.Reading
---@field lines string[]
---@field folds integer[][] first and last line of each, counted from 1
local Reading = {}
Reading.__index = Reading

---@param lines string[]
function Reading:add(lines)
  vim.list_extend(self.lines, lines)
end

--- What is told in one line and can be opened.
---@param heading string
---@param body string
---@param language string?
function Reading:add_folded(heading, body, language)
  local fence = '```'
  while body:find(fence, 1, true) do
    fence = fence .. '`'
  end
  local lines = M.lines(body)
  self:add({ ('%s · %d %s'):format(heading, #lines, #lines == 1 and 'line' or 'lines') })
  local first = #self.lines + 1
  self:add({ fence .. (language or '') })
  self:add(lines)
  self:add({ fence })
  self.folds[#self.folds + 1] = { first, #self.lines }
end

---@param message table
function Reading:add_answer(message)
  for _, block in ipairs(blocks_of(message.content)) do
    if block.type == 'text' then
      self:add(M.lines(block.text or ''))
    elseif block.type == 'thinking' then
      self:add_folded('*thinking*', block.thinking or '')
    elseif block.type == 'toolCall' then
      local arguments = vim.json.encode(block.arguments or vim.empty_dict())
      self:add_folded(('**%s**'):format(text.clean(block.name or 'call')), arguments, 'json')
    end
    self:add({ '' })
  end
  if message.errorMessage then
    self:add({ 'error: ' .. text.clean(message.errorMessage) })
  end
end

local ROLES = {
  user = 'You',
  assistant = 'Answer',
  toolResult = 'Result',
  bashExecution = 'Shell',
  system = 'System',
}

---@param entry table
---@param message table
---@param is_timed boolean
---@return string
local function heading_of(entry, message, is_timed)
  local clock, date = text.clock(entry.timestamp)
  local when = is_timed and clock and (' · %s %s'):format(date, clock) or ''
  return ('# %s%s'):format(ROLES[message.role] or text.clean(entry.type or 'entry'), when)
end

--- An entry as Markdown.
---@param entry table
---@param is_timed boolean? default true
---@return pisession.Reading
function M.read(entry, is_timed)
  local self = setmetatable({ lines = {}, folds = {} }, Reading)
  local message = type(entry.message) == 'table' and entry.message or {}
  self:add({ heading_of(entry, message, is_timed ~= false), '' })
  if message.role == 'assistant' then
    self:add_answer(message)
  elseif message.role == 'toolResult' then
    local tool = text.clean(message.toolName or 'tool')
    self:add_folded(
      ('**%s**%s'):format(tool, message.isError and ' failed' or ''),
      texts(message.content)
    )
  elseif message.role == 'bashExecution' then
    self:add_folded(('`%s`'):format(text.clean(message.command or '')), message.output or '')
  else
    self:add(M.lines(M.plain(entry)))
  end
  return self
end

return M
