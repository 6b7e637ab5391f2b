"""Parameters and results of acting on a session: append, navigate, compact, fork, label, edit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, StrictStr, model_validator

from pisessiond.protocol.values import ContextSize, Done, Progress
from pisessiond.protocol.wire import (
    EntryId,
    JsonObject,
    LeafMutationParams,
    ProgressToken,
    SessionMutationParams,
    WireModel,
)


class AppendParams(LeafMutationParams):
    """Exactly one of `entry` and `entries`."""

    entry: JsonObject | None = None
    """Any type; id, parentId and timestamp may be left out. A known id with the same body repeats
    the answer, with another body it is DuplicateEntry."""
    entries: list[JsonObject] | None = Field(default=None, min_length=1, max_length=10_000)
    """Several, appended as one change: all or none."""
    detached: StrictBool = False
    """Allows a parent other than the leaf."""

    @model_validator(mode="after")
    def _exactly_one(self) -> AppendParams:
        if (self.entry is None) == (self.entries is None):
            raise ValueError("give exactly one of entry and entries")
        return self


class AppendResult(Done):
    """The entries are on disk, or held back by the flush rule."""

    ids: list[EntryId]
    """Of the entries appended, in their order."""


class Forecast(WireModel):
    """What asking a summarizer comes to."""

    summarizer: str
    """Its name."""
    model: str | None
    """As `provider/modelId`; null where it is no model."""
    tokens_in: int
    """Estimate of what it reads, in tokens."""
    cost: float | None
    """In US dollars, with a summary half as long as it may get; null when the price is
    unknown."""


class SummaryInput(WireModel):
    """What one call of a summarizer reads."""

    kind: Literal["history", "turnPrefix", "branch"]
    """The history cut off, the beginning of the turn that is split, or a branch that is left."""
    text: str
    """The messages in plain text."""
    previous_summary: str | None
    """The summary that is brought up to date; null without one."""


class LeftBehind(WireModel):
    """What leaves the active branch."""

    entries: int
    """How many."""
    turns: int
    """How many of them are user messages."""


class MovePreview(WireModel):
    """What a move or a fork would do."""

    leaf: EntryId | None
    """Where one would stand."""
    leaves: LeftBehind
    """What leaves the active branch; it stays in the tree."""
    size_now: ContextSize
    """The context size now."""
    size_after: ContextSize
    """The context size there."""
    returns_text: str | None
    """The text that would come back for the prompt; null without one."""
    outside: str | None
    """ISO time of another program's newest write in the last 15 minutes: what runs there will not
    follow. Null without one."""
    summary: Forecast | None
    """Of summarising what is left; null when nothing is left, or nobody could."""


class NavigateParams(LeafMutationParams):
    """Where to move the leaf."""

    target: EntryId | None
    """The entry to go to; null: before the first one."""
    exact: StrictBool = False
    """Stand at that very entry, also when it is a user message (else its parent, as in pi)."""
    summarize: StrictBool = False
    """Have the branch that is left summarised."""
    summary: StrictStr | None = None
    """A summary of the branch that is left, already written."""
    custom_instructions: StrictStr | None = None
    """For the summarizer; with `summarize` only."""
    replace_instructions: StrictBool = False
    """The instructions stand instead of the usual ones; with `summarize` only."""
    summarizer: StrictStr | None = None
    """Who is to write, by name (session/summarizers); with `summarize` only."""
    label: StrictStr | None = None
    """Put on the summary, or without one on the target."""
    dry_run: StrictBool = False
    """Change nothing and say what the move would do, in `preview`."""
    work_done_token: ProgressToken | None = None
    """With `summarize`: under which `$/progress` tells how far it is."""


class NavigateResult(Done):
    """Where the session stands now."""

    editor_text: str | None = None
    """Text of the user message navigated to, for the prompt."""
    summary_entry: EntryId | None = None
    """The summary that was written."""
    preview: MovePreview | None = None
    """With `dryRun`."""


class CompactParams(LeafMutationParams):
    """With `dryRun` nothing is written; with `summary` that is; else a summarizer is asked."""

    custom_instructions: StrictStr | None = None
    """For the summarizer."""
    summary: StrictStr | None = None
    """A summary already written."""
    dry_run: Literal[True, "summary"] | None = None
    """True: what would be cut and kept. `summary`: the written summary too, unstored."""
    summarizer: StrictStr | None = None
    """Who is to write, by name (session/summarizers)."""
    draft: StrictStr | None = None
    """With `summary`: the `draft` that `dryRun: "summary"` answered, so that what writing it cost
    and the files it tells of are stored too."""
    with_input: StrictBool = False
    """With `dryRun: true`: `preview.inputs` holds what the summarizer would read."""
    work_done_token: ProgressToken | None = None
    """Under which `$/progress` tells how far the summary is."""


class CompactionPreview(WireModel):
    """What a compaction would do."""

    first_kept: EntryId
    """The entry where the retained part begins."""
    is_split_turn: bool
    """The cut lies inside a turn, whose beginning is summarised apart."""
    summarised: list[EntryId]
    """Entries the summary would stand for."""
    turn_prefix: list[EntryId]
    """Entries of the turn that is split, up to the cut."""
    kept: list[EntryId]
    """Entries that stay."""
    tokens_before: int
    """Context size now, in tokens."""
    tokens_kept: int
    """Estimate of what stays besides the summary, in tokens."""
    previous_summary: bool
    """An earlier summary would be updated."""
    read_files: list[str]
    """Files that were read only."""
    modified_files: list[str]
    """Files that were written or edited."""
    summary_at_most: int
    """How long the summary may get, in tokens."""
    tokens_after: int
    """Estimate of the size after it with a summary of that length, in tokens."""
    forecast: Forecast | None
    """What asking the summarizer comes to; null when there is none."""
    no_summarizer: str | None = None
    """Why there is none, in a sentence; absent when there is one."""
    inputs: list[SummaryInput] | None = None
    """What the summarizer would read; with `withInput` only."""


class CompactResult(Done):
    """Where the session stands now; with `dryRun` as before."""

    entry: EntryId | None = None
    """The compaction that was written."""
    tokens_before: int | None = None
    """The context size before it, in tokens; where one was written."""
    tokens_after: int | None = None
    """After it, by estimate, in tokens; where one was written."""
    preview: CompactionPreview | None = None
    """With `dryRun`."""
    summary: str | None = None
    """With `dryRun: "summary"`: the text, which is stored nowhere."""
    usage: JsonObject | None = None
    """With `dryRun: "summary"`: what writing it used; absent where that is not known."""
    draft: str | None = None
    """With `dryRun: "summary"`: names the text in the compaction that stores it."""


class ForkParams(LeafMutationParams):
    """A new session from the path to an entry, or with `cwd` and no `entry` from all entries."""

    entry: EntryId | None = None
    """Absent: the leaf, `at`."""
    position: Literal["before", "at"] | None = None
    """`before` (a user message, its text comes back) or `at` any entry; `before` by default."""
    cwd: StrictStr | None = Field(default=None, min_length=1)
    """The folder the new session belongs to; relative to the client's `cwd`."""
    take_pi: StrictBool = False
    """The running pi that has the session open goes to the new one; only when it is idle. A session
    that it keeps in memory it forks itself."""
    dry_run: StrictBool = False
    """Change nothing and say what the fork would hold, in `preview`."""


class CloneParams(LeafMutationParams):
    """A new session holding the active branch."""


class ForkResult(Done):
    """The new session; `rev` and `leaf` are its own. Its file follows the flush rule."""

    session: str
    """Its handle."""
    path: str | None
    """Its path, planned while unsaved; null in memory."""
    unsaved: bool
    """Nothing on disk yet."""
    editor_text: str | None = None
    """Text of the user message forked before, for the prompt."""
    source_rev: int = 0
    """The source's revision in which its subscribers are told of the fork."""
    pi_stayed: str | None = None
    """With `takePi`: why pi is where it was all the same, in a sentence; absent when it came."""
    preview: MovePreview | None = None
    """With `dryRun`; `session` and `path` are then the source's."""


class CancelOperationParams(SessionMutationParams):
    """Which session's operation is to end."""

    operation_id: StrictStr | None = None
    """Only this one; absent: whatever runs."""


class CancelOperationResult(WireModel):
    """What was ended."""

    cancelled: Progress | None
    """The operation as it stood; null when nothing ran, or another one. Answered when it is over
    (within a second); how it ended is told, for where its entry was being written it is done."""


class LabelParams(LeafMutationParams):
    """Labels an entry."""

    target: EntryId
    """Which entry."""
    label: StrictStr | None
    """Null or empty clears it."""


class RenameParams(LeafMutationParams):
    """Names the session."""

    name: StrictStr | None
    """Null or empty clears it."""


class EditContextParams(LeafMutationParams):
    """Changes what the model would be sent of an entry, on this branch only."""

    target: EntryId
    """Which entry."""
    replacement: JsonObject | Literal["restore"] | None
    """`{content}` stands instead of the entry's; null leaves the entry out; `restore` takes it
    back as it was."""
