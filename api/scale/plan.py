"""What a scoring run is asked to do, as one value that can travel to other machines, and how it does it for one shard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..opening import Address, Engine, Options, open_reasoner
from ..tally import Tally
from . import LINES
from .rows import Form, json_line, packed
from .shards import Shard

if TYPE_CHECKING:
    from ...reasoning import Reasoner
    from ...reasoning.scoring import ItemScores

Observe = Callable[["ItemScores"], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """A scoring run: whatever decides which bytes its shards become.

    Attributes:
        file: the dialogue file, as it is called in errors.
        names: the metrics; options: theirs, by metric; address: the graph, None when none is named; engine: what answers it.
        explain: evidence is worked out; shown: it is written, too.
        strict: a line without an item ends the run.
        batch_size: items scored together, None: as the metrics like it; lines: lines of a shard.
        form: how the rows are written.
    """

    file: str
    names: tuple[str, ...]
    options: Options
    address: Address | None = None
    engine: Engine = Engine.AUTO
    explain: bool = False
    shown: bool = False
    strict: bool = False
    batch_size: int | None = None
    lines: int = LINES
    form: Form = Form.JSONL

    def open(self, *, quiet: bool) -> AbstractContextManager[Reasoner]:
        """Open the metrics and what they need; see :func:`tacit.api.opening.open_reasoner`."""
        return open_reasoner(self.names, self.options, self.address, self.engine, quiet=quiet)

    def identity(self, digest: str, signatures: dict[str, str]) -> dict[str, Any]:
        """What must be the same for a run to go on with what another has begun, as plain values by what it is called."""
        return {
            "input": digest,
            "metrics": list(self.names),
            "signatures": signatures,
            "options": {name: {key: repr(value) for key, value in self.options[name].items()} for name in self.names},
            "--explain": self.shown,
            "--strict": self.strict,
            "format": self.form.value,
            "--shard-lines": self.lines,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """A scored shard: its number, its rows as the bytes that are kept, their counts, and the digest of its records."""

    number: int
    data: bytes
    tally: Tally
    digest: str


def score_shard(plan: Plan, reasoner: Reasoner, shard: Shard, observers: Sequence[Observe] = ()) -> Part:
    """Score one shard as if it were the only one: what was scored before, and where, changes no digit of it.

    ``observers`` are told of every row.

    Raises:
        InputError: under the plan's ``strict``, a line holds no item.
        GraphUnavailable: the graph went away.
    """
    from ...loaders.dialogues import items_of
    from ...reasoning.cache import forget

    forget()
    tally = Tally()
    rows: list[ItemScores] = []
    items = items_of(shard.lines, plan.file, strict=plan.strict)
    for row in reasoner.stream(items, batch_size=plan.batch_size, explain=plan.explain):
        tally.add(row)
        for tell in observers:
            tell(row)
        rows.append(row)
    if plan.form is Form.PARQUET:
        return Part(shard.number, packed(rows, plan.names, plan.shown), tally, shard.digest)
    data = "".join(json_line(row, plan.shown) for row in rows).encode()
    if plan.form is Form.GZIP and data:
        import gzip

        data = gzip.compress(data, 6, mtime=0)
    return Part(shard.number, data, tally, shard.digest)
