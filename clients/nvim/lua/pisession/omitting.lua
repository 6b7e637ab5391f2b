--- Out of the context and back: at once, since the same key puts it back.

local acts = require('pisession.acts')
local text = require('pisession.text')

local M = {}

local NOTE = 'This result was taken out of the context.'
local CLOSED = {
  summarised = true,
  alternative = true,
  group = true,
  ahead = true,
  here = true,
  compaction = true,
}

--- What stands in place of an entry: nothing, or for a result a note, so that its call keeps one.
---@param body table
---@return table|vim.NIL
local function replacement_for(body)
  local message = type(body.message) == 'table' and body.message or {}
  if message.role == 'toolResult' then
    return { content = { { type = 'text', text = NOTE } } }
  end
  return vim.NIL
end

---@param before pisession.ContextSize?
---@param after pisession.ContextSize
---@param is_back boolean
---@return string
local function said(before, after, is_back)
  local again = is_back and 'x takes it out' or 'x puts it back'
  if not before then
    return ('Done; %s.'):format(again)
  end
  local difference = after.tokens - before.tokens
  local sign = difference <= 0 and '−' or '+'
  return ('%s%s, %s → %s, %s'):format(
    sign,
    text.tokens(math.abs(difference)),
    text.tokens(before.tokens),
    text.tokens(after.tokens),
    again
  )
end

---@class pisession.Edit
---@field target string
---@field replacement table|string|vim.NIL

--- Sends edits one after the other, and says what they came to.
---@param sidebar pisession.Sidebar
---@param edits pisession.Edit[]
---@param undo table[]
---@param before pisession.ContextSize?
---@param is_back boolean
local function edit_all(sidebar, edits, undo, before, is_back)
  local function step(at)
    acts.ask(sidebar, 'session/editContext', edits[at], function(answer)
      if edits[at + 1] then
        return step(at + 1)
      end
      acts.remember(sidebar, answer, undo, 'It is as before.')
      acts.ask(sidebar, 'session/contextSize', {}, function(after)
        sidebar:say(said(before, after, is_back))
      end)
    end)
  end
  step(1)
end

---@param sidebar pisession.Sidebar
---@param ids string[]
---@param is_back boolean
local function edit(sidebar, ids, is_back)
  acts.ask(sidebar, 'session/entries', { ids = ids }, function(answer)
    local edits, undo = {}, {}
    for at, body in ipairs(answer.entries) do
      local gone = replacement_for(body)
      edits[at] = { target = body.id, replacement = is_back and 'restore' or gone }
      undo[at] = {
        method = 'session/editContext',
        params = { target = body.id, replacement = is_back and gone or 'restore' },
      }
    end
    if #edits > 0 then
      edit_all(sidebar, edits, undo, sidebar.session.size, is_back)
    end
  end)
end

--- Why a row cannot be taken out, in a sentence with the next step.
---@param row pisession.Row?
---@return string?
local function reason_against(row)
  if not row or not row.entry then
    return 'This row stands for nothing that could be taken out.'
  elseif vim.tbl_contains(row.flags, 'notInContext') or row.kind == 'summarised' then
    return 'It is summarised and no longer in the context.'
  elseif not vim.tbl_contains(row.flags, 'active') then
    return 'Only what is on the active branch is in the context; navigate there first.'
  elseif CLOSED[row.kind] then
    return 'This row cannot be taken out of the context.'
  end
end

---@param row pisession.Row
---@return boolean
local function is_out(row)
  return vim.tbl_contains(row.flags, 'omitted') or vim.tbl_contains(row.flags, 'replaced')
end

--- All results of work go, or come back where all of them are out.
---@param sidebar pisession.Sidebar
---@param work pisession.Row
local function toggle_work(sidebar, work)
  sidebar.session:ask_rows({ level = work.id, count = 1000 }, function(page)
    local all, still_in = {}, {}
    for _, row in ipairs(page.rows) do
      if row.kind == 'step' then
        all[#all + 1] = row.entry
        still_in[#still_in + 1] = not is_out(row) and row.entry or nil
      end
    end
    local is_back = #still_in == 0
    edit(sidebar, is_back and all or still_in, is_back)
  end, function(err)
    require('pisession.refusals').say(sidebar, err)
  end)
end

--- Takes a row's entry out of the context, of work all its results, or puts it back.
---@param sidebar pisession.Sidebar
---@param row pisession.Row?
function M.toggle(sidebar, row)
  local reason = reason_against(row)
  if reason or not row then
    return sidebar:say(reason or '')
  elseif row.kind == 'work' then
    return toggle_work(sidebar, row)
  end
  edit(sidebar, { row.entry }, is_out(row))
end

return M
