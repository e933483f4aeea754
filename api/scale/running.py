"""A scoring run from file to file, shard by shard: scored here or on a cluster, kept as they come, put together at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...graph.errors import DamagedInput, InputError, TacitError
from ..tally import Tally
from ..terminal.output import DiskFull
from ..terminal.progress import Meter
from ..terminal.screen import note
from ..terminal.text import count
from .plan import Observe, Plan, score_shard
from .shards import Shard, digest, read_shards
from .work import Work

if TYPE_CHECKING:
    from ...loaders.dialogues import Item, ItemError
    from ...reasoning import Reasoner
    from ...reasoning.scoring import ItemScores


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster: its ``address`` (None: one of this machine, for the run), and how many ``workers`` (None: one a CPU)."""

    address: str | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a run did.

    Attributes:
        tally: counts of the whole output; fresh: rows that this run scored; seconds: in how long.
        signatures: by metric.
        damage: where the input ended early, None when it did not.
    """

    tally: Tally
    fresh: int
    seconds: float
    signatures: dict[str, str]
    damage: ItemError | None = None


def run_shards(
    plan: Plan,
    target: Path,
    meter_of: Callable[[], Meter],
    *,
    resume: bool = False,
    cluster: Cluster | None = None,
    observers: Sequence[Observe] = (),
    quiet: bool = False,
) -> Done:
    """Score the plan's file into ``target``, which appears whole.

    A run that is cut short leaves its shards beside ``target`` when there is one; see :class:`tacit.api.scale.work.Work`.

    Args:
        meter_of: makes what tells how far the scoring is, once all is open.
        resume: go on with what such a run has left.
        cluster: score there instead of here; observers are not told of rows that are scored elsewhere, or were before.

    Raises:
        InputError: the file, or what is beside ``target``, cannot be used.
        TacitError: scoring ended; see :func:`tacit.api.scale.plan.score_shard`.
    """
    with ExitStack() as stack:
        reasoner = stack.enter_context(plan.open(quiet=quiet))
        signatures = reasoner.signatures
        if cluster is not None:
            stack.close()  # it was opened so that faults show at once, and one process alone builds the index
        with _work(plan, target, signatures, resume=resume) as work, meter_of() as meter:
            if work.replaced:
                work.compare(read_shards(plan.file, plan.lines))
            before = work.rows
            if before:
                meter.add(0, done=before)
            if cluster is not None:
                shards = _score_there(plan, work, cluster, signatures, meter)
            else:
                shards = _score_here(plan, work, reasoner, observers, meter)
            return Done(work.finish(shards, plan), work.rows - before, meter.seconds, signatures)


def _kept(work: Work) -> str:
    if work.done:
        return f"{count(work.rows)} rows are kept in {work.folder}; the same command with --resume goes on from there"
    return "nothing is kept yet, since rows are kept shard by shard; smaller shards (--shard-lines) are kept sooner"


def _score_here(plan: Plan, work: Work, reasoner: Reasoner, observers: Sequence[Observe], meter: Meter) -> int:
    """Score the shards that are missing, and return how many there are in all."""

    def observe(item: Item | None, row: ItemScores | ItemError) -> None:
        meter.add(1)
        for tell in observers:
            tell(item, row)

    shards = 0
    for shard in read_shards(plan.file, plan.lines, work.done):
        shards += 1
        if isinstance(shard, Shard):
            work.keep(score_shard(plan, reasoner, shard, observe))
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
def _work(plan: Plan, target: Path, signatures: dict[str, str], *, resume: bool) -> Iterator[Work]:
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
            note(f"stopped; {_kept(work)}")
        if not (seekable and work.done):
            work.discard()
        raise
    except BaseException:
        if seekable and work.done:
            note(_kept(work))
        else:
            work.discard()
        raise
    finally:
        work.close()
