"""A scoring run from file to file: shards are scored here or on a cluster, and stored in a work folder, which merges them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ... import loaders
from ...graph.atomic import DiskFull
from ...graph.errors import DamagedInput, InputError, TacitError
from ..opening import Address, EngineName, readable
from ..terminal.output import check_output
from ..terminal.progress import Meter, count_ahead
from ..terminal.screen import count
from . import LINES
from .plan import Observe, Plan, Shard, digest, read_shards, score_shard
from .rows import OutputFormat, has_evidence, read_delimited, read_lines, read_parquet
from .statistics import Tally
from .work_folder import WorkFolder

if TYPE_CHECKING:
    from ...reasoning import Reasoner
    from ...reasoning.scorer import ItemScores

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster: ``address`` (None: start one on this machine), and number of ``workers`` (None: one per CPU)."""

    address: str | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run.

    Attributes:
        plan: its configuration.
        tally: counts of the whole output; fresh: number of rows scored by this run; seconds: its duration.
        signatures: by metric.
        damage: the row at which the input ends early, None if it is complete.
        complete: with ``resume``: the output was complete, and nothing was done.
    """

    plan: Plan
    tally: Tally
    fresh: int
    seconds: float
    signatures: dict[str, str]
    damage: ItemScores | None = None
    complete: bool = False


def score_file(
    file: str | os.PathLike[str],
    output: str | os.PathLike[str],
    graph: str | os.PathLike[str] | Address | None = None,
    metrics: Sequence[str] | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    engine: EngineName = "auto",
    explain: bool = False,
    form: OutputFormat | str | None = None,
    strict: bool = False,
    resume: bool = False,
    batch_size: int | None = None,
    shard_lines: int = LINES,
    columns: Mapping[str, str] | None = None,
    cluster: Cluster | None = None,
    observers: Sequence[Observe] = (),
    progress: bool = False,
    tell: Tell = lambda _: None,
) -> RunResult:
    """Score the responses of a dialogue file into another file, which is created atomically.

    An interrupted run leaves its finished shards in ``<output>.partial``, and ``resume`` continues from there; if the output is
    already complete, ``resume`` leaves it as it is. The rows do not depend on interruptions or on the machines that score.

    Args:
        file: JSON lines, JSON list, CSV or Parquet, plain or gzip (:func:`tacit.loaders.read_items`); ``-`` reads standard input.
        output: the file to write.
        graph: path or URL of a graph, or an :class:`Address` with credentials; None if no metric needs one.
        metrics: names from :data:`tacit.reasoning.METRICS`; default: those of :func:`tacit.reasoning.default_metrics`.
        options: options by metric, e.g. ``{"grounding": {"max_hops": 3}}``.
        engine: for concept queries: ``index``, ``store`` or ``auto``.
        explain: write the evidence too.
        form: ``jsonl``, ``jsonl.gz``, ``parquet``, ``csv`` or ``tsv``; default: by the suffix of ``output``. JSON lines are
            compressed where the name ends in ``.gz``.
        strict: raise at the first record without an item.
        resume: continue an interrupted run of the same file into the same output.
        batch_size: items scored together, >= 1; affects the speed only.
        shard_lines: records of a shard, >= 1.
        columns: for fields of a record the names under which the file has them, e.g. ``{"history": "context"}``.
        cluster: score on this Ray cluster.
        observers: called with every :class:`tacit.reasoning.ItemScores` that this process scores.
        progress: show a progress bar on stderr.
        tell: called with a sentence on what is kept if the run is interrupted.

    Returns:
        The counts, signatures and duration of the run.

    Raises:
        InputError: the file, the output, a metric or an option cannot be used, or ``output`` has a ``.partial`` folder of
            a different run, or without ``resume`` of any run.
        DamagedInput: the file ends early; finished shards are kept.
        TacitError: a graph or a model cannot be opened, the graph no longer answers, or the cluster failed.
    """
    if isinstance(metrics, str):
        raise InputError(f"metrics must be a list of names, e.g. [{metrics!r}], not a text")
    if metrics is None:
        from ...reasoning import default_metrics

        metrics = default_metrics(graph).names
    for name, number in (("batch_size", batch_size), ("shard_lines", shard_lines)):
        if number is not None and number < 1:
            raise InputError(f"{name} must be >= 1, not {number}")
    path = readable(os.fspath(file))
    target = check_output(Path(output), path)
    if (resume or cluster is not None) and not Path(path).is_file():
        raise InputError(f"{path} is not a regular file, so it can be neither resumed nor scored on a cluster; give a file")
    if graph is not None and not isinstance(graph, Address):
        graph = Address(os.fspath(graph))
    names = tuple(metrics)
    options_by_metric = {name: dict((options or {}).get(name, {})) for name in names}
    unknown = sorted(set(options or ()) - set(names))
    if unknown:
        raise InputError(f"options has {unknown[0]!r}, which is not in metrics; add it there, or leave its options out")
    if engine not in get_args(EngineName):
        raise InputError(f"engine must be {' or '.join(get_args(EngineName))}, not {engine!r}")
    try:
        output_form = OutputFormat.of(target, form)
    except ValueError:
        raise InputError(f"form must be {' or '.join(member.value for member in OutputFormat)}, not {form!r}") from None
    plan = Plan(
        path,
        names,
        options_by_metric,
        graph,
        engine,
        explain=explain,
        with_evidence=explain,
        strict=strict,
        batch_size=batch_size,
        lines=shard_lines,
        form=output_form,
        columns=dict(columns) if columns else None,
    )
    return run_plan(plan, target, resume=resume, cluster=cluster, observers=observers, progress=progress, tell=tell)


def read_scores(plan: Plan, output: Path) -> Iterator[ItemScores]:
    """Yield the rows of a finished output with their items, without evidence, in constant memory."""
    from ...graph.item import ItemError

    if plan.form is OutputFormat.PARQUET:
        rows = read_parquet(output, plan.names)
    elif plan.form.delimited:
        rows = read_delimited(output, plan.names, plan.form)
    else:
        rows = read_lines(output, plan.form)
    for item, row in zip_longest(loaders.read_items(plan.file, columns=plan.columns), rows):
        if isinstance(item, ItemError) and row is not None and item.line == row.line:
            yield row
        elif item is None or row is None or isinstance(item, ItemError) or row.line is not None or row.id != item.id:
            raise InputError(f"{output} does not have the scores of the present {plan.file}; score the file again")
        else:
            yield replace(row, item=item)


def run_plan(
    plan: Plan,
    target: Path,
    *,
    resume: bool = False,
    cluster: Cluster | None = None,
    observers: Sequence[Observe] = (),
    progress: bool = False,
    tell: Tell = lambda _: None,
) -> RunResult:
    """Score the plan's file into ``target``; see :func:`score_file`."""
    if plan.address is not None:
        plan = replace(plan, address=plan.address.absolute())
    with ExitStack() as stack:
        reasoner = stack.enter_context(plan.open(quiet=not progress))
        signatures = reasoner.signatures
        if resume and (tally := _complete(plan, target, signatures)) is not None:
            return RunResult(plan, tally, 0, 0.0, signatures, complete=True)
        if cluster is not None:
            stack.close()  # it was opened to report errors early, and to build the index only once
        total = count_ahead(plan.file, partial(loaders.read_items, columns=plan.columns), shown=progress)
        meter = Meter("scoring", total, noun="items", quiet=not progress)
        with _work(plan, target, signatures, resume=resume, tell=tell) as work, meter:
            if work.replaced:
                work.compare(read_shards(plan.file, plan.lines, columns=plan.columns))
            rows_before = work.rows
            if rows_before:
                meter.add(0, done=rows_before)
            if cluster is not None:
                shards = _score_on_cluster(plan, work, cluster, signatures, meter)
            else:
                shards = _score_locally(plan, work, reasoner, observers, meter)
            return RunResult(plan, work.finish(shards, plan), work.rows - rows_before, meter.seconds, signatures)


def _complete(plan: Plan, target: Path, signatures: dict[str, str]) -> Tally | None:
    """Return the counts of an output that has the scores of the plan's present file under ``signatures``; else None."""
    if not target.is_file() or target.with_name(f"{target.name}.partial").exists() or plan.file == "-":
        return None
    if target.stat().st_mtime_ns < Path(plan.file).stat().st_mtime_ns:
        return None
    tally = Tally()
    try:
        if has_evidence(target, plan.form) not in (None, plan.with_evidence):
            return None
        for row in read_scores(plan, target):
            if row.error is None and {name: str(score.signature) for name, score in row.scores.items()} != signatures:
                return None
            tally.add(row)
    except (InputError, LookupError, ValueError, OSError):  # a file of another kind, or of another run
        return None
    return tally


def _kept_rows(work: WorkFolder) -> str:
    if work.done:
        return f"{count(work.rows)} rows are kept in {work.folder}; continue with the same command and --resume"
    return "nothing is kept, since no shard was finished; use smaller shards (--shard-lines) to keep rows earlier"


def _score_locally(plan: Plan, work: WorkFolder, reasoner: Reasoner, observers: Sequence[Observe], meter: Meter) -> int:
    """Score the missing shards in this process, and return the number of all shards."""
    shards = 0
    for shard in read_shards(plan.file, plan.lines, work.done, plan.columns):
        shards += 1
        if isinstance(shard, Shard):
            work.store(score_shard(plan, reasoner, shard, (lambda _: meter.add(1), *observers)))
    return shards


def _score_on_cluster(plan: Plan, work: WorkFolder, cluster: Cluster, signatures: dict[str, str], meter: Meter) -> int:
    """Score the missing shards on a cluster, and return the number of all shards."""
    shards = sum(1 for _ in read_shards(plan.file, plan.lines, range(1 << 62), plan.columns))
    if len(work.done) == shards:
        return shards
    from .cluster import score_on_cluster

    for part, worker_signatures in score_on_cluster(plan, frozenset(work.done), cluster.address, cluster.workers):
        if worker_signatures != signatures:
            raise TacitError(
                f"a worker has the signatures {', '.join(worker_signatures.values())}, "
                f"this machine {', '.join(signatures.values())}; give every node of the cluster the same graph and models"
            )
        if part.number not in work.done:  # a shard may come twice when a node has died
            work.store(part)
            meter.add(part.tally.rows)
    if len(work.done) < shards:
        raise TacitError(f"the cluster returned no result for {shards - len(work.done)} shards; run it again with --resume")
    return shards


@contextmanager
def _work(plan: Plan, target: Path, signatures: dict[str, str], *, resume: bool, tell: Tell) -> Iterator[WorkFolder]:
    """Open the work folder; if the run is interrupted, keep the folder if it has rows, and tell so."""
    seekable = plan.file != "-"
    work = WorkFolder(target, plan.identity(digest(plan.file) if seekable else "-", signatures), resume=resume)
    resumed = bool(work.done)
    try:
        yield work
    except DamagedInput as damage:
        if not (seekable and work.done):
            work.discard()
            raise DamagedInput(f"{damage}, so nothing is written; get the complete file") from None
        work.damaged()
        raise DamagedInput(
            f"{damage}: the {count(work.rows)} rows before that are kept in {work.folder}; "
            "get the complete file and run the same command with --resume"
        ) from None
    except DiskFull as full:
        if not (seekable and work.done):
            work.discard()
            raise
        raise DiskFull(f"{full}; {count(work.rows)} rows are kept in {work.folder} for --resume") from None
    except InputError:  # a run with the same input would fail in the same way
        if not resumed:
            work.discard()
        raise
    except KeyboardInterrupt:
        if seekable:
            tell(f"stopped; {_kept_rows(work)}")
        if not (seekable and work.done):
            work.discard()
        raise
    except BaseException:
        if seekable and work.done:
            tell(_kept_rows(work))
        else:
            work.discard()
        raise
    finally:
        work.close()
