--- What the daemon refuses, as a sentence with the next step.

local M = {}

---@type table<string, fun(err: pisession.Error): string>
local SENTENCES = {
  LeafMoved = function()
    return 'The leaf has moved in the meantime; gl shows where, then try again.'
  end,
  Busy = function(err)
    if err.data.operation == 'pi does not answer' then
      return 'pi does not answer; look at its terminal.'
    elseif err.data.client == 'pi' then
      return 'pi is at work; try again when it is idle, or <C-c> stops it.'
    end
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
  Unsupported = function(err)
    if err.data.needs == 'session/reread' then
      return 'pi has not read that entry yet; R lets it.'
    elseif err.data.needs == 'a pi that has it open' then
      return 'No running pi has this session open; gx goes on with it in one.'
    end
    return (err.message:gsub(" It would need the user's yes in pi%.$", ''))
  end,
  SessionChanged = function()
    return 'That pi has another session open by now; - lists which.'
  end,
  PiUnknown = function()
    return 'pi gave no answer and may have done it; look at the rows before you try again.'
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
