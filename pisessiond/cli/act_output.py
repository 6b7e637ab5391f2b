"""What commands say of acts: what was done, where the session stands, the sizes, returned text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pisessiond.cli.output import Output, can_draw, screen_width

if TYPE_CHECKING:
    from pisessiond.cli.canvas import Canvas
    from pisessiond.client import answers
    from pisessiond.client.blocking_session import BlockingSession


def canvas_for(width: int | None = None) -> Canvas:
    """Where a view is drawn: as wide as was asked for or as the terminal, in what it can show."""
    from pisessiond.cli.canvas import Canvas

    return Canvas(screen_width(width), is_ascii=not can_draw(asked_for_ascii=False))


def say_done(output: Output, opened: BlockingSession, answer: answers.Done, what: str) -> None:
    """One line: what was done, where the session stands, the size before and after."""
    from pisessiond.cli.move_view import done_line
    from pisessiond.cli.report_view import short_size

    sizes = short_size(opened.context_size), short_size(opened.size())
    output.lines([done_line(what, answer, sizes, canvas_for())])


def say_edited(
    output: Output,
    opened: BlockingSession,
    answer: answers.Done,
    what: str,
    before: answers.ContextSize,
) -> None:
    """The same for what changes the size alone: first by how much."""
    from pisessiond.cli.move_view import done_line, growth
    from pisessiond.cli.report_view import short_size

    after, canvas = opened.size(), canvas_for()
    # An edit takes away what was measured; the estimate may stand far from it.
    is_guess = before["measured"] is not None and after["measured"] is None
    sizes = short_size(before), short_size(after) + " until the next answer" * is_guess
    grown = growth(before, after, canvas)
    output.lines([done_line(f"{what}, {grown}", answer, sizes, canvas)])


def say_fork(output: Output, answer: answers.ForkResult, what: str) -> None:
    """The new session, its file, and the text of the message it begins before."""
    if output.as_json:
        output.json(answer)
        return
    from pisessiond.cli.plain_text import clean_line

    unsaved = " (nothing on disk yet)" if answer["unsaved"] else ""
    place = clean_line(answer["path"] or "in memory")
    output.lines([f"{what} · session {clean_line(answer['session'])} · {place}{unsaved}"])
    say_prompt(output, answer.get("editorText"))


def say_prompt(output: Output, text: str | None) -> None:
    """A text that came back, to be changed and sent again."""
    if text:
        from pisessiond.cli.plain_text import clean_text

        output.lines(["its text, to be sent again:"])
        output.lines(f"  {line}" for line in clean_text(text).split("\n"))


def node_at(opened: BlockingSession, entry: Any) -> answers.Node | None:
    """One entry as trees show it; None before the first one."""
    if entry is None:
        return None
    nodes = opened.tree(around=entry, count=1)["nodes"]
    return next((node for node in nodes if node["id"] == entry), None)
