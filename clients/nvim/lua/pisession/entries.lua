--- Bodies of entries for reading: as plain text, and as Markdown with thinking and output folded.

local text = require('pisession.text')

local M = {}

local function blocks_of(content)
  if type(content) == 'string' then
    return { { type = 'text', text = content } }
  end
  return type(content) == 'table' and content or {}
end

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
    local indent = line:match('^ *')
    kept[#kept + 1] = indent .. text.clean(line)
  end
  return kept
end

local function fenced(lines, body, language)
  local fence = '```'
  while body:find(fence, 1, true) do
    fence = fence .. '`'
  end
  lines[#lines + 1] = fence .. (language or '')
  vim.list_extend(lines, M.lines(body))
  lines[#lines + 1] = fence
end

local function folded(lines, heading, body, language)
  lines[#lines + 1] = heading .. ' {{{'
  fenced(lines, body, language)
  lines[#lines + 1] = '}}}'
end

local function answer_lines(lines, message)
  for _, block in ipairs(blocks_of(message.content)) do
    if block.type == 'text' then
      vim.list_extend(lines, M.lines(block.text or ''))
    elseif block.type == 'thinking' then
      folded(lines, '*thinking*', block.thinking or '')
    elseif block.type == 'toolCall' then
      folded(
        lines,
        ('**%s**'):format(block.name or 'call'),
        vim.json.encode(block.arguments or vim.empty_dict()),
        'json'
      )
    end
    lines[#lines + 1] = ''
  end
  if message.errorMessage then
    lines[#lines + 1] = 'error: ' .. text.clean(message.errorMessage)
  end
end

local ROLES = {
  user = 'You',
  assistant = 'Answer',
  toolResult = 'Result',
  bashExecution = 'Shell',
  system = 'System',
}

--- An entry as Markdown.
---@param entry table
---@return string[]
function M.markdown(entry)
  local message = type(entry.message) == 'table' and entry.message or {}
  local clock, date = text.clock(entry.timestamp)
  local when = clock and (' · %s %s'):format(date, clock) or ''
  local lines = { ('# %s%s'):format(ROLES[message.role] or entry.type or 'entry', when), '' }
  if message.role == 'assistant' then
    answer_lines(lines, message)
  elseif message.role == 'toolResult' then
    folded(
      lines,
      ('**%s**%s'):format(message.toolName or 'tool', message.isError and ' failed' or ''),
      texts(message.content)
    )
  elseif message.role == 'bashExecution' then
    folded(lines, ('`%s`'):format(text.clean(message.command or '')), message.output or '')
  else
    vim.list_extend(lines, M.lines(M.plain(entry)))
  end
  return lines
end

return M
