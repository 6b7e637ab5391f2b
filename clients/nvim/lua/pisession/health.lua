--- `:checkhealth pisession`

local M = {}

function M.check()
  local health = vim.health
  health.start('pisession')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.11 or newer is needed.', 'Update Neovim.')
  end
  local ok, config = pcall(function()
    return require('pisession.config').get()
  end)
  if not ok then
    return health.error(tostring(config), ':help pisession-config')
  end
  M.check_program(health, config)
  M.check_glyphs(health, config)
  M.check_connection(health)
  M.check_bridge(health)
end

function M.check_program(health, config)
  if config.socket then
    local stat = vim.uv.fs_stat(vim.fs.normalize(config.socket))
    if stat and stat.type == 'socket' then
      health.ok('The option socket names a socket.')
    else
      health.error(
        'No daemon listens at the socket named by the option.',
        'pisessiond serve --socket PATH'
      )
    end
    return
  end
  local program = config.cmd[1]
  if vim.fn.executable(program) ~= 1 then
    return health.error(program .. ' is not installed, or not in PATH.', {
      'pipx install pisessiond',
      'or name it: require("pisession").setup({ cmd = { "/path/to/pisessiond", "attach" } })',
    })
  end
  if vim.fs.basename(program) ~= 'pisessiond' then
    return health.ok(('%s reaches the daemon.'):format(program))
  end
  local version = vim.system({ program, '--version' }, { text = true }):wait(5000)
  health.ok(vim.trim(version.stdout or program))
end

function M.check_glyphs(health, config)
  local glyphs = require('pisession.glyphs')
  if config.icons ~= 'ascii' and glyphs.choose(config.icons) == glyphs.ascii then
    health.warn(
      'Signs are two cells wide here (ambiwidth), so rows are painted in ASCII.',
      'set ambiwidth=single'
    )
  else
    health.ok('Signs: ' .. config.icons)
  end
end

function M.check_connection(health)
  local rpc = require('pisession.rpc')
  rpc.acquire()
  vim.wait(8000, function()
    return rpc.connection.state ~= 'connecting'
  end, 20)
  if rpc.connection.state == 'ready' then
    health.ok(
      ('The daemon answers: build %s, protocol %d.'):format(
        rpc.connection.server.build,
        rpc.connection.server.protocolVersion
      )
    )
  else
    health.error(rpc.connection.problem or 'The daemon does not answer.', 'pisessiond doctor')
  end
  rpc.release()
end

--- Whether running pi can be seen and moved.
function M.check_bridge(health)
  local status = require('pisession.bridge').status_now()
  if not status then
    return health.info('Whether pi loads the bridge cannot be asked of this option cmd.')
  elseif #status.installed == 0 then
    return health.warn(
      'pi does not load the bridge: a running pi is seen by its file alone, and does not follow.',
      'pisessiond pi install'
    )
  end
  local count = #status.running
  health.ok(
    ('pi loads the bridge %s; %d running pi %s connected.'):format(
      status.installed[1].version,
      count,
      count == 1 and 'is' or 'are'
    )
  )
end

return M
