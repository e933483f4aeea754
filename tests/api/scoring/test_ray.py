"""Scoring on a Ray cluster of several nodes: the bytes of the local run, also when a node is killed, and only what is missing."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tacit.api.scoring import cluster as run_cluster
from tacit.api.scoring.plan import ScoredShard
from tacit.api.scoring.work_folder import WorkFolder

Tacit = Callable[..., Any]

STORE_BYTES = 80 << 20
SYSTEM_CONFIG = {
    "health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 5,
    "worker_niceness": 0,  # 15 unless told otherwise: beside other tests, workers then take minutes to start
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head, to which this process is connected, and another node, of one processor each."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        nodes = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1,
                "object_store_memory": STORE_BYTES,
                "include_dashboard": False,
                "_system_config": SYSTEM_CONFIG,
            },
        )
        nodes.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
        ray.init(address=nodes.address, log_to_driver=False, logging_level=logging.ERROR)
        try:
            yield nodes
        finally:
            ray.shutdown()
            nodes.shutdown()


@pytest.fixture(scope="module")
def long_file(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty lines, of which some hold no item."""
    lines = (sample / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    file = tmp_path_factory.mktemp("ray") / "long_file.jsonl"
    file.write_text("\n".join([*lines, "not json", '{"turns": ["A dog.", "A bone."]}'] * 5) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def base(long_file: Path, sample_graph: str) -> list[object]:
    """The words of a run in shards of five lines."""
    return ["score", long_file, "--graph", sample_graph, "--metrics", "grounding,length", "--shard-lines", 5, "--quiet"]


@pytest.fixture
def light(long_file: Path) -> list[object]:
    """The same run with a metric that needs no graph and no language pipeline: workers start sooner."""
    return ["score", long_file, "--metrics", "length", "--shard-lines", 5, "--quiet"]


def test_ray_client_addresses_are_refused(tacit: Tacit, base: list[object], tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    if ray.is_initialized():
        pytest.skip("a cluster is connected already")
    outcome = tacit(*base, "-o", tmp_path / "out.jsonl", "--engine", "ray", "--address", "ray://127.0.0.1:1")
    assert outcome.status == 2
    assert "--address auto" in outcome.err


def watch_shards(monkeypatch: pytest.MonkeyPatch, then: Callable[[int], object]) -> list[int]:
    """Return a list that fills with the numbers of the shards that are kept; ``then`` is called with its length each time."""
    keep, shards = WorkFolder.store, list[int]()

    def watched(self: WorkFolder, part: ScoredShard) -> None:
        keep(self, part)
        shards.append(part.number)
        then(len(shards))

    monkeypatch.setattr(WorkFolder, "store", watched)
    return shards


@pytest.mark.slow
def test_a_cluster_gives_the_bytes_of_the_local_run_even_if_a_node_is_killed(
    tacit: Tacit, cluster: Any, base: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole.jsonl.gz", tmp_path / "out.jsonl.gz"
    assert tacit(*base, "--explain", "-o", whole).status == 0

    log, worker = tmp_path / "log.txt", run_cluster.Worker

    head, killed = cluster.head_node.node_id, tmp_path / "killed"

    class Waiting(worker):  # type: ignore[valid-type, misc]
        """A worker that writes down on which node it begins which shard, and beside the head waits until a node is killed."""

        def __call__(self, table: Any) -> Any:
            import ray

            node = ray.get_runtime_context().get_node_id()
            with log.open("a") as file:
                file.write(f"{node} {table['part'][0].as_py()}\n")
            for _ in range(0 if node == head else 1200):
                if killed.exists():
                    break
                time.sleep(0.05)
            return super().__call__(table)

    def kill_a_node(_: int) -> None:
        at_work = set(log.read_text().split())
        for node in [node for node in cluster.worker_nodes if node.node_id in at_work]:
            cluster.remove_node(node, allow_graceful=False)
            killed.touch()

    monkeypatch.setattr(run_cluster, "Worker", Waiting)
    shards = watch_shards(monkeypatch, kill_a_node)
    outcome = tacit(*base, "--explain", "-o", out, "--engine", "ray", "--workers", 2)
    assert outcome.status == 0, outcome.err
    assert not cluster.worker_nodes
    assert sorted(shards) == list(range(12))
    assert out.read_bytes() == whole.read_bytes()
    begun = [line.split() for line in log.read_text().splitlines()]
    assert len({node for node, _ in begun}) == 2
    assert len(begun) > 12  # what the node had begun, another began again
    assert not (tmp_path / "out.jsonl.gz.partial").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_only_missing_shards_are_scored_and_the_report_is_that_of_the_local_run(
    tacit: Tacit, light: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out, here, there = (tmp_path / name for name in ("whole.parquet", "out.parquet", "here.html", "there.html"))
    assert tacit(*light, "-o", whole, "--html", here).status == 0

    def stop(existing: int) -> None:
        if existing == 9:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        first = watch_shards(patch, stop)
        assert tacit(*light, "-o", out, "--html", there).status == 130
    second = watch_shards(monkeypatch, lambda _: None)
    outcome = tacit(*light, "-o", out, "--html", there, "--engine", "ray", "--workers", 1, "--resume")
    assert outcome.status == 0, outcome.err
    assert sorted(first + second) == list(range(12))
    assert out.read_bytes() == whole.read_bytes()
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_an_error_in_a_worker_is_one_sentence(tacit: Tacit, light: list[object], long_file: Path, tmp_path: Path) -> None:
    outcome = tacit(*light, "-o", tmp_path / "out.jsonl", "--engine", "ray", "--workers", 1, "--strict")
    assert outcome.status == 2
    assert outcome.err.startswith(f"tacit: {long_file}:")
    assert "not JSON" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_without_ray_the_command_names_what_to_install(
    tacit: Tacit, base: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    outcome = tacit(*base, "-o", tmp_path / "out.jsonl", "--engine", "ray")
    assert outcome.status == 1
    assert outcome.err == "tacit: ray is not installed; run: pip install 'tacit-kg[ray]'\n"
    assert list(tmp_path.iterdir()) == []
