"""The worker process: kept between queries, replaced after a crash, shared by threads, ended with its caller."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import open_graph
from tacit.graph.errors import GraphBusy, GraphError, InputError, QueryInvalid
from tacit.graph.model import Assertion
from tacit.graph.query import close_workers, embedded, run_embedded
from tacit.graph.query.embedded import Worker

from tests.graph.query.allowed_statements import ROWS

ENDLESS = "UNWIND range(1, 10000000) AS x UNWIND range(1, 10000000) AS y RETURN count(*) AS c"


@contextmanager
def worker_of(graph: Path) -> Iterator[Worker]:
    worker = Worker(graph / embedded.DATABASE)
    try:
        yield worker
    finally:
        worker.kill()


def test_worker_is_kept_and_replaced_after_a_crash(graph: Path) -> None:
    run_embedded(graph, "RETURN 1 AS x")
    (first,) = embedded._pools[(graph / embedded.DATABASE).resolve()].idle
    run_embedded(graph, "RETURN 1 AS x")
    (second,) = embedded._pools[(graph / embedded.DATABASE).resolve()].idle
    assert first is second
    os.kill(first.process.pid, signal.SIGSEGV)
    first.process.wait()
    assert run_embedded(graph, "RETURN 2 AS x").rows == ((2,),)


@pytest.mark.parametrize("crashes", [1, 2])
def test_a_query_is_repeated_once_after_a_crash(graph: Path, monkeypatch: pytest.MonkeyPatch, crashes: int) -> None:
    """Workers are killed before the query, and in the middle of it where it is never answered."""
    ask, asked = Worker.ask, []

    def crashing(self: Worker, request: dict[str, Any]) -> dict[str, Any] | None:
        asked.append(self)
        if crashes == 2:
            threading.Timer(0.5, os.kill, (self.process.pid, signal.SIGSEGV)).start()
        elif len(asked) == 1:
            os.kill(self.process.pid, signal.SIGSEGV)
        return ask(self, request)

    monkeypatch.setattr(Worker, "ask", crashing)
    if crashes == 1:
        assert run_embedded(graph, "RETURN 1 AS x").rows == ((1,),)
    else:
        with pytest.raises(GraphError, match="crashed while it ran the query"):
            run_embedded(graph, ENDLESS, timeout=20)
    assert len(asked) == 2
    assert asked[0] is not asked[1]
    monkeypatch.undo()
    assert run_embedded(graph, "RETURN 3 AS x").rows == ((3,),)


def test_threads_share_workers(graph: Path) -> None:
    results: list[Any] = []

    def ask(number: int) -> None:
        results.append(run_embedded(graph, "RETURN $n AS n", {"n": number}).rows[0][0])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(12))
    pool = embedded._pools[(graph / embedded.DATABASE).resolve()]
    assert pool.busy == 0
    assert 1 <= len(pool.idle) <= embedded.MAX_CONCURRENT


def test_no_more_queries_run_at_once_than_allowed(graph: Path) -> None:
    with open_graph(graph) as opened:
        assert opened.run("RETURN 1 AS x").rows == ((1,),)
        pool, file = embedded._pools[(graph / embedded.DATABASE).resolve()], graph / embedded.DATABASE
        with pool.lend(file, time.monotonic() + 5, 1):
            opened.limit_queries(1)
            with pytest.raises(GraphBusy, match="too many queries run on this graph at once"):
                opened.run("RETURN 2 AS x", timeout=0.05)
            opened.limit_queries(2)
            assert opened.run("RETURN 2 AS x").rows == ((2,),)
        with pytest.raises(InputError, match="max_concurrent must be >= 1, not 0"):
            opened.limit_queries(0)


def test_forked_process_leaves_its_parents_workers_alone(graph: Path) -> None:
    run_embedded(graph, "RETURN 1 AS x")
    (worker,) = embedded._pools[(graph / embedded.DATABASE).resolve()].idle[-1:]
    child = os.fork()
    if child == 0:  # pragma: no cover
        status = 1
        try:
            status = 0 if run_embedded(graph, "RETURN 2 AS x").rows == ((2,),) else 2
            close_workers()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert worker.process.poll() is None
    assert run_embedded(graph, "RETURN 3 AS x").rows == ((3,),)


def test_workers_see_later_loads(tmp_path: Path) -> None:
    count = "MATCH (:Concept)-[r]->(:Concept) RETURN count(*) AS c"
    with open_graph(tmp_path / "graph", create=True) as store:
        store.load(ROWS[:1])
        assert store.run(count).rows == ((1,),)
        store.load(ROWS[:2])
        assert store.run(count).rows == ((2,),)
        store.load([Assertion("/c/en/cat", "IsA", "/c/en/animal")])
        assert store.run(count).rows == ((3,),)
    close_workers(tmp_path / "graph")


def test_worker_ends_with_its_caller(graph: Path) -> None:
    with worker_of(graph) as worker:
        worker.close_pipes()
        assert worker.process.wait(10) == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the alarm at the time limit ends the worker")
def test_worker_ends_with_its_caller_in_the_middle_of_a_query(graph: Path) -> None:
    with worker_of(graph) as worker:
        request = {"cypher": ENDLESS.replace("10000000", "1000000"), "parameters": {}, "limit": 1, "timeout": 60.0, "bytes": 100}
        worker._send((json.dumps(request) + "\n").encode(), time.monotonic() + 5)
        time.sleep(1)
        assert worker.process.poll() is None
        worker.close_pipes()
        assert worker.process.wait(10) == -signal.SIGIO


def test_worker_can_open_no_file_and_no_socket(graph: Path) -> None:
    with worker_of(graph) as worker:
        limits = Path(f"/proc/{worker.process.pid}/limits")
        if not limits.exists():
            pytest.skip("this system does not tell a process's limits")
        text = limits.read_text()
    for name in ("Max open files", "Max file size", "Max core file size"):
        (line,) = [line for line in text.splitlines() if line.startswith(name)]
        assert line.removeprefix(name).split()[:2] == ["0", "0"]
    (line,) = [line for line in text.splitlines() if line.startswith("Max address space")]
    assert "unlimited" not in line


def test_metadata_that_could_not_be_read_is_read_again(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed first query must not leave a graph without the further tables of its relations."""
    close_workers(graph)
    pool = embedded._pools.setdefault((graph / embedded.DATABASE).resolve(), embedded._Pool())
    pool.version = ()
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "ask", lambda *_: None)
        with pytest.raises(GraphError, match="crashed"):
            run_embedded(graph, "MATCH ()-[r:IsA]->() RETURN count(r)")
    assert pool.version == ()
    run_embedded(graph, "MATCH ()-[r:IsA]->() RETURN count(r)")
    assert pool.version != ()


@pytest.mark.parametrize("text", ["read-only", "Buffer manager"])
def test_errors_that_quote_the_query_are_errors_of_the_query(graph: Path, text: str) -> None:
    with pytest.raises(QueryInvalid):
        run_embedded(graph, f"RETURN cast('{text}' AS INT64) AS x")
