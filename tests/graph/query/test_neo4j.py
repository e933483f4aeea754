"""Users' queries on a Neo4j server: read mode and what it allows, time limits, and the same answers as the embedded engine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import GraphError, GraphUnavailable, QueryInvalid, QueryRefused, QueryTimeout
from tacit.graph.model import QueryResult
from tacit.graph.query import run_embedded, run_neo4j

from tests.graph.backends import opened
from tests.graph.query.allowed_statements import BENIGN, ONLY_NEO4J, PARAMETERS, ROWS
from tests.graph.query.refused_statements import HOSTILE
from tests.graph.query.textbook_queries import EQUAL, NOT_EMBEDDED, TEXTBOOK

pytestmark = pytest.mark.neo4j

CONTENT = "MATCH (a)-[s]->(b) RETURN a, s, b, type(s) AS relation, a.uri AS head, b.uri AS tail ORDER BY head, relation, tail"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import neo4j

    with opened("neo4j", ROWS, tmp_path_factory.mktemp("server")):
        auth = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", "tacit-test"))
        with neo4j.GraphDatabase.driver(os.environ["TACIT_TEST_NEO4J"], auth=auth) as opened_driver:
            yield opened_driver


def unchecked(driver: Any, query: str) -> str:
    """Run ``query`` as :func:`run_neo4j` would, but without the checker; the server's code for its error, or an empty text."""
    import neo4j

    with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        try:
            with session.begin_transaction(timeout=5) as transaction:
                transaction.run(query).fetch(2)
        except neo4j.exceptions.Neo4jError as error:
            return error.code or "unknown"
    return ""


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_hostile_statement_never_reaches_the_server(query: str) -> None:
    with pytest.raises(QueryRefused):
        run_neo4j(None, None, query)  # type: ignore[arg-type]


def test_without_the_checker_the_server_refuses_every_write_and_nothing_else(driver: Any) -> None:
    before = run_neo4j(driver, None, CONTENT)
    skipped = {
        "too long",
        "too many words",
        "terminate",
        "set config",
        "kill queries",
        "kill connections",
        "clear caches",
        "upgrade",
    }
    skipped |= {"create user", "alter password", "grant", "drop database", "start database"}  # they would outlive the test
    codes = {name: unchecked(driver, query) for name, query in HOSTILE.items() if name not in skipped}
    assert run_neo4j(driver, None, CONTENT) == before
    writes = ["create", "merge", "set", "remove", "delete", "detach delete", "foreach", "insert", "create in a subquery"]
    writes += ["create after a quantified pattern", "create after a wildcard label"]
    writes += [
        "set after a type",
        "create after a type",
        "escape for a keyword",
        "no-break space",
        "escape for a quote",
        "escape for a backtick",
    ]
    writes += ["escape that ends a comment", "escape for a line end"]
    assert {name: codes[name] for name in writes} == dict.fromkeys(writes, "Neo.ClientError.Statement.AccessMode")
    # what the read mode lets through, so that the checker alone is in its way
    assert [codes[name] for name in ("show users", "show settings", "list config", "cypher option")] == [""] * 4
    assert codes["load csv file"].startswith("Neo.ClientError.Statement.ExternalResource")


@pytest.mark.parametrize("query", BENIGN.values(), ids=BENIGN)
def test_benign_query_gives_the_same_as_embedded(driver: Any, graph: Path, query: str) -> None:
    parameters = PARAMETERS if "$" in query else None
    assert run_neo4j(driver, None, query, parameters) == run_embedded(graph, query, parameters)


@pytest.mark.parametrize("name", [*TEXTBOOK, *EQUAL])
def test_textbook_query_gives_the_same_as_embedded(driver: Any, graph: Path, name: str) -> None:
    result = run_neo4j(driver, None, (TEXTBOOK | EQUAL)[name])
    if name not in NOT_EMBEDDED:
        assert result == run_embedded(graph, (TEXTBOOK | EQUAL)[name])


def test_explain_plans_and_does_not_run(driver: Any) -> None:
    plan = run_neo4j(
        driver, None, "EXPLAIN UNWIND range(1, 10000000) AS x UNWIND range(1, 10000000) AS y RETURN count(*) AS c", timeout=5
    )
    assert plan.columns == ("operator", "details", "estimated_rows")
    assert [row[0].strip() for row in plan.rows].count("Unwind") == 2


@pytest.mark.parametrize("query", ONLY_NEO4J.values(), ids=ONLY_NEO4J)
def test_query_of_this_engine_runs(driver: Any, query: str) -> None:
    assert run_neo4j(driver, None, query, {"pattern": "d.g"} if "$" in query else None).rows


def test_parameters_give_the_same_as_embedded(driver: Any, graph: Path) -> None:
    rows = [{"b": 1, "a": "x"}, {"a": "y", "b": 2}, {"a": "z"}]
    query = "UNWIND $rows AS r RETURN r.a AS a, r.b AS b ORDER BY a"
    assert run_neo4j(driver, None, query, {"rows": rows}) == run_embedded(graph, query, {"rows": rows})
    for value in [1, -1.5, True, "it's $x", None, [1, 2], ["a", None], {"a": [1.5], "b": {"c": "d"}}, -(2**63)]:
        assert run_neo4j(driver, None, "RETURN $x AS x", {"x": value}).rows == ((value,),)


def test_values_are_plain(driver: Any) -> None:
    def value(expression: str) -> Any:
        return run_neo4j(driver, None, f"RETURN {expression} AS x").rows[0][0]

    assert value("date('2020-02-29')") == "2020-02-29"
    assert value("datetime('2020-02-29T01:02:03Z')") == "2020-02-29T01:02:03.000000000+00:00"
    assert value("localtime('01:02:03')") == "01:02:03.000000000"
    assert value("duration('P1DT2S')") == "P1DT2S"
    assert value("point({x: 1, y: 2})") == [1.0, 2.0]
    assert value("0.0 / 0.0") is None
    assert value("[1.5, 1.0 / 0.0]") == [1.5, None]


def test_columns_rows_and_truncation(driver: Any) -> None:
    query = "MATCH (c:Concept) RETURN c.text AS text ORDER BY text"
    assert run_neo4j(driver, None, query, limit=2) == QueryResult(("text",), (("animal",), ("bark",)), True)
    everything = run_neo4j(driver, None, query)
    assert not everything.truncated
    assert run_neo4j(driver, None, query, limit=len(everything.rows)).truncated is False
    assert run_neo4j(driver, None, query, limit=0) == QueryResult(("text",), (), True)
    assert len(run_neo4j(driver, None, "UNWIND range(1, 100000000) AS x RETURN x", limit=5).rows) == 5
    wide = run_neo4j(
        driver, None, f"UNWIND range(1, 1000) AS i RETURN i, '{'x' * 15_000}' AS x, [{', '.join(['i'] * 600)}] AS l", limit=900
    )
    assert wide.truncated
    assert 1 < len(wide.rows) < 900


def test_query_without_end_stops_at_its_time_limit(driver: Any) -> None:
    started = time.monotonic()
    with pytest.raises(QueryTimeout, match=r"longer than 0\.5 seconds"):
        run_neo4j(driver, None, "UNWIND range(1, 10000000) AS x UNWIND range(1, 10000000) AS y RETURN count(*) AS c", timeout=0.5)
    assert time.monotonic() - started < 5
    assert run_neo4j(driver, None, "RETURN 1 AS x").rows == ((1,),)


def test_a_query_out_of_memory_fails_alone(driver: Any) -> None:
    with pytest.raises(GraphError, match="exceeded the server"):
        run_neo4j(driver, None, "UNWIND range(1, 1000000000) AS x RETURN size(collect(x)) AS n", timeout=60)
    assert run_neo4j(driver, None, "RETURN 1 AS x").rows == ((1,),)


def test_errors_are_one_sentence(driver: Any) -> None:
    for query in ("RETURN 1 +", "RETURN nothing AS x", "RETURN 1 / 0 AS x", "MATCH (n) RETURN n.text + {a: 1} AS x"):
        with pytest.raises(QueryInvalid, match=r"^the query cannot be run \((?!.*offset)[^\n]+\)$"):
            run_neo4j(driver, None, query)
    with pytest.raises(GraphUnavailable, match="does not have the database"):
        run_neo4j(driver, "nowhere", "RETURN 1 AS x")


@pytest.mark.usefixtures("driver")
def test_unreachable_servers_and_wrong_credentials() -> None:
    import neo4j

    connect, url = neo4j.GraphDatabase.driver, os.environ["TACIT_TEST_NEO4J"]
    with connect("bolt://127.0.0.1:1", auth=("neo4j", "x"), connection_timeout=1) as nobody, pytest.raises(GraphUnavailable):
        run_neo4j(nobody, None, "RETURN 1 AS x", timeout=3)
    with connect(url, auth=("neo4j", "wrong")) as wrong, pytest.raises(GraphUnavailable, match="refuses the credentials"):
        run_neo4j(wrong, None, "RETURN 1 AS x", timeout=3)
