--- Highlight groups, each linked to a standard one that every colour scheme has.

local M = {}

local LINKS = {
  PisessionSpine = 'Function',
  PisessionRole = 'Normal',
  PisessionText = 'Normal',
  PisessionUser = 'Title',
  -- NonText is too faint in many schemes.
  PisessionWork = 'Comment',
  PisessionAside = 'Comment',
  PisessionCompaction = 'Special',
  PisessionLabel = 'Special',
  PisessionLeaf = 'Function',
  PisessionLeafLine = 'Visual',
  PisessionRight = 'Comment',
  PisessionWarn = 'DiagnosticWarn',
  PisessionHigh = 'DiagnosticError',
  PisessionError = 'DiagnosticError',
  PisessionOmitted = 'DiagnosticDeprecated',
  PisessionHeader = 'Title',
  PisessionHint = 'Comment',
  PisessionKey = 'Special',
}

function M.define()
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
