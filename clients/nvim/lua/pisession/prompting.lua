--- The prompt buffer: a message to be changed and sent, or appended to the session.

local M = {}

---@param sidebar pisession.Sidebar
---@param body string
function M.append(sidebar, body)
  if vim.trim(body) == '' then
    return sidebar:say('An empty message is not appended.')
  end
  local message = {
    role = 'user',
    content = { { type = 'text', text = body } },
    timestamp = os.time() * 1000,
  }
  require('pisession.acts').ask(
    sidebar,
    'session/append',
    { entry = { type = 'message', message = message } },
    function()
      sidebar:say('Appended; pi will see it when it opens the session.')
      sidebar:go_to('here')
    end
  )
end

local function is_empty(buffer)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  return #lines == 1 and lines[1] == ''
end

local function make(sidebar)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].buftype = 'acwrite'
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].filetype = 'markdown'
  pcall(vim.api.nvim_buf_set_name, buffer, ('pisession-prompt://%d'):format(sidebar.buffer))
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buffer,
    callback = function()
      local body = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
      vim.bo[buffer].modified = false
      M.append(sidebar, body)
      vim.api.nvim_buf_delete(buffer, { force = true })
    end,
  })
  return buffer
end

local function show(sidebar, buffer)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 then
    return vim.api.nvim_set_current_win(window)
  end
  local target =
    vim.api.nvim_open_win(buffer, true, { split = 'below', win = sidebar.window, height = 8 })
  vim.wo[target].winbar = ' Prompt: :w appends it, :q! drops it'
end

--- Opens the prompt with a text; a draft is replaced only after a question.
---@param sidebar pisession.Sidebar
---@param body string
function M.open(sidebar, body)
  local buffer = sidebar.prompt
  if not buffer or not vim.api.nvim_buf_is_valid(buffer) then
    buffer = make(sidebar)
    sidebar.prompt = buffer
  end
  local lines = vim.split(body, '\n')
  if body == '' then
    return show(sidebar, buffer)
  elseif is_empty(buffer) then
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    return show(sidebar, buffer)
  end
  vim.ui.select(
    { 'Keep my draft', 'Replace it' },
    { prompt = 'There is a draft in the prompt.' },
    function(choice)
      if choice == 'Replace it' then
        vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
      end
      show(sidebar, buffer)
    end
  )
end

return M
