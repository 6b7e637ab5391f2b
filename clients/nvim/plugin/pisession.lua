-- One command and the <Plug> mappings; everything else is loaded at the first use.

if vim.g.loaded_pisession then
  return
end
vim.g.loaded_pisession = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.api.nvim_create_user_command('Pisession', function()
    vim.notify('pisession needs Neovim 0.11 or newer.', vim.log.levels.ERROR)
  end, { nargs = '*' })
  return
end

vim.api.nvim_create_user_command('Pisession', function(command)
  require('pisession.command').run(command)
end, {
  nargs = '*',
  desc = "pi's sessions: their branch trees and context size",
  complete = function(lead, line)
    return require('pisession.command').complete(lead, line)
  end,
})

for _, act in ipairs({
  'enter',
  'undo',
  'go-to-leaf',
  'go-to-branch-point',
  'preview',
  'toggle-preview',
  'details',
  'context',
  'next-turn',
  'previous-turn',
  'next-branch',
  'previous-branch',
  'next-label',
  'previous-label',
  'next-compaction',
  'previous-compaction',
  'search',
  'next-hit',
  'previous-hit',
  'label',
  'omit',
  'compact',
  'fork',
  'clone',
  'mark',
  'compare',
  'find-branch',
  'next-filter',
  'choose-filter',
  'size-column',
  'sessions',
  'rename',
  'problems',
  'append',
  'prompt-pi',
  'steer-pi',
  'let-pi-read',
  'yank-text',
  'yank-id',
  'continue-in-pi',
  'fold-toggle',
  'fold-open',
  'fold-close',
  'fold-open-all',
  'fold-close-all',
  'cancel',
  'reload',
  'close',
  'help',
}) do
  vim.keymap.set('n', ('<Plug>(pisession-%s)'):format(act), function()
    require('pisession.acts').run((act:gsub('-', '_')))
  end)
end
vim.keymap.set('n', '<Plug>(pisession)', function()
  require('pisession').toggle()
end)
