"""What was measured, beside what pi takes and what was to be reached, as a table and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

Samples = dict[str, list[float]]
"""By name, one value a round."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    unit: Literal["ms", "MB", "/s"]
    ours: list[float]
    """One value a round."""
    pi: list[float] | None = None
    """The same of pi, or of whatever else the line compares with."""
    limit: float | None = None
    """What was to be reached; None for a line that is only told."""
    limits: Literal["ratio", "value"] = "ratio"
    """What `limit` is about: ours divided by pi's, or ours itself."""

    @property
    def ratio(self) -> float | None:
        """Ours divided by pi's, of the medians."""
        return median(self.ours) / median(self.pi) if self.pi else None

    @property
    def reached(self) -> float | None:
        """What is held against the limit."""
        return self.ratio if self.limits == "ratio" else median(self.ours)

    def is_within(self, times: float = 1.0) -> bool:
        """Whether the limit, or so many times the limit, is kept."""
        return self.limit is None or (self.reached or 0.0) <= self.limit * times


@dataclass(frozen=True)
class Table:
    """The rows of one file."""

    title: str
    rows: Sequence[Row]

    def text(self) -> str:
        """The table for a person."""
        lines = [["", "us", "(best)", "pi 1.6.0", "(best)", "ratio", "to reach", ""]]
        lines += [_cells(row) for row in self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        shown = [
            f"{line[0]:<{widths[0]}}  "
            + "  ".join(
                f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True)
            )
            for line in lines
        ]
        return "\n".join([self.title, *(line.rstrip() for line in shown)])

    def plain(self) -> dict[str, Any]:
        """The table as JSON."""
        return {
            "title": self.title,
            "rows": [
                {
                    "name": row.name,
                    "unit": row.unit,
                    "ours": row.ours,
                    "pi": row.pi,
                    "ratio": row.ratio,
                    "limit": row.limit,
                    "limits": row.limits,
                    "reached": row.is_within() if row.limit is not None else None,
                }
                for row in self.rows
            ],
        }


def _cells(row: Row) -> list[str]:
    best = max if row.unit == "/s" else min
    cells = [row.name]
    for values in (row.ours, row.pi):
        if values is None:
            cells += ["", ""]
        else:
            cells += [f"{_number(median(values))} {row.unit}", f"({_number(best(values))})"]
    cells.append(_number(row.ratio) if row.ratio is not None else "")
    if row.limit is None:
        return [*cells, "", ""]
    of = "" if row.limits == "ratio" else f" {row.unit}"
    return [*cells, f"<= {_number(row.limit)}{of}", "reached" if row.is_within() else "NOT REACHED"]


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"
