"""Attacks on users' Cypher: any text is accepted or refused, and no accepted query runs in a server after its time limit."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import GraphBusy, QueryInvalid, QueryRefused, QueryTimeout, TacitError
from tacit.graph.query import check, run_neo4j
from tacit.graph.query import neo4j as engine
from tacit.graph.query.rewrite import rewrite
from tacit.graph.query.validator import Checker

from tests.graph.backends import opened
from tests.graph.query.allowed_statements import BENIGN, ONLY_NEO4J, ROWS
from tests.graph.query.refused_statements import COSTLY
from tests.graph.query.textbook_queries import EQUAL, TEXTBOOK

VOCABULARY = """
    ( ) [ ] { } , . .. : | - > < = <> + * / % ^ ; -> || =~ $x `n` 'a' 1 0.5
    MATCH WHERE RETURN WITH UNWIND AS IN AND NOT CASE WHEN THEN END EXISTS COUNT COLLECT CALL UNION ORDER BY LIMIT SKIP
    reduce all any size range shortestPath labels head tail reverse substring round split replace n x l p r IsA Concept
    EXPLAIN PROFILE CREATE SET DELETE LOAD SHORTEST GROUPS
"""
WORDS = VOCABULARY.split()
QUERIES = sorted({*BENIGN.values(), *ONLY_NEO4J.values(), *TEXTBOOK.values(), *EQUAL.values(), *COSTLY.values()}, key=len)[:200]

LIST = "UNWIND range(1, 20000) AS i WITH collect(i) AS l "
ITEMS = ["x", "l", "[x]", "x + 1", "l + x", "tail(l)", "l[1..]", "toString(x)", "size(l)", "l[x]", "[y IN l | y]", "'b'", "$big"]
TESTS = [
    "{} IN l",
    "{} = l",
    "{} = x",
    "l = {}",
    "size({}) > 0",
    "any(y IN l WHERE y = {})",
    "{} > 0",
    "l[{}] = 1",
    "$big CONTAINS 'z'",
]
WALKS = [
    "size([x IN l WHERE {test}])",
    "size([x IN l | {item}])",
    "all(x IN l WHERE {test})",
    "reduce(s = {item}, x IN l | {item})",
    "reduce(s = 0, x IN l | s + {item})",
    "reduce(s = '', x IN l | s + {item})",
    "[x IN l | {item}] = [x IN l | {item}]",
]


def verdict(text: str) -> None:
    """Check ``text`` for both engines; anything but a verdict fails the test."""
    for dialect in ("neo4j", "embedded"):
        with suppress(QueryRefused, QueryInvalid):
            check(text, dialect, {"x": [1]})  # type: ignore[arg-type]
            if dialect == "embedded":
                Checker(rewrite(text), "embedded").run()


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_words_are_accepted_or_refused(words: list[str]) -> None:
    verdict(" ".join(words))


@given(st.sampled_from(QUERIES), st.integers(min_value=0, max_value=400), st.sampled_from(["", *WORDS]))
def test_any_prefix_of_a_query_is_accepted_or_refused(query: str, length: int, added: str) -> None:
    verdict(query[:length] + added)
    verdict(query[:length] + added + query[length + 1 :])


@pytest.mark.parametrize("text", ["reduce(", "reduce(s", "reduce(s =", "all(", "[x IN", "l[", "l[0..", "{a", "EXISTS {"])
def test_truncated_queries_are_syntax_errors_or_refused(text: str) -> None:
    for dialect in ("neo4j", "embedded"):
        with pytest.raises((QueryInvalid, QueryRefused)):
            check(f"RETURN {text}", dialect)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import neo4j

    with opened("neo4j", ROWS, tmp_path_factory.mktemp("cage")):
        auth = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", "tacit-test"))
        with neo4j.GraphDatabase.driver(os.environ["TACIT_TEST_NEO4J"], auth=auth) as driver:
            yield driver


def running(driver: Any) -> list[str]:
    """The queries that run in the server now, this one left out."""
    with driver.session() as session:
        return [
            row["currentQuery"]
            for row in session.run("SHOW TRANSACTIONS YIELD currentQuery")
            if "SHOW" not in row["currentQuery"]
        ]


def generated() -> list[str]:
    """Statements that do something with each item of a long list, in every combination of the parts above."""
    queries = []
    for walk in WALKS:
        for item, test in itertools.product(ITEMS, TESTS) if "{test}" in walk else ((item, "") for item in ITEMS):
            queries.append(f"{LIST}RETURN {walk.format(item=item, test=test.format(item))} AS x")
    return sorted(set(queries))


def attack(driver: Any, queries: list[str], limit: float) -> list[str]:
    """Run each of the statements that pass the check; return those that the server did not end in time."""
    sessions = []
    for query in queries:
        started = time.monotonic()
        with suppress(TacitError):
            run_neo4j(driver, None, query, {"big": "a" * 100_000, "l": list(range(1_000))}, limit=5, timeout=limit)
        if time.monotonic() - started > limit + engine.GRACE - 0.5:
            sessions.append(query)
    return sessions


@pytest.mark.neo4j
def test_no_query_runs_beyond_its_limit(server: Any) -> None:
    passed = []
    for query in generated():
        with suppress(QueryRefused, QueryInvalid):
            check(query, "neo4j", {"big": "a" * 100_000})
            passed.append(query)
    assert 10 < len(passed) < len(generated()) / 2
    assert attack(server, random.Random(0).sample(passed, 8), 3.0) == []
    assert running(server) == []


@pytest.mark.neo4j
@pytest.mark.long
def test_no_generated_query_runs_beyond_its_limit(server: Any) -> None:
    assert attack(server, generated(), 3.0) == []
    assert running(server) == []


STUCK = "UNWIND range(1, $n) AS i WITH collect(i) AS l RETURN size([x IN l WHERE l = l]) AS n"


def run_stuck(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a query that the check refuses, and that the server works at for about five seconds after its time limit."""
    with monkeypatch.context() as unchecked:
        unchecked.setattr(Checker, "run", lambda _: None)
        for _ in range(2):  # the server compiles the work when it is first done
            started = time.monotonic()
            run_neo4j(driver, None, STUCK, {"n": 3_000}, timeout=60, max_concurrent=1)
        length = int(3_000 * (5 / (time.monotonic() - started)) ** 0.5)
        unchecked.setattr(engine, "GRACE", 0.1)
        with pytest.raises(QueryTimeout, match=r"took longer than 0\.1 seconds and still runs in the server"):
            run_neo4j(driver, None, STUCK, {"n": length}, timeout=0.1, max_concurrent=1)


def busy(driver: Any) -> bool:
    """Whether one more query, of one that may run at once, is refused."""
    with suppress(GraphBusy):
        return run_neo4j(driver, None, "RETURN 1 AS x", max_concurrent=1).rows != ((1,),)
    return True


def threads(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


def wait_for(condition: Callable[[], bool]) -> None:
    ended = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ended
        time.sleep(0.05)


@pytest.mark.neo4j
def test_a_late_query_loses_its_connection_and_counts_until_the_server_has_ended_it(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_stuck(server, monkeypatch)
    with pytest.raises(GraphBusy, match="1 queries still run in the Neo4j server, 1 of them past their time limit"):
        run_neo4j(server, None, "RETURN 1 AS x", timeout=5, max_concurrent=1)
    assert run_neo4j(server, None, "RETURN 1 AS x", max_concurrent=2).rows == ((1,),)
    assert run_neo4j(server, None, "RETURN 1 AS x", max_concurrent=1, counted=False).rows == (
        (1,),
    )  # as a check of the server does
    wait_for(lambda: not threads("tacit-query"))
    assert running(server) == [STUCK]  # its connection is closed, it is not asked a second time, and it still runs
    assert busy(server)
    wait_for(lambda: not busy(server))
    assert running(server) == []


@pytest.mark.neo4j
def test_a_timed_out_check_of_transactions_is_repeated(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import neo4j

    class TimedOut(neo4j.exceptions.ClientError):
        code = "Neo.ClientError.Transaction.TransactionTimedOut"

    listed, looks = engine._listed, []

    def time_out_first(*arguments: Any) -> Any:
        looks.append(arguments)
        if len(looks) == 1:
            raise TimedOut
        return listed(*arguments)

    monkeypatch.setattr(engine, "_listed", time_out_first)
    run_stuck(server, monkeypatch)
    wait_for(lambda: not threads("tacit-query"))
    assert running(server) == [STUCK]  # its connection is closed
    wait_for(lambda: not busy(server))


@pytest.mark.neo4j
def test_where_transactions_are_not_listed_a_late_query_counts_until_the_call_ends(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import neo4j

    def refused(*_: object) -> Any:
        raise neo4j.exceptions.Forbidden

    monkeypatch.setattr(engine, "_listed", refused)
    run_stuck(server, monkeypatch)
    wait_for(lambda: not threads("tacit-late-query"))
    assert threads("tacit-query")
    assert busy(server)
    wait_for(lambda: not busy(server))
    assert running(server) == []


@pytest.mark.neo4j
def test_a_query_that_has_ended_without_an_answer_holds_neither_connection_nor_slot(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = engine._listed
    monkeypatch.setattr(engine, "_listed", lambda *arguments: (False, listed(*arguments)[1]))
    run_stuck(server, monkeypatch)
    wait_for(lambda: not threads("tacit-query"))
    assert running(server) == [STUCK]  # this one has not ended, which shows that the driver's call was not waited for
    wait_for(lambda: not busy(server))
    monkeypatch.undo()
    wait_for(lambda: not running(server))


@pytest.mark.neo4j
def test_queries_beyond_the_slots_wait(server: Any) -> None:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(run_neo4j(server, None, "RETURN 1 AS x").rows)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [((1,),)] * 12


def test_the_cookbook_passes_on_both_engines() -> None:
    texts = [
        path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parents[2] / "cypher" / "explore").glob("*.cypher"))
    ]
    assert len(texts) >= 30
    for text in texts:
        check(text, "neo4j")
        check(rewrite(text), "embedded")
