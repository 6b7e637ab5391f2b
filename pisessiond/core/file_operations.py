"""Which files a stretch of a session read and changed, told by its tool calls.

The rules are those of pi 1.6.0's `extractFileOpsFromMessage`, `computeFileLists` and
`formatFileOperations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pisessiond.core.javascript import is_truthy, utf16_order


@dataclass(slots=True)
class FileOperations:
    """The paths seen so far. It is filled while a preparation is made and not changed later."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    """Edited files, and those that an earlier summary calls modified."""

    @property
    def modified(self) -> set[str]:
        """Written and edited files together; the lists do not tell the two apart."""
        return self.written | self.edited

    def add_message(self, message: Mapping[str, Any]) -> None:
        """Take in the calls of an assistant message, or those nested in a tool result."""
        if message.get("role") == "toolResult":
            nested = message.get("nestedCalls")
            self._add_calls(nested.get("calls") if isinstance(nested, dict) else None)
        elif message.get("role") == "assistant":
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            self._add_calls([b for b in blocks if isinstance(b, dict) and _is_call(b)])

    def add_details(self, entry: Mapping[str, Any]) -> None:
        """Take in the lists of an earlier summary, unless an extension wrote it (`fromHook`)."""
        details = entry.get("details")
        if is_truthy(entry.get("fromHook")) or not isinstance(details, dict):
            return
        self.read.update(_paths(details.get("readFiles")))
        self.edited.update(_paths(details.get("modifiedFiles")))

    def _add_calls(self, calls: Any) -> None:
        for call in calls if isinstance(calls, list) else ():
            if not isinstance(call, dict):
                continue
            arguments = call.get("arguments")
            path = arguments.get("path") if isinstance(arguments, dict) else None
            if not isinstance(path, str) or not path:
                continue
            if call.get("name") == "read":
                self.read.add(path)
            elif call.get("name") == "write":
                self.written.add(path)
            elif call.get("name") == "edit":
                self.edited.add(path)


@dataclass(frozen=True, slots=True)
class FileLists:
    """The files of a summary, each list sorted by UTF-16 code unit."""

    read_files: tuple[str, ...]
    """Files that were read and not modified."""
    modified_files: tuple[str, ...]

    def details(self) -> dict[str, Any]:
        """The `details` member of a summary entry, in pi's member order."""
        return {"readFiles": list(self.read_files), "modifiedFiles": list(self.modified_files)}


def compute_file_lists(operations: FileOperations) -> FileLists:
    """The two lists; a modified file is not a read file."""
    return FileLists(
        tuple(sorted(operations.read - operations.modified, key=utf16_order)),
        tuple(sorted(operations.modified, key=utf16_order)),
    )


def format_file_lists(lists: FileLists) -> str:
    """What a summary ends with: the lists that are not empty, each after a blank line."""
    return _tagged("read-files", lists.read_files) + _tagged("modified-files", lists.modified_files)


def _tagged(tag: str, paths: Iterable[str]) -> str:
    text = "\n".join(paths)
    return f"\n\n<{tag}>\n{text}\n</{tag}>" if paths else ""


def _is_call(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "toolCall"


def _paths(value: Any) -> list[str]:
    # Ours: pi also takes over what is no text, which no tool of its own writes.
    return [path for path in value if isinstance(path, str)] if isinstance(value, list) else []
