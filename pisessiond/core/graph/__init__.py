"""A whole session as a picture of lanes: which lines there are, and in which lane each stands.

**Lines.** A line of the graph is a row of the tree, with the row's id, title and states: nothing is
told here that the tree could not tell. The tree's levels are laid out into one list, so that what
folds others away (the summarised part, what is ahead, groups) has no line; work stays closed. How
much there is depends on the *zoom*: `turns` are the rows of the default filter, `entries` those of
`all`, `branches` leaves only what makes the shape: branch points, compactions, entries that
sessions were forked from, where one stands, and the end of each branch as the row of that branch.

**Order.** Oldest on top, in the file's order by the first entry a line stands for, since that is
when it was begun; `here` comes right behind the leaf. A parent so always stands above its
children. In a file whose parents come late a child counts as no older than what it stands under.

**Branches and lanes.** Each line of the tree (the main line, and every alternative) is one
*branch* of the graph: a run of lines in one lane. The main line has lane 0, from its root over the
leaf to its end, and nobody else ever has. An alternative begins in the line of its branch point,
where a connection leads from the parent's lane to its own; it passes by other lines until its own
first one, and its lane ends with its last one. From the next line on that lane is used again: the
lowest that is free is taken, and of branches that leave at one line the one that goes on first
takes the lowest. So one who tries one way after another needs few lanes.

**The bundle.** Beside the main line there are eight lanes. Where more branches are under way the
rest is one lane behind them, the bundle, which says how many it holds (`+192`). A branch leaves the
bundle in its own first line when a lane is free by then; else it stays, and its lines stand in the
bundle. Two branches so never share a lane at a line, but there.

**Widths.** A lane is as wide as the context would be there: at a line the size of its row, in
between that of the branch's last line, before the first that at the branch point. After a
compaction it is narrow: a waist.

**Costs.** `gathering` cuts every line of the tree once more and `placing` goes through the lines
once, both with numbers only and without recursion; bodies are read for the titles of the lines of a
page (`lines`). What an append changes is not kept up line by line: a layout is made anew.
"""
