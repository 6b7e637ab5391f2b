-- pi's session files through Neovim's own client: `vim.lsp.enable('pisessiond')`.
--
-- It stands alone: without the plugin, copy it to `lsp/` in your configuration.

--- Sends the command with the label that was given or is asked for; LSP itself asks for no text.
---@param command lsp.Command
---@param context { client_id: integer, bufnr: integer }
local function label(command, context)
  local client = assert(vim.lsp.get_client_by_id(context.client_id))
  local target = command.arguments[1]
  local function send(text)
    if text then
      local arguments = { vim.tbl_extend('force', target, { label = text }) }
      local params = { command = command.command, arguments = arguments }
      client:request('workspace/executeCommand', params, nil, context.bufnr)
    end
  end
  if target.label then
    send(target.label)
  else
    vim.ui.input({ prompt = 'Label: ' }, send)
  end
end

---@type vim.lsp.Config
return {
  cmd = { 'pisessiond', 'attach' },
  filetypes = { 'jsonl' },
  -- Other files of lines of JSON are left alone; one client serves all sessions.
  root_dir = function(bufnr, start)
    local first = vim.api.nvim_buf_get_lines(bufnr, 0, 1, false)[1] or ''
    if first:find('"type"%s*:%s*"session"') then
      start(nil)
    end
  end,
  capabilities = { experimental = { pisessiond = { asksForLabels = true } } },
  commands = { ['pisessiond.lsp.label'] = label },
}
