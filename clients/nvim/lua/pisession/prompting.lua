--- The prompt buffer: a message to be changed and sent, or appended to the session.

local acts = require('pisession.acts')
local windows = require('pisession.window')

local M = {}

--- Lines of its window.
local HEIGHT = 8

--- Appends a message of the user's.
---@param sidebar pisession.Sidebar
---@param body string
---@param done fun()?
---@param left fun()?
function M.append(sidebar, body, done, left)
  if vim.trim(body) == '' then
    return sidebar:say('An empty message is not appended.')
  end
  local content = { { type = 'text', text = body } }
  local message = { role = 'user', content = content, timestamp = os.time() * 1000 }
  local params = { entry = { type = 'message', message = message } }
  acts.ask(sidebar, 'session/append', params, function()
    sidebar:say('Appended; pi answers it when it goes on with the session.')
    sidebar:reveal('here')
    if done then
      done()
    end
  end, left)
end

---@param buffer integer
---@return string
local function text_of(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
end

---@alias pisession.PromptFor 'append'|'pi'|'steer'

local WHAT_WRITING_DOES = {
  append = ' Prompt: :w appends it, :q! drops it',
  pi = ' Prompt: :w sends it to pi, :q! drops it',
  steer = ' Prompt: :w steers pi with it, :q! drops it',
}

local ELSEWHERE = 'Another session is shown by now; a in the sidebar takes this draft along.'

--- Has the prompt appended or sent. It goes once that was done, but for what was typed meanwhile.
---@param sidebar pisession.Sidebar
---@param buffer integer
local function write(sidebar, buffer)
  local sent, body = vim.api.nvim_buf_get_changedtick(buffer), text_of(buffer)
  local function delivered()
    sidebar.appending = nil
    if not vim.api.nvim_buf_is_valid(buffer) then
      return
    elseif vim.api.nvim_buf_get_changedtick(buffer) == sent then
      return vim.api.nvim_buf_delete(buffer, { force = true })
    end
    sidebar:say('It was taken as it was; the prompt has changed since and stays.')
  end
  if sidebar.prompt_for ~= 'append' then
    local deliver = sidebar.prompt_for == 'steer' and 'steer' or nil
    return require('pisession.running').send(sidebar, body, deliver, delivered)
  elseif vim.trim(body) ~= '' then
    local under_way = sidebar.appending
    if under_way and under_way.session == sidebar.session and under_way.tick == sent then
      return sidebar:say('It is on its way already.')
    end
    sidebar.appending = { session = sidebar.session, tick = sent }
  end
  M.append(sidebar, body, delivered, function()
    sidebar.appending = nil
  end)
end

--- The prompt stays as it is until the message is appended or sent: a refusal loses no word.
---@param sidebar pisession.Sidebar
---@return integer buffer
local function make(sidebar)
  local buffer = vim.api.nvim_create_buf(false, true)
  pcall(vim.api.nvim_buf_set_name, buffer, ('pisession-prompt://%d'):format(sidebar.buffer))
  vim.bo[buffer].buftype = 'acwrite'
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].filetype = 'markdown'
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buffer,
    callback = function()
      sidebar.write_prompt()
    end,
  })
  vim.api.nvim_create_autocmd('QuitPre', {
    buffer = buffer,
    callback = function()
      -- `:q!` drops the draft; a mere `:q` is refused by Neovim while there is one.
      vim.bo[buffer].bufhidden = 'wipe'
    end,
  })
  return buffer
end

---@param sidebar pisession.Sidebar
---@param buffer integer
local function show(sidebar, buffer)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    vim.api.nvim_set_current_win(window)
  else
    local below = sidebar:is_visible() and sidebar.window or 0
    window = vim.api.nvim_open_win(buffer, true, { split = 'below', win = below, height = HEIGHT })
  end
  windows.set(window, 'winbar', WHAT_WRITING_DOES[sidebar.prompt_for])
end

---@param sidebar pisession.Sidebar
---@return integer buffer
local function buffer_of(sidebar)
  if not sidebar.prompt or not vim.api.nvim_buf_is_valid(sidebar.prompt) then
    sidebar.prompt = make(sidebar)
  end
  return sidebar.prompt
end

--- Opens the prompt with a text; a draft is replaced only after a question.
---@param sidebar pisession.Sidebar
---@param body string empty: the draft, or an empty prompt
---@param whom pisession.PromptFor? nil: pi where one can be prompted, else it is appended
function M.open(sidebar, body, whom)
  local is_driven = #require('pisession.pis').driven(sidebar.session) > 0
  sidebar.prompt_for = whom or is_driven and 'pi' or 'append'
  local buffer = buffer_of(sidebar)
  sidebar.write_prompt = acts.bind(sidebar, function()
    write(sidebar, buffer)
  end, ELSEWHERE)
  local draft, lines = text_of(buffer), vim.split(body, '\n')
  if body == '' or draft == body then
    return show(sidebar, buffer)
  elseif draft == '' then
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    return show(sidebar, buffer)
  end
  local asked = { prompt = 'There is a draft in the prompt.' }
  vim.ui.select({ 'Keep my draft', 'Replace it' }, asked, function(choice)
    if choice == 'Replace it' then
      vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    end
    show(sidebar, buffer)
  end)
end

return M
