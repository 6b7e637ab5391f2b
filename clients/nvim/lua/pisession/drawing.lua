--- How a sidebar draws itself: rows, header, the line below, and nothing while it is hidden.

local header = require('pisession.header')
local rpc = require('pisession.rpc')
local states = require('pisession.states')
local text = require('pisession.text')
local windows = require('pisession.window')

---@return pisession.Glyphs
local function glyphs()
  return require('pisession.glyphs').choose(require('pisession.config').get().icons)
end

local function escaped(line)
  return (line:gsub('%%', '%%%%'))
end

--- Adds to the class what draws.
---@param Sidebar pisession.Sidebar
return function(Sidebar)
  --- The row that another program wrote last, as long as that was a short while ago.
  ---@param rows pisession.Row[]
  ---@return string?
  function Sidebar:outside_row(rows)
    local left = header.outside_left(self.session)
    if not left then
      return nil
    end
    local found, newest
    for _, row in ipairs(rows) do
      local time = row.by == 'external' and text.epoch(row.time)
      if time and (not newest or time >= newest) then
        found, newest = row.id, time
      end
    end
    if found and not self.forgets_outside then
      self.forgets_outside = true
      vim.defer_fn(function()
        self.forgets_outside = false
        self:redraw_soon()
      end, (left + 1) * 1000)
    end
    return found
  end

  --- The rows at which running pi stand; without any, the one that another program wrote last.
  ---@param rows pisession.Row[]
  ---@param signs pisession.Glyphs
  ---@return table<string, string>
  function Sidebar:standing(rows, signs)
    if #(self.session.info.pis or {}) > 0 then
      return require('pisession.standing').signs(self.session, rows, signs)
    end
    local outside = self:outside_row(rows)
    return outside and { [outside] = signs.outside } or {}
  end

  ---@param rows pisession.Row[]
  ---@param signs pisession.Glyphs
  ---@param width integer
  ---@return pisession.PaintOptions
  function Sidebar:paint_options(rows, signs, width)
    return {
      width = width,
      glyphs = signs,
      today = os.date('%Y-%m-%d') --[[@as string]],
      size = self.size,
      new = self.session.new,
      marked = self.marked,
      standing = self:standing(rows, signs),
      doing = self.session.operation and header.operation(self.session.operation),
      is_open = function(id)
        return self:is_open_id(id)
      end,
    }
  end

  --- Paints what has changed; nothing while the sidebar is hidden.
  function Sidebar:redraw()
    self.is_dirty = true
    if not self.session or not self:is_visible() then
      return
    end
    self.is_dirty = false
    local width = vim.api.nvim_win_get_width(self.window)
    local signs, rows = glyphs(), self.session:rows()
    if #rows == 0 then
      self.view:say(text.wrap(states.sentences(self), width))
    else
      local anchor = windows.anchor(self.window, self.view)
      self.view:show(rows, self:paint_options(rows, signs, width))
      windows.restore(self.window, self.view, anchor)
      self:look_at_leaf_once()
      require('pisession.follow').seen(self)
      require('pisession.looking').keep_up(self)
    end
    self:show_header(width, #rows, signs)
  end

  ---@param id string
  ---@return boolean
  function Sidebar:is_open_id(id)
    local row = self.view:line_of(id) and self.view:row_at(self.view:line_of(id))
      or self.session:row(id)
    return row ~= nil and self.session:is_open(row) and self.session.levels[id] ~= nil
  end

  --- A fresh window looks at the leaf.
  function Sidebar:look_at_leaf_once()
    if self.has_looked ~= self.session and self:go_to('here') then
      self.has_looked = self.session
    end
  end

  ---@param width integer
  ---@param count integer
  ---@param signs pisession.Glyphs
  function Sidebar:show_header(width, count, signs)
    local left, right, grade = header.top(self.session, rpc.connection, width, signs)
    local looks = { warn = 'PisessionWarn', high = 'PisessionHigh' }
    local top = ('%%#PisessionHeader#%s%%#%s#%s'):format(
      escaped(left),
      looks[grade] or 'PisessionHeader',
      escaped(right)
    )
    local bottom = header.bottom(self.session, count, width, self.message)
    windows.set(self.window, 'winbar', top)
    windows.set(self.window, 'statusline', escaped(text.cut(bottom, width, signs.cut)))
    self:count_down()
  end

  --- While there is no connection the header says when the next try comes.
  function Sidebar:count_down()
    if rpc.connection.state ~= 'offline' or self.is_counting then
      return
    end
    self.is_counting = true
    vim.defer_fn(function()
      self.is_counting = false
      self:redraw_soon()
    end, 1000)
  end

  --- Draws where a compaction would cut: in front of the first row of what is kept. Nothing kept
  --- takes it away.
  ---@param kept string[] entries
  function Sidebar:draw_cut(kept)
    if not vim.api.nvim_buf_is_valid(self.buffer) then
      return
    end
    local is_kept, found = {}, nil
    for _, entry in ipairs(kept) do
      is_kept[entry] = true
    end
    for _, row in ipairs(self.view.rows) do
      if row.first and is_kept[row.first] and row.level == nil then
        found = row.id
        break
      end
    end
    self.view:draw_cut(found, ('%s cut %s'):format(glyphs().arm:rep(2), glyphs().arm:rep(2)))
  end
end
