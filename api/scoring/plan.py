"""The configuration of a scoring run, which can be sent to other machines, its shards, and the scoring of one shard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.errors import DamagedInput, InputError
from ...graph.storage import file_sha256
from ..opening import Address, EngineName, Options, open_reasoner
from . import LINES
from .rows import OutputFormat, arrow_stream, delimited_line, json_line
from .statistics import Tally

if TYPE_CHECKING:
    from ...loaders.io import Line
    from ...reasoning import Reasoner
    from ...reasoning.scorer import ItemScores

MAX_SHARD_BYTES = 1 << 20
"""Size of the records from which a shard ends before it has its number of records."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Consecutive records of a dialogue file: the unit in which files are scored, stored and resumed.

    The boundaries depend only on the file and the number of records, so every run of a file has the same shards.
    """

    number: int  # from 0
    lines: tuple[Line, ...]  # the records, one JSON object each

    @property
    def digest(self) -> str:
        """The sha256 of the records, in hex."""
        digest = hashlib.sha256()
        for line in self.lines:
            digest.update(b"%d\0%s\0%s\n" % (line.number, (line.flaw or "").encode(), line.data))
        return digest.hexdigest()


def read_shards(
    file: str, size: int = LINES, without: Container[int] = (), columns: Mapping[str, str] | None = None
) -> Iterator[Shard | int]:
    """Yield the shards of a file (see :func:`tacit.loaders.read_items`) one by one; of those in ``without`` only the number.

    A shard ends after ``size`` records, or earlier with the record that makes it 1 MiB or larger. For a file that
    ends early, the shards before the damage are yielded before DamagedInput is raised.
    """
    from ...loaders.dialogues import item_records
    from ...loaders.io import ByteSource
    from ...loaders.records import Damage

    source = ByteSource(file)
    try:
        number = count = weight = 0
        lines: list[Line] = []
        damage: Line | None = None
        for line in item_records(source, columns):
            if isinstance(line.flaw, Damage):
                damage = line
                break
            count += 1
            weight += len(line.data)
            if number not in without:
                lines.append(line)
            if count == size or weight >= MAX_SHARD_BYTES:
                yield Shard(number, tuple(lines)) if lines else number
                number, count, weight, lines = number + 1, 0, 0, []
        if count:
            yield Shard(number, tuple(lines)) if lines else number
        if damage is not None:
            raise DamagedInput(f"{file} ends early, at record {damage.number:,} ({damage.flaw})")
    finally:
        source.close()


def digest(file: str) -> str:
    """Return the sha256 of a file in hex."""
    try:
        return file_sha256(Path(file))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None


Observe = Callable[["ItemScores"], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """The configuration of a scoring run: everything that determines its output."""

    file: str  # path of the dialogue file
    names: tuple[str, ...]  # of the metrics
    options: Options  # by metric
    address: Address | None = None  # of the graph, if any
    engine: EngineName = "auto"  # for concept queries
    explain: bool = False  # compute evidence
    with_evidence: bool = False  # write the evidence too
    strict: bool = False  # a line without an item ends the run with an error
    batch_size: int | None = None  # items scored together, None: as the metrics prefer
    lines: int = LINES  # records of a shard
    form: OutputFormat = OutputFormat.JSONL  # of the output
    columns: Mapping[str, str] | None = None  # for fields of a record the names under which the file has them

    def open(self, *, quiet: bool) -> AbstractContextManager[Reasoner]:
        """Open the metrics and the graph; see :func:`tacit.api.opening.open_reasoner`."""
        return open_reasoner(self.names, self.options, self.address, self.engine, quiet=quiet)

    def identity(self, digest: str, signatures: dict[str, str]) -> dict[str, Any]:
        """Return what must be equal for a run to resume another one, as JSON values by name."""
        return {
            "input": digest,
            "metrics": list(self.names),
            "signatures": signatures,
            "options": {name: {key: repr(value) for key, value in self.options[name].items()} for name in self.names},
            "--explain": self.with_evidence,
            "--strict": self.strict,
            "format": self.form.value,
            "--shard-lines": self.lines,
            "--column": dict(self.columns) if self.columns else None,
        }


@dataclass(frozen=True, slots=True)
class ScoredShard:
    """A scored shard: its number, its rows as bytes of the output, their counts, and the digest of its records."""

    number: int
    data: bytes
    tally: Tally
    digest: str


def score_shard(plan: Plan, reasoner: Reasoner, shard: Shard, observers: Sequence[Observe] = ()) -> ScoredShard:
    """Score one shard; the result is bitwise equal whatever was scored before, and on whichever machine.

    ``observers`` are called with every row.
    """
    from ...loaders.dialogues import items_of
    from ...reasoning.lru_cache import clear_caches

    clear_caches()
    tally = Tally()
    rows: list[ItemScores] = []
    items = items_of(shard.lines, plan.file, strict=plan.strict)
    for row in reasoner.stream(items, batch_size=plan.batch_size, explain=plan.explain):
        tally.add(row)
        for observe in observers:
            observe(row)
        rows.append(row)
    if plan.form is OutputFormat.PARQUET:
        return ScoredShard(shard.number, arrow_stream(rows, plan.names, plan.with_evidence), tally, shard.digest)
    if plan.form.delimited:
        lines = (delimited_line(row, plan.names, plan.with_evidence, plan.form) for row in rows)
        return ScoredShard(shard.number, "".join(lines).encode(), tally, shard.digest)
    data = "".join(json_line(row, plan.with_evidence) for row in rows).encode()
    if plan.form is OutputFormat.GZIP and data:
        import gzip

        data = gzip.compress(data, 6, mtime=0)
    return ScoredShard(shard.number, data, tally, shard.digest)
