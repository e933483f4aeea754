"""A scoring run from file to file, shard by shard: scored here or on a cluster, kept as they come, put together at the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...graph.errors import DamagedInput, InputError, TacitError
from ..opening import Address, Engine, readable
from ..terminal.output import DiskFull, check_output, telling_of_full_disks, whole
from ..terminal.progress import Meter
from ..terminal.text import count
from . import LINES
from .plan import Observe, Part, Plan, Shard, digest, read_shards, score_shard
from .rows import Form, read_lines, read_parquet, write_parquet
from .statistics import Tally

if TYPE_CHECKING:
    from ...reasoning import Reasoner
    from ...reasoning.scorer import ItemScores

# The folder beside the output, ``OUT.partial``, in which the shards of an unfinished run are kept, and a journal of them.
#
# The journal's first line says what the run is (input, metrics, signatures, options); each further line names a shard that is
# on disk, whole, with its counts and the digest of its records. A run that was killed, at any moment, goes on with the shards
# that the journal does not name. A run that ended because its input ends early may go on with another file in the input's
# place: the shards whose records are the same are kept.

try:
    import fcntl
except ImportError:  # Windows: two runs that write to one file are not kept apart
    fcntl = None  # type: ignore[assignment]

_JOURNAL = "journal.jsonl"
_WHOLE = "whole"  # what becomes the output, so that a kill while it is written leaves nothing beside this folder
_PART = re.compile(r"\.?(\d{8,})\.part(\.\d+\.part)?")
_FORMAT = 1
_CALLED = {
    "input": "another input file",
    "metrics": "other metrics",
    "signatures": "metrics of other signatures",
    "options": "other options",
    "--explain": "another --explain",
    "--strict": "another --strict",
    "format": "another format",
    "--shard-lines": "another --shard-lines",
}


class Work:
    """The work folder of one run; nobody else can have it open.

    Attributes:
        folder: where it is.
        done: what each shard that is kept counts, by its number.
        digests: of the records of each shard that is kept, by its number.
        replaced: the run goes on with another input, so that shards have to be compared with it.
    """

    def __init__(self, target: Path, identity: dict[str, Any], *, resume: bool) -> None:
        """Open the folder beside ``target`` for the run that ``identity`` describes; see :meth:`Plan.identity`.

        Raises:
            InputError: another run is at work there, or left shards, and ``resume`` is not asked for or would go on with
                something else.
        """
        self.folder = target.with_name(f"{target.name}.partial")
        self.done: dict[int, Tally] = {}
        self.digests: dict[int, str | None] = {}
        self.replaced = False
        self._damaged = False
        self._target = target
        try:
            self.folder.mkdir(exist_ok=True)
            self._journal = os.open(self.folder / _JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be used as a folder ({error.strerror}); move away what is there") from error
        try:
            self._begin({"tacit": _FORMAT, **identity}, resume)
        except BaseException:
            os.close(self._journal)
            raise

    def _begin(self, identity: dict[str, Any], resume: bool) -> None:
        """Take up what the journal names, or begin it."""
        if fcntl is not None:
            try:
                fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"another run is writing {self._target}; wait for it, or write to another file") from None
        begun, size = self._read()
        if begun is not None and resume:
            self._refuse_another(begun, identity)
        elif self.done:
            rows = count(sum(tally.rows for tally in self.done.values()))
            raise InputError(
                f"{self.folder} holds {rows} rows of an unfinished run; go on with --resume, or delete the folder to start over"
            )
        if begun is None or not resume:
            size = 0
        os.ftruncate(self._journal, size)
        self._sweep(keep=True)
        if not size:
            self._note(identity)
        self._input = identity["input"]

    def _read(self) -> tuple[dict[str, Any] | None, int]:
        """What the journal was begun with (None: nothing), and how many of its bytes are whole lines; fills :attr:`done`."""
        begun: dict[str, Any] | None = None
        size = 0
        with (self.folder / _JOURNAL).open("rb") as journal:
            for line in journal:
                try:
                    row = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    row = None
                if not isinstance(row, dict):  # the last line of a run that was killed, or no journal at all
                    if begun is None and line.endswith(b"\n"):
                        raise self._unknown()
                    break
                size += len(line)
                if begun is None:
                    begun = row
                    if begun.get("tacit") != _FORMAT:
                        raise self._unknown()
                    continue
                if "part" not in row:
                    self._damaged = row.get("damaged", False)
                    begun["input"] = row.get("input", begun.get("input"))
                    continue
                with suppress(OSError):
                    if self._path(row["part"]).stat().st_size == row["bytes"]:
                        self.done[row["part"]] = Tally.from_dict(row["tally"])
                        self.digests[row["part"]] = row.get("sha256")
        return begun, size

    def _unknown(self) -> InputError:
        return InputError(f"{self.folder} holds no work that this version can go on with; move it away to start over")

    def _sweep(self, *, keep: bool = False) -> None:
        """Delete the shards, or (``keep``) what is no whole shard, and nothing else."""
        (self.folder / _WHOLE).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            match = _PART.fullmatch(path.name)
            if match and not (keep and int(match[1]) in self.done and path == self._path(int(match[1]))):
                path.unlink()

    def _refuse_another(self, begun: dict[str, Any], identity: dict[str, Any]) -> None:
        for key, called in _CALLED.items():
            if key == "input" and self._damaged and begun.get(key) != identity[key]:
                self.replaced = True
                continue
            if begun.get(key) != identity[key]:
                raise InputError(
                    f"{self.folder} was begun with {called}; give what it was begun with, or delete the folder to start over"
                )

    def keep(self, part: Part) -> None:
        """Put one shard on disk, then into the journal."""
        with whole(self._path(part.number)) as file:
            file.write(part.data)
        self._note({"part": part.number, "bytes": len(part.data), "tally": part.tally.to_dict(), "sha256": part.digest})
        self.done[part.number], self.digests[part.number] = part.tally, part.digest

    def compare(self, shards: Iterable[Shard | int]) -> None:
        """Keep only the shards whose records are those of ``shards``, and go on as a run of the input that these come from."""
        now: dict[int, str] = {}
        with suppress(DamagedInput):  # it ends early, too: what is before that counts
            now.update((shard.number, shard.digest) for shard in shards if isinstance(shard, Shard))
        for number in [number for number, known in self.digests.items() if now.get(number) != known]:
            self._path(number).unlink(missing_ok=True)
            del self.done[number], self.digests[number]
        self._note({"input": self._input, "damaged": False})
        self.replaced = False

    def damaged(self) -> None:
        """Note that the input ends early, so that the run may go on with another file in its place."""
        self._note({"damaged": True})

    def _note(self, row: dict[str, Any]) -> None:
        with telling_of_full_disks(self.folder):
            os.write(self._journal, json.dumps(row).encode() + b"\n")
            os.fsync(self._journal)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.part"

    def finish(self, shards: int, plan: Plan) -> Tally:
        """Put the ``shards`` together as the output, which appears whole, delete the folder, and return what was counted."""
        tally = Tally()
        for number in range(shards):
            tally.merge(self.done[number])
        paths = [self._path(number) for number in range(shards)]
        with whole(self._target, draft=self.folder / _WHOLE) as file:
            if plan.form is Form.PARQUET:
                write_parquet(paths, plan.names, plan.shown, file)
            else:
                for path in paths:
                    with path.open("rb") as data:
                        shutil.copyfileobj(data, file, 1 << 20)
                if plan.form is Form.GZIP and not file.tell():
                    import gzip

                    file.write(gzip.compress(b"", 6, mtime=0))
        self.discard()
        return tally

    def discard(self) -> None:
        """Delete what the run has made there, and the folder when nothing else is in it."""
        with suppress(OSError):
            self._sweep()
            (self.folder / _JOURNAL).unlink()
            self.folder.rmdir()
        self.close()

    def close(self) -> None:
        """Let others have the folder; closing twice is harmless."""
        if self._journal >= 0:
            os.close(self._journal)
            self._journal = -1

    @property
    def rows(self) -> int:
        """Rows on disk."""
        return sum(tally.rows for tally in self.done.values())


Tell = Callable[[str], object]
_E = TypeVar("_E", bound=Enum)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster: its ``address`` (None: one of this machine, for the run), and how many ``workers`` (None: one a CPU)."""

    address: str | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a run did.

    Attributes:
        plan: what was asked for.
        tally: counts of the whole output; fresh: rows that this run scored; seconds: in how long.
        signatures: by metric.
        damage: the row at which the input ends early, None when it does not.
    """

    plan: Plan
    tally: Tally
    fresh: int
    seconds: float
    signatures: dict[str, str]
    damage: ItemScores | None = None


def score_file(
    file: str | os.PathLike[str],
    output: str | os.PathLike[str],
    graph: str | os.PathLike[str] | Address | None = None,
    metrics: Sequence[str] | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    engine: Engine | str = Engine.AUTO,
    explain: bool = False,
    form: Form | str | None = None,
    strict: bool = False,
    resume: bool = False,
    batch_size: int | None = None,
    shard_lines: int = LINES,
    cluster: Cluster | None = None,
    observers: Sequence[Observe] = (),
    progress: bool = False,
    tell: Tell = lambda _: None,
) -> Done:
    """Score the responses of a dialogue file into another file, shard by shard; the output appears whole or not at all.

    A run that is cut short leaves its finished shards in ``<output>.partial``, and ``resume`` goes on from there. The rows are
    the same however a run is cut, resumed or spread over machines.

    Args:
        file: JSON lines, JSON list, CSV or Parquet, plain or gzip (:func:`tacit.loaders.read_items`); ``-`` reads standard input.
        output: the file to write.
        graph: path or URL of a graph, or an :class:`Address` with a user and a password; metrics that need none do without.
        metrics: names out of :data:`tacit.reasoning.METRICS`; by default those of :func:`tacit.reasoning.default_metrics`.
        options: options by metric, e.g. ``{"grounding": {"max_hops": 3}}``.
        engine: ``index``, ``store`` or ``auto``; what answers concept queries.
        explain: write the evidence too.
        form: ``jsonl``, ``jsonl.gz`` or ``parquet``; by default as the output's name ends.
        strict: end at the first record that holds no item.
        resume: go on where a run of the same file into the same output was cut short.
        batch_size: items scored together, >= 1; changes the speed alone.
        shard_lines: records of a shard, >= 1.
        cluster: score on this Ray cluster instead of here.
        observers: called with every :class:`tacit.reasoning.ItemScores` that is scored here in this run.
        progress: show a progress bar on stderr.
        tell: called with a sentence when the run is cut short, on what is kept.

    Raises:
        InputError: the file, the output, a metric or an option cannot be used, or ``output`` has a ``.partial`` folder of
            another run; without ``resume``, of any run.
        DamagedInput: the file ends early; what comes before is kept.
        TacitError: a graph or a model cannot be opened, the graph went away, or the cluster failed.
    """
    if isinstance(metrics, str):
        raise InputError(f"the metrics are one text; give a list of names, e.g. [{metrics!r}]")
    if metrics is None:
        from ...reasoning import default_metrics

        metrics = default_metrics(graph).names
    for name, number in (("batch_size", batch_size), ("shard_lines", shard_lines)):
        if number is not None and number < 1:
            raise InputError(f"{name} must be >= 1, not {number}")
    path = readable(os.fspath(file))
    target = check_output(Path(output), path)
    if (resume or cluster is not None) and not Path(path).is_file():
        raise InputError(f"{path} is no file that can be read twice, so it can be neither resumed nor scored on a cluster")
    if graph is not None and not isinstance(graph, Address):
        graph = Address(os.fspath(graph))
    names = tuple(metrics)
    given = {name: dict((options or {}).get(name, {})) for name in names}
    stray = sorted(set(options or ()) - set(names))
    if stray:
        raise InputError(f"there are options for {stray[0]!r}, which is not among the metrics; name it or leave them out")
    plan = Plan(
        path,
        names,
        given,
        None if graph is None else graph.absolute(),
        _choice(Engine, engine, "engine"),
        explain=explain,
        shown=explain,
        strict=strict,
        batch_size=batch_size,
        lines=shard_lines,
        form=Form.of(target) if form is None else _choice(Form, form, "form"),
    )
    return _run(plan, target, resume=resume, cluster=cluster, observers=observers, progress=progress, tell=tell)


def _choice(kind: type[_E], value: _E | str, name: str) -> _E:
    """Return the member of an enum that has this value.

    Raises:
        InputError: none has.
    """
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} must be {' or '.join(str(one.value) for one in kind)}, not {value!r}") from None


def total_items(file: str, watched: bool) -> int | None:
    """Return the number of items for a progress bar that somebody watches, if the file can be read twice: reading is fast."""
    if not watched or not sys.stderr.isatty() or not Path(file).is_file():
        return None
    from ...loaders import read_items

    return sum(1 for _ in read_items(file)) or None


def read_scores(plan: Plan, output: Path) -> Iterator[ItemScores]:
    """Yield the rows of a finished output with their items, without their evidence; a few are in memory.

    Raises:
        InputError: the output does not hold the scores of the plan's file, since one of them was changed.
    """
    from ...graph.item import ItemError
    from ...loaders import read_items

    rows = read_parquet(output, plan.names) if plan.form is Form.PARQUET else read_lines(output, plan.form)
    for item, row in zip_longest(read_items(plan.file), rows):
        if isinstance(item, ItemError) and row is not None and item.line == row.line:
            yield row
        elif item is None or row is None or isinstance(item, ItemError) or row.line is not None or row.id != item.id:
            raise InputError(f"{output} does not hold the scores of {plan.file} as it is now; score it again")
        else:
            yield replace(row, item=item)


def _run(
    plan: Plan,
    target: Path,
    *,
    resume: bool,
    cluster: Cluster | None,
    observers: Sequence[Observe],
    progress: bool,
    tell: Tell,
) -> Done:
    """Score the plan's file into ``target``; see :func:`score_file`."""
    with ExitStack() as stack:
        reasoner = stack.enter_context(plan.open(quiet=not progress))
        signatures = reasoner.signatures
        if cluster is not None:
            stack.close()  # it was opened so that faults show at once, and one process alone builds the index
        total = total_items(plan.file, progress)
        meter = Meter("scoring", total, unit="items", noun="items", quiet=not progress)
        with _work(plan, target, signatures, resume=resume, tell=tell) as work, meter:
            if work.replaced:
                work.compare(read_shards(plan.file, plan.lines))
            before = work.rows
            if before:
                meter.add(0, done=before)
            if cluster is not None:
                shards = _score_there(plan, work, cluster, signatures, meter)
            else:
                shards = _score_here(plan, work, reasoner, observers, meter)
            return Done(plan, work.finish(shards, plan), work.rows - before, meter.seconds, signatures)


def _kept(work: Work) -> str:
    if work.done:
        return f"{count(work.rows)} rows are kept in {work.folder}; the same command with --resume goes on from there"
    return "nothing is kept yet, since rows are kept shard by shard; smaller shards (--shard-lines) are kept sooner"


def _score_here(plan: Plan, work: Work, reasoner: Reasoner, observers: Sequence[Observe], meter: Meter) -> int:
    """Score the shards that are missing, and return how many there are in all."""
    shards = 0
    for shard in read_shards(plan.file, plan.lines, work.done):
        shards += 1
        if isinstance(shard, Shard):
            work.keep(score_shard(plan, reasoner, shard, (lambda _: meter.add(1), *observers)))
    return shards


def _score_there(plan: Plan, work: Work, cluster: Cluster, signatures: dict[str, str], meter: Meter) -> int:
    """Have a cluster score the shards that are missing, and return how many there are in all."""
    shards = sum(1 for _ in read_shards(plan.file, plan.lines, range(1 << 62)))
    if len(work.done) == shards:
        return shards
    from .cluster import score_on_cluster

    for part, theirs in score_on_cluster(plan, frozenset(work.done), cluster.address, cluster.workers):
        if theirs != signatures:
            raise TacitError(
                f"a worker scores as {', '.join(theirs.values())}, this machine as {', '.join(signatures.values())}; "
                "give every node of the cluster the same graph and models"
            )
        if part.number not in work.done:  # a shard may come twice when a node has died
            work.keep(part)
            meter.add(part.tally.rows)
    if len(work.done) < shards:
        raise TacitError(f"{shards - len(work.done)} shards did not come back from the cluster; run it again with --resume")
    return shards


@contextmanager
def _work(plan: Plan, target: Path, signatures: dict[str, str], *, resume: bool, tell: Tell) -> Iterator[Work]:
    """Give the work folder; a run that is cut short keeps it when it holds rows, and says so."""
    seekable = plan.file != "-"
    work = Work(target, plan.identity(digest(plan.file) if seekable else "-", signatures), resume=resume)
    try:
        yield work
    except DamagedInput as damage:
        if not (seekable and work.done):
            work.discard()
            raise DamagedInput(f"{damage}, so nothing is written; get the whole file") from None
        work.damaged()
        raise DamagedInput(
            f"{damage}: the {count(work.rows)} rows before that are kept in {work.folder}; "
            "get the whole file and run the same command with --resume"
        ) from None
    except DiskFull as full:
        if not (seekable and work.done):
            work.discard()
            raise
        raise DiskFull(f"{full}; {count(work.rows)} rows are kept in {work.folder} for --resume") from None
    except InputError:  # it would meet the same fault again
        work.discard()
        raise
    except KeyboardInterrupt:
        if seekable:
            tell(f"stopped; {_kept(work)}")
        if not (seekable and work.done):
            work.discard()
        raise
    except BaseException:
        if seekable and work.done:
            tell(_kept(work))
        else:
            work.discard()
        raise
    finally:
        work.close()
