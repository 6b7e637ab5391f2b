--- The sessions of the folder, forks under what they were forked from, and going on in pi.

local rpc = require('pisession.rpc')
local text = require('pisession.text')

local M = {}

local function size_of(one)
  local size = one.contextSize
  if not size then
    return ''
  end
  return (size.source == 'measured' and '' or '~') .. text.tokens(size.tokens)
end

local function title_of(one)
  if one.name then
    return text.clean(one.name)
  elseif one.fork and one.fork.firstMessage then
    return text.clean(one.fork.firstMessage)
  end
  return text.clean(one.firstMessage or 'nothing said yet')
end

local function words_of(one)
  local clock, date, day = text.clock(one.modified)
  local parts = { size_of(one), day == os.date('%Y-%m-%d') and clock or date }
  if one.unsaved then
    parts[#parts + 1] = 'unsaved'
  end
  if one.live then
    parts[#parts + 1] = 'live'
  end
  if one.open > 1 then
    parts[#parts + 1] = one.open .. ' windows'
  end
  if one.fork and one.fork.preview then
    parts[#parts + 1] = ('at "%s"'):format(text.cut(text.clean(one.fork.preview), 20, '…'))
  end
  return table.concat(
    vim.tbl_filter(function(part)
      return part and part ~= ''
    end, parts),
    ' · '
  )
end

--- The lines of the list, one a session.
---@param listed table[]
---@param current string?
---@param width integer
---@return string[]
function M.lines(listed, current, width)
  local lines = {}
  for at, one in ipairs(listed) do
    local sign = one.session == current and '●' or '○'
    local lineage = one.depth > 0 and ((' │'):rep(one.depth - 1) .. ' ├ ⑂ ')
      or (' ' .. sign .. ' ')
    local right = words_of(one)
    local room = width - text.width(lineage) - text.width(right) - 2
    lines[at] = lineage
      .. text.fill(text.cut(title_of(one), math.max(room, 12), '…'), math.max(room, 12))
      .. ' '
      .. right
  end
  return lines
end

local function show(sidebar, answer, cwd)
  local listed = answer.sessions
  local width = math.max(vim.api.nvim_win_get_width(sidebar.window), 60)
  local lines = M.lines(listed, sidebar.session.handle, width)
  if #lines == 0 then
    lines = { cwd and ' No pi session in this folder yet.' or ' No pi session yet.' }
  end
  lines[#lines + 1] = ''
  lines[#lines + 1] = cwd and ' <CR> open   a all folders   n new   q close'
    or ' <CR> open   h this folder   n new   q close'
  local window
  window = require('pisession.float').open(lines, {
    title = cwd and 'Sessions, this folder' or 'Sessions, all folders',
    width = width,
    stay = {
      ['<CR>'] = function()
        local one = listed[vim.api.nvim_win_get_cursor(window)[1]]
        if one then
          vim.api.nvim_win_close(window, true)
          sidebar:switch(
            one.path and not one.unsaved and { path = one.path } or { session = one.session }
          )
        end
      end,
    },
    keys = {
      a = function()
        M.list(sidebar, nil)
      end,
      h = function()
        M.list(sidebar, vim.fn.getcwd())
      end,
      n = function()
        M.new(sidebar)
      end,
    },
  })
end

---@param sidebar pisession.Sidebar
---@param cwd string?
function M.list(sidebar, cwd)
  rpc.request('session/list', { cwd = cwd, limit = 100 }, function(err, answer)
    if err then
      return require('pisession.refusals').say(sidebar, err)
    end
    show(sidebar, answer, cwd)
  end)
end

function M.open(sidebar)
  M.list(sidebar, vim.fn.getcwd())
end

--- A new session of this folder; its file appears with the first answer.
function M.new(sidebar)
  rpc.request('session/create', { cwd = vim.fn.getcwd() }, function(err, answer)
    if err then
      return require('pisession.refusals').say(sidebar, err)
    end
    sidebar:switch({ session = answer.session })
  end)
end

--- A terminal with pi on this session, in the session's folder.
function M.continue_in_pi(sidebar)
  local info = sidebar.session.info
  local program = require('pisession.config').get().pi
  if info.unsaved or not info.path then
    return sidebar:say(
      'The session is not on disk yet; pi can go on with it after the first answer.'
    )
  elseif vim.fn.executable(program[1]) ~= 1 then
    return sidebar:say(('%s is not installed, or the option pi names another.'):format(program[1]))
  end
  local cwd = info.header.cwd
  if not cwd or vim.fn.isdirectory(cwd) ~= 1 then
    cwd = vim.fn.getcwd()
  end
  vim.cmd.tabnew()
  vim.fn.jobstart(
    vim.list_extend(vim.deepcopy(program), { '--session', info.path }),
    { term = true, cwd = cwd }
  )
  vim.cmd.startinsert()
end

return M
