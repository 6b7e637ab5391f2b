"""The text that a summary is made from."""

from typing import Any

from pisessiond.core.conversation import TOOL_RESULT_LIMIT, serialize_conversation


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}


def check(messages: list[dict[str, Any]], expected: str) -> None:
    assert serialize_conversation(messages) == expected


def test_each_thing_said_is_a_paragraph() -> None:
    call = {"type": "toolCall", "name": "read", "arguments": {"path": "a\n", "2": 1.0, "1": None}}
    other = {"type": "toolCall", "name": "ls", "arguments": {}}
    thinking = {"type": "thinking", "thinking": "hmm"}
    image = {"type": "image", "data": "AAAA"}
    check(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [text("Fix "), image, text("this")]},
            {"role": "assistant", "content": [thinking, text("Well."), call, text("So."), other]},
            {"role": "toolResult", "content": [text("one"), text("two")]},
            {"role": "custom", "content": "note"},
            {"role": "unheard-of", "content": "never"},
        ],
        "[User]: Fix this\n\n"
        "[Assistant]: Well.\nSo.\n\n"
        '[Assistant tool calls]: read(1=null, 2=1, path="a\\n"); ls()\n\n'
        "[Tool result]: onetwo\n\n"
        "[User]: note",
    )


def test_what_is_empty_makes_no_paragraph() -> None:
    roles = ("user", "assistant", "toolResult")
    empty: list[dict[str, Any]] = [{"role": role, "content": []} for role in roles]
    check([*empty, {"role": "user", "content": ""}, {"role": "user", "content": None}], "")
    # pi keeps the paragraph of an assistant's empty text block.
    check([{"role": "assistant", "content": [text("")]}], "[Assistant]: ")


def test_long_results_are_cut_without_tearing_a_pair() -> None:
    whole = "x" * TOOL_RESULT_LIMIT
    check([{"role": "toolResult", "content": whole}], f"[Tool result]: {whole}")
    torn = "x" * (TOOL_RESULT_LIMIT - 1) + "\U0001f600yz"
    check(
        [{"role": "toolResult", "content": torn}],
        f"[Tool result]: {torn[: TOOL_RESULT_LIMIT - 1]}\n\n[... 3 more characters truncated]",
    )


def test_halves_of_a_pair_in_neighbouring_blocks_are_one_character() -> None:
    check([{"role": "user", "content": [text("\ud83d"), text("\udc00")]}], "[User]: \U0001f400")


def test_shell_output_is_the_users_unless_kept_out() -> None:
    ran = {"role": "bashExecution", "command": "make", "output": "done", "exitCode": 0}
    check(
        [ran],
        "[User]: Shell command run by the user: make\nIt printed:\ndone",
    )
    check([{**ran, "excludeFromContext": True}], "")
    check(
        [{**ran, "output": "", "exitCode": 2, "truncated": True, "fullOutputPath": "/tmp/out"}],
        "[User]: Shell command run by the user: make\nIt printed nothing.\n"
        "It failed with exit code 2.\n"
        "The output above is incomplete; all of it is in /tmp/out.",
    )
    check(
        [{**ran, "cancelled": True, "exitCode": None}],
        "[User]: Shell command run by the user: make\nIt printed:\ndone\nIt was cancelled.",
    )


def test_summaries_are_told_as_the_user_speaking() -> None:
    check(
        [
            {"role": "compactionSummary", "summary": "Much."},
            {"role": "branchSummary", "summary": "Little."},
        ],
        "[User]: (Summary of the session up to here)\nMuch.\n\n"
        "[User]: (Summary of another branch of this session)\nLittle.",
    )
