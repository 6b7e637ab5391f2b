--- What the daemon refuses, as a sentence with the next step.

local M = {}

---@type table<string, fun(err: pisession.Error): string>
local SENTENCES = {
  LeafMoved = function()
    return 'The leaf has moved in the meantime; gl shows where, then try again.'
  end,
  Busy = function(err)
    local what =
      { compact = 'compacting', summarise = 'summarizing', fork = 'forking', navigate = 'moving' }
    local doing = what[err.data.operation] or err.data.operation or 'busy'
    return ('%s is %s; wait, or <C-c> cancels it.'):format(err.data.client or 'Somebody', doing)
  end,
  InvalidParams = function(err)
    if err.data.path == 'draft' then
      -- Drafts end with the daemon; what one made of this one is in its buffer.
      return 'The daemon no longer holds this draft; c, then r, makes another. Your text stays here.'
    end
    return err.message
  end,
  NoSummarizer = function()
    -- The daemon's own sentences say more than a line holds; the dry run shows them.
    return 'Nobody is set up to write summaries; c says what is missing, and e there does without.'
  end,
}

--- One sentence for an error.
---@param err pisession.Error
---@return string
function M.sentence(err)
  local known = SENTENCES[err.kind]
  return known and known(err) or err.message
end

---@param sidebar pisession.Sidebar
---@param err pisession.Error
function M.say(sidebar, err)
  sidebar:say(M.sentence(err))
end

return M
