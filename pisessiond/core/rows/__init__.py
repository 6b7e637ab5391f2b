"""The tree as people see it: a pure function from a session to rows, level by level.

**Lines and levels.** A *line* is a stretch of entries each of which is the next one's parent. The
main line runs from the leaf's root to the leaf and on past it; at a branch point it goes the way
that leads to the leaf, else the way one last came (`ways`), else to where the newest entry is.
Level `None` is the main line; every row that can be opened is a level of its own: a work, the
summarised part, an alternative, a group of those, what is ahead. Only the level asked for is built.

**From entries to rows** each entry's *shape* is enough, one byte a row that sizing leaves behind:
whether an answer has text, calls, an error, whether a result failed, whether a custom message is
shown. So a level is cut into segments without reading bodies; those are read for the rows of a
page only, where a title needs one. The rules are local, so that an append changes the last segment
and nothing before it:

- a user message, a shell command, a shown note, a compaction, a branch summary is a row;
- an assistant message with text and no calls is an `answer`, and so is any that failed or was
  stopped; one with calls is work, its text is an `answer` row inside;
- the entries between such rows are one `work`, or a bare `step` when there is only one; a branch
  point with a visible alternative, and the leaf, end it;
- the newest compaction above the end of a line makes all before its first kept entry `summarised`;
- alternatives follow the row of their branch point, labelled first, then newest, more than five
  in a `group`; further roots and orphans stand before the first row;
- `here` follows the leaf, `ahead` follows `here`.

What gives no row (settings, labels, hidden messages) belongs to the row it follows, so that
`entries` of a level's rows add up to the line's.

**Kept up to date.** An append under the leaf changes the last row, the last one inside it where
that is work, and `here` (`growing`); a move, a compaction or an entry elsewhere names stale levels.
A row never turns from childless into a parent: what becomes work or a branch has another id.
"""
