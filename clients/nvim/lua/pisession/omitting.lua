--- Out of the context and back: at once, since the same key puts it back.

local text = require('pisession.text')

local M = {}

local NOTE = 'This result was taken out of the context.'

local function entries_of(row)
  return row.kind ~= 'summarised'
    and row.kind ~= 'alternative'
    and row.kind ~= 'group'
    and row.kind ~= 'ahead'
end

--- What stands in place of an entry: nothing, or for a result a note, so that its call keeps one.
local function replacement_for(body)
  local message = type(body.message) == 'table' and body.message or {}
  if message.role == 'toolResult' then
    return { content = { { type = 'text', text = NOTE } } }
  end
  return vim.NIL
end

local function said(before, after)
  if not before or not after then
    return 'Done; x puts it back.'
  end
  local difference = after.tokens - before.tokens
  local sign = difference < 0 and '−' or '+'
  return ('%s%s, %s → %s, x puts it back'):format(
    sign,
    text.tokens(math.abs(difference)),
    text.tokens(before.tokens),
    text.tokens(after.tokens)
  )
end

local function edit_all(sidebar, edits, at, before)
  local edit = edits[at]
  if not edit then
    local after = sidebar.session.size
    return vim.defer_fn(function()
      sidebar:say(said(before, sidebar.session.size or after))
    end, 60)
  end
  require('pisession.acts').ask(sidebar, 'session/editContext', edit, function(answer)
    if #edits == 1 then
      local back = edit.replacement == 'restore' and vim.NIL or 'restore'
      local params = { target = edit.target, replacement = back }
      require('pisession.acts').remember(
        sidebar,
        answer,
        'session/editContext',
        params,
        'It is as before.'
      )
    end
    edit_all(sidebar, edits, at + 1, before)
  end)
end

local function with_bodies(sidebar, ids, is_back)
  require('pisession.acts').ask(sidebar, 'session/entries', { ids = ids }, function(answer)
    local edits = {}
    for _, body in ipairs(answer.entries) do
      edits[#edits + 1] = {
        target = body.id,
        replacement = is_back and 'restore' or replacement_for(body),
        baseLeaf = nil,
      }
    end
    edit_all(sidebar, edits, 1, sidebar.session.size)
  end)
end

---@param sidebar pisession.Sidebar
---@param row table?
function M.toggle(sidebar, row)
  if not row or not row.entry then
    return sidebar:say('This row stands for nothing that could be taken out.')
  elseif vim.tbl_contains(row.flags, 'notInContext') or row.kind == 'summarised' then
    return sidebar:say('It is summarised and no longer in the context.')
  elseif not vim.tbl_contains(row.flags, 'active') then
    return sidebar:say('Only what is on the active branch is in the context; navigate there first.')
  elseif not entries_of(row) or row.kind == 'here' or row.kind == 'compaction' then
    return sidebar:say('This row cannot be taken out of the context.')
  end
  local is_out = vim.tbl_contains(row.flags, 'omitted') or vim.tbl_contains(row.flags, 'replaced')
  if row.kind ~= 'work' then
    return with_bodies(sidebar, { row.entry }, is_out)
  end
  -- Of work, all its results.
  sidebar.session:ask_rows(
    {
      session = sidebar.session.handle,
      level = row.id,
      count = 1000,
      filter = sidebar.session.filter,
    },
    function(page)
      local ids = {}
      for _, inner in ipairs(page.rows) do
        if inner.kind == 'step' then
          ids[#ids + 1] = inner.entry
        end
      end
      with_bodies(sidebar, ids, is_out)
    end
  )
end

return M
