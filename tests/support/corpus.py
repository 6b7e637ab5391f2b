"""The session files of tests/golden/corpus and what both pi programs answered for each.

How the answers are written down: `tree` is a list of chains `[id, id, …, [chain, chain…]?]`, a
last element that is a list holding the children of the id before it. Ids of version 1 files are
random at each load and shown as `#n`, the position among the entries; `<undefined>` stands for
what has no id; `entryCount` counts distinct ids; `roles` are run-length pairs. `sha256` is taken
over canonical JSON (keys sorted by UTF-16 code unit, no spaces, absent members left out). `<cwd>`
is where the opener stood, `<copy>` the file itself.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CORPUS: Final = Path(__file__).resolve().parent.parent / "golden" / "corpus"


@dataclass(frozen=True)
class Sample:
    """One session file of the corpus."""

    name: str
    """Its path inside the corpus, such as `synth+pi160/unicode.jsonl`."""

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path:
        return CORPUS / self.name

    @property
    def oracle(self) -> dict[str, Any]:
        """All that was noted about the file."""
        noted = (CORPUS / "oracle" / f"{self.name}.json").read_text(encoding="utf-8")
        answer: dict[str, Any] = json.loads(noted)
        return answer

    @property
    def pi_open(self) -> dict[str, Any]:
        """What pi 1.6.0 answered: the members of `pi160.open`."""
        answer: dict[str, Any] = self.oracle["pi160"]["open"]
        return answer

    @property
    def core(self) -> dict[str, Any]:
        """What agent-core 0.80.2 answered: the members of `core0802`."""
        answer: dict[str, Any] = self.oracle["core0802"]
        return answer


SAMPLES: Final = tuple(
    Sample(f"{path.parent.name}/{path.name}") for path in sorted(CORPUS.glob("*/*.jsonl"))
)
