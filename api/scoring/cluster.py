"""Scoring on a Ray cluster: Ray Data streams shards from this machine to a pool of actors, and their rows back.

Each actor opens the graph, its index and the models once. Shards return in any order and are stored by number; when a node dies,
other nodes score its unfinished shards. Ray and Arrow are imported when a run starts.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ...graph import errors
from ...graph.errors import InputError, TacitError
from ...reasoning.models.hub import need
from .plan import Plan, ScoredShard, Shard, read_shards, score_shard
from .statistics import Tally

if TYPE_CHECKING:
    import pyarrow as pa

    from ...reasoning import Reasoner

_STORE_BYTES = 256 << 20
_CPUS = 0.5  # a worker claims half a CPU, so that the workers of a node that dies find room on the others


def score_on_cluster(
    plan: Plan, without: frozenset[int], address: str | None, workers: int | None
) -> Iterator[tuple[ScoredShard, dict[str, str]]]:
    """Yield the scored shards of the plan's file that are not in ``without``, in any order, with the workers' signatures.

    ``address`` and ``workers`` are those of :class:`tacit.api.Cluster`.
    """
    ray = need("ray", "ray")
    data = need("ray.data", "ray")
    with _connected(ray, address, workers), _quiet_context(data):
        size = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        shards = data.read_datasource(_source(data, plan, without), override_num_blocks=1, num_cpus=0)
        rows = shards.map_batches(
            Worker,
            fn_constructor_args=(plan,),
            batch_size=1,
            batch_format="pyarrow",
            compute=data.ActorPoolStrategy(size=size),
            num_cpus=_CPUS,
        )
        try:
            for table in rows.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                for row in table.to_pylist():
                    if row["kind"]:
                        raise _error(row["kind"], row["fault"])
                    yield (
                        ScoredShard(row["part"], row["data"], Tally.from_dict(json.loads(row["tally"])), row["digest"]),
                        json.loads(row["signatures"]),
                    )
        except ray.exceptions.RayError as error:
            reason = " ".join(str(error).split())
            raise TacitError(
                f"the Ray cluster failed ({reason[:300]}); finished shards are kept, run it again with --resume"
            ) from error


class Worker:
    """A Ray actor. It opens the plan with its first shard, so that an error is returned like an error of scoring."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._stack = ExitStack()
        self._reasoner: Reasoner | None = None

    def __call__(self, table: pa.Table) -> pa.Table:
        """Score the shards in ``table``, one per row."""
        import pyarrow as pa

        return pa.Table.from_pylist([self._score(row) for row in table.to_pylist()], _answer_schema())

    def _score(self, row: dict[str, Any]) -> dict[str, Any]:
        from ...loaders.io import Line

        lines = tuple(map(Line, row["numbers"], row["data"], row["flaws"]))
        try:
            if self._reasoner is None:
                self._reasoner = self._stack.enter_context(self._plan.open(quiet=True))
            part = score_shard(self._plan, self._reasoner, Shard(row["part"], lines))
        except TacitError as error:
            return {"part": row["part"], "kind": type(error).__name__, "fault": str(error)}
        return {
            "part": part.number,
            "data": part.data,
            "digest": part.digest,
            "tally": json.dumps(part.tally.to_dict()),
            "signatures": json.dumps(self._reasoner.signatures),
            "kind": "",
        }


def _source(data: Any, plan: Plan, without: frozenset[int]) -> Any:
    """The shards of the plan's file as a Ray data source: one task on this machine, which streams them one by one."""
    from ray.data.block import BlockMetadata

    class Shards(data.Datasource):  # type: ignore[misc]
        """Rows ``{"part", "numbers", "data", "flaws"}``, one per shard."""

        supports_distributed_reads = False  # the file is on this machine

        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
            return [data.ReadTask(lambda: _tables(plan, without), metadata)]

    return Shards()


def _tables(plan: Plan, without: frozenset[int]) -> Iterable[pa.Table]:
    """Yield each shard as a table of one row."""
    import pyarrow as pa

    fields = [("part", pa.int64()), ("numbers", pa.list_(pa.int64())), ("data", pa.list_(pa.binary()))]
    schema = pa.schema([*fields, ("flaws", pa.list_(pa.string()))])
    for shard in read_shards(plan.file, plan.lines, without, plan.columns):
        if isinstance(shard, Shard):
            numbers, lines, flaws = zip(*shard.lines, strict=True)
            row = {"part": shard.number, "numbers": numbers, "data": lines, "flaws": flaws}
            yield pa.Table.from_pylist([row], schema)


def _answer_schema() -> pa.Schema:
    import pyarrow as pa

    text = [(name, pa.string()) for name in ("digest", "tally", "signatures", "kind", "fault")]
    return pa.schema([("part", pa.int64()), ("data", pa.binary()), *text])


def _error(kind: str, fault: str) -> TacitError:
    """Return the error that a worker raised."""
    error_type = getattr(errors, kind, TacitError)
    error: TacitError = error_type.__new__(error_type, fault)
    return error


@contextmanager
def _connected(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """Connect to the cluster, or start one on this machine, and disconnect at the end; an existing connection is reused."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is not None and address.startswith("ray://"):
        raise InputError(
            f"{address} is an address of Ray Client, which cannot stream shards; run tacit on a node, with --address auto"
        )
    local_settings: dict[str, Any] = {"num_cpus": workers or os.cpu_count() or 1, "object_store_memory": _STORE_BYTES}
    try:
        ray.init(
            address=address or "local",
            include_dashboard=False if address is None else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(local_settings if address is None else {}),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"no Ray cluster answers at {address or 'this machine'} ({reason[:200]}); check --address") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _quiet_context(data: Any) -> Iterator[None]:
    """Configure Ray Data to send each shard in a block of its own, and to show no progress of its own."""
    context = data.DataContext.get_current()
    settings = {"target_max_block_size": 1, "enable_progress_bars": False, "print_on_execution_start": False}
    previous = {name: getattr(context, name) for name in settings}
    logger = logging.getLogger("ray.data")
    level = logger.level
    for name, value in settings.items():
        setattr(context, name, value)
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        for name, value in previous.items():
            setattr(context, name, value)
