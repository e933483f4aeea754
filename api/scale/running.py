"""A scoring run from file to file, shard by shard: scored here or on a cluster, kept as they come, put together at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...graph.errors import DamagedInput, InputError, TacitError
from ..opening import Address, Engine, readable
from ..tally import Tally
from ..terminal.output import DiskFull, check_output
from ..terminal.progress import Meter
from ..terminal.text import count
from . import LINES
from .plan import Observe, Plan, score_shard
from .rows import Form, read_lines, read_parquet
from .shards import Shard, digest, read_shards
from .work import Work

if TYPE_CHECKING:
    from ...reasoning import Reasoner
    from ...reasoning.scoring import ItemScores

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
    metrics: Sequence[str] = ("grounding",),
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
        metrics: names out of :data:`tacit.reasoning.METRICS`.
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
