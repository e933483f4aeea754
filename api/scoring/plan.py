"""What a scoring run is asked to do, as one value that can travel to other machines, and how it does it for one shard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.errors import DamagedInput, InputError
from ..opening import Address, Engine, Options, open_reasoner
from . import LINES
from .rows import Form, json_line, packed
from .statistics import Tally

if TYPE_CHECKING:
    from ...loaders.io import Line
    from ...reasoning import Reasoner
    from ...reasoning.scorer import ItemScores

# A shard: some records of a dialogue file, the unit in which large files are scored, kept, and resumed.
#
# Where shards begin depends on the file and the wanted number of lines alone, so every run of a file has the same ones.

MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Shard:
    """Records that follow one another, one JSON object a line; ``number`` counts the shards of a file from 0."""

    number: int
    lines: tuple[Line, ...]

    @property
    def digest(self) -> str:
        """The sha256 of the records, in hex."""
        found = hashlib.sha256()
        for line in self.lines:
            found.update(b"%d\0%s\0%s\n" % (line.number, (line.flaw or "").encode(), line.data))
        return found.hexdigest()


def read_shards(file: str, size: int = LINES, without: Container[int] = ()) -> Iterator[Shard | int]:
    """Yield the shards of a file (see :func:`tacit.loaders.read_items`), one held at a time; of those in ``without``, the number.

    A shard ends after ``size`` records, or sooner, with the record that takes it to 1 MiB.

    Raises:
        InputError: the file cannot be opened, or is no dialogue file.
        DamagedInput: the file ends early; the records before that have been yielded.
    """
    from ...loaders.dialogues import item_records
    from ...loaders.io import ByteSource
    from ...loaders.records import Damage

    source = ByteSource(file)
    try:
        number = count = weight = 0
        held: list[Line] = []
        damage: Line | None = None
        for line in item_records(source):
            if isinstance(line.flaw, Damage):
                damage = line
                break
            count += 1
            weight += len(line.data)
            if number not in without:
                held.append(line)
            if count == size or weight >= MOST_BYTES:
                yield Shard(number, tuple(held)) if held else number
                number, count, weight, held = number + 1, 0, 0, []
        if count:
            yield Shard(number, tuple(held)) if held else number
        if damage is not None:
            raise DamagedInput(f"{file} ends early, at record {damage.number:,} ({damage.flaw})")
    finally:
        source.close()


def digest(file: str) -> str:
    """Return the sha256 of a file as it lies on disk, in hex.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with Path(file).open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None


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
    from ...reasoning.cache import clear_caches

    clear_caches()
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
