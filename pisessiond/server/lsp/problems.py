"""Problems of a session file as diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lsprotocol import types as lsp

from pisessiond.server.lsp.capabilities import EditorView
from pisessiond.server.lsp.positions import line_range, range_of
from pisessiond.service.problem_places import LocatedProblem

_SEVERE: Final = frozenset({"badLine", "noId", "cycle"})
_NEWS: Final = frozenset({"newerVersion", "recovered"})


def diagnostics(
    problems: Iterable[LocatedProblem], uri: str, view: EditorView
) -> list[lsp.Diagnostic]:
    """The file's problems where they are, with the other places that have to do with each."""
    return [_diagnostic(one, uri, view) for one in problems]


def _diagnostic(located: LocatedProblem, uri: str, view: EditorView) -> lsp.Diagnostic:
    problem, spot = located.problem, located.spot
    related = [
        lsp.DiagnosticRelatedInformation(
            location=lsp.Location(uri=uri, range=range_of(place, view.encoding)), message=sentence
        )
        for place, sentence in located.related
    ]
    return lsp.Diagnostic(
        range=range_of(spot, view.encoding) if spot is not None else line_range(problem.line or 1),
        message=f"{problem.message} {problem.consequence}".rstrip(),
        severity=_severity(problem.kind),
        code=problem.kind,
        source="pi",
        related_information=(related or None) if view.relates_places else None,
    )


def _severity(kind: str) -> lsp.DiagnosticSeverity:
    if kind in _SEVERE:
        return lsp.DiagnosticSeverity.Error
    if kind in _NEWS:
        return lsp.DiagnosticSeverity.Information
    return lsp.DiagnosticSeverity.Warning
