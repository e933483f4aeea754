"""Users' queries on the embedded engine: the validator and the worker, limits, errors, and rewritten openCypher."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.graph import open_graph
from tacit.graph.errors import GraphError, GraphNotFound, InputError, QueryInvalid, QueryRefused, QueryTimeout
from tacit.graph.model import QueryResult
from tacit.graph.query import close_workers, embedded, run_embedded
from tacit.graph.query.embedded import Worker

from tests.graph.example_rows import SMALL
from tests.graph.query.allowed_statements import BENIGN, ONLY_EMBEDDED, PARAMETERS
from tests.graph.query.refused_statements import COSTLY, HOSTILE
from tests.graph.query.textbook_queries import EQUAL, NOT_EMBEDDED, TEXTBOOK

CONTENT = "MATCH (a)-[r]->(b) RETURN a, r, b ORDER BY r.id"
ENDLESS = "UNWIND range(1, 10000000) AS x UNWIND range(1, 10000000) AS y RETURN count(*) AS c"
HOG = "RETURN size(range(0, 100000000000)) AS x"


def fingerprint(graph: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(graph.rglob("*")) if path.is_file()}


def unchecked(worker: Worker, query: str, timeout: float = 5.0) -> dict[str, Any] | None:
    """Send ``query`` to a worker without the checker."""
    return worker.ask({"cypher": query, "parameters": {}, "limit": 10, "timeout": timeout, "bytes": 1 << 20})


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_hostile_statement_never_reaches_the_engine(graph: Path, query: str) -> None:
    with pytest.raises(QueryRefused):
        run_embedded(graph, query)


def test_even_without_the_validator_nothing_is_written(graph: Path, tmp_path: Path) -> None:
    before, content = fingerprint(graph), run_embedded(graph, CONTENT)
    out = tmp_path / "out"
    out.mkdir()
    answers: dict[str, dict[str, Any] | None] = {}
    worker: Worker | None = None
    for name, query in HOSTILE.items():
        worker = worker if worker is not None and worker.usable() else Worker(graph / embedded.DATABASE)
        try:
            answers[name] = unchecked(worker, query.replace("OUT", str(out)))
        except QueryTimeout:
            answers[name] = None
    assert worker is not None
    worker.kill()
    assert list(out.iterdir()) == []
    assert fingerprint(graph) == before
    assert run_embedded(graph, CONTENT) == content
    failures = {name: answer.get("failed") if answer else "died" for name, answer in answers.items()}
    written = {name for name, kind in failures.items() if kind == "write"}
    assert {"create", "merge", "set", "delete", "detach delete", "macro", "next value", "create table", "drop table"} <= written
    assert failures["load from"] == failures["copy to"] == failures["copy to parquet"] == failures["checkpoint"] == "engine"
    assert "Too many open files" in (answers["load from"] or {})["message"]
    assert "Could not establish connection" in (answers["install"] or {})["message"]
    # what the engine lets through, so that the checker alone is in its way
    assert failures["threads"] is failures["timeout"] is failures["begin"] is failures["storage info"] is None


@pytest.mark.parametrize("query", BENIGN.values(), ids=BENIGN)
def test_benign_query_runs(graph: Path, query: str) -> None:
    assert run_embedded(graph, query, PARAMETERS if "$" in query else None).rows


@pytest.mark.parametrize("query", ONLY_EMBEDDED.values(), ids=ONLY_EMBEDDED)
def test_query_of_this_engine_runs(graph: Path, query: str) -> None:
    assert run_embedded(graph, query).rows


@pytest.mark.parametrize("name", ["nested repeats", "many not", "nested case", "many unions", "many relationships"])
def test_costly_queries_end_within_limits(graph: Path, name: str) -> None:
    started = time.monotonic()
    with suppress(GraphError, QueryInvalid):
        run_embedded(graph, COSTLY[name], timeout=1.0)
    assert time.monotonic() - started < 10


def test_values_are_plain(graph: Path) -> None:
    def value(expression: str) -> Any:
        return run_embedded(graph, f"RETURN {expression} AS x").rows[0][0]

    dog = {"label": "Concept", "uri": "/c/en/dog", "text": "dog", "language": "en"}
    assert run_embedded(graph, "MATCH (c {uri: '/c/en/dog'}) RETURN c").rows == ((dog,),)
    (path,) = run_embedded(graph, "MATCH p = (:Concept {text: 'puppy'})-[:IsA]->(:Concept) RETURN p").rows[0]
    assert path["nodes"][1] == dog
    assert path["relationships"][0]["type"] == "IsA"
    assert path["relationships"][0]["weight"] == 3.0
    generated = run_embedded(graph, "MATCH (e:Event)-[r]->(w) WHERE r.rank = 1 RETURN r").rows[0][0]
    assert generated.pop("id") < 2**63
    expected = {"type": "xWant", "weight": 0.5, "source": "comet:test", "dataset": "test", "rank": 1, "score": -0.25}
    assert {key: generated[key] for key in expected} == expected
    assert not {"relation", "_ID", "_SRC", "_DST"} & generated.keys()
    assert value("date('2020-02-29')") == "2020-02-29"
    assert value("timestamp('2020-02-29 01:02:03')") == "2020-02-29T01:02:03"
    assert value("interval('1 day 2 seconds')") == "P1DT2S"
    assert value("1.0 / 0.0") is None
    assert value("0.0 / 0.0") is None
    assert value("[1.5, 0.0 / 0.0]") == [1.5, None]
    assert value("{a: [1], b: {c: 'x'}}") == {"a": [1], "b": {"c": "x"}}
    assert value("cast('1.50' AS DECIMAL(5, 2))") == 1.5


def test_columns_rows_and_truncation(graph: Path) -> None:
    query = "MATCH (c:Concept) RETURN c.text AS text ORDER BY text"
    assert run_embedded(graph, query, limit=2) == QueryResult(("text",), (("animal",), ("bark",)), True)
    everything = run_embedded(graph, query)
    assert not everything.truncated
    assert run_embedded(graph, query, limit=len(everything.rows)).truncated is False
    assert run_embedded(graph, query, limit=0) == QueryResult(("text",), (), True)


def test_parameters(graph: Path) -> None:
    rows = [{"b": 1, "a": "x"}, {"a": "y", "b": 2}, {"a": "z"}]
    result = run_embedded(graph, "UNWIND $rows AS r RETURN r.a AS a, r.b AS b ORDER BY a", {"rows": rows})
    assert result.rows == (("x", 1), ("y", 2), ("z", None))
    for value in [1, -1.5, True, "it's $x", None, [1, 2], ["a", None], {"a": [1.5], "b": {"c": "d"}}]:
        assert run_embedded(graph, "RETURN $x AS x", {"x": value}).rows == ((value,),)
    hostile = "dog'}) DETACH DELETE n //"
    assert run_embedded(graph, "MATCH (c:Concept {text: $x}) RETURN count(*) AS c", {"x": hostile}).rows == ((0,),)
    with pytest.raises(QueryInvalid):
        run_embedded(graph, "RETURN $x AS x")


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1},
        b"x",
        float("nan"),
        float("inf"),
        2**63,
        1j,
        "\0",
        "\ud800",
        {1: 2},
        [[object()]],
        ["a", 1],
        [True, 1],
        [[1], "a"],
        "x" * 20_000_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_parameter_that_cannot_be_used_is_an_input_error(graph: Path, value: object) -> None:
    with pytest.raises(InputError, match=r"^\$x |^the parameters are too large at \$x|^a key in \$x"):
        run_embedded(graph, "RETURN $x AS x", {"x": value})


@pytest.mark.parametrize(("limit", "timeout"), [(-1, 1.0), (10**9, 1.0), (1, 0.0), (1, -1.0), (1, float("nan")), (1, 1e9)])
def test_limits_are_checked(graph: Path, limit: int, timeout: float) -> None:
    with pytest.raises(InputError):
        run_embedded(graph, "RETURN 1 AS x", limit=limit, timeout=timeout)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("RETURN 1 +", "the query has a syntax error: it ends too early"),
        ("RETURN 1 AS x LIMIT", "the query has a syntax error: it ends too early"),
        ("RETURN 1 + * 2 AS x", "the query has a syntax error at line 1, column 12, near '*', or a form of Cypher that"),
        ("RETURN nothing AS x", "the variable nothing is not defined (line 1, column 8)"),
        ("RETURN cast('x' AS INT64) AS x", 'the text "x"'),
        ("RETURN date('2020') AS x", '"2020" (line 1, column 13) is not a date; write YYYY-MM-DD'),
        ("RETURN 1 + 'a' AS x", "the operator + (line 1, column 10) cannot be used on a whole number and a text"),
        ("RETURN\ntoUpper('a', 2) AS x", "the function toUpper (line 2, column 1) cannot be used on a text and a whole number"),
        ("MATCH (n:Concept) WHERE n.text RETURN 1 AS x", "n.text (line 1, column 25) is a text, where true or false is needed"),
        ("UNWIND 1 AS x RETURN x", "1 (line 1, column 8) is a whole number, where a list is needed"),
        ("MATCH (r)-[r]->() RETURN 1 AS x", "r is a node, where a relationship is needed"),
        ("RETURN 1 / 0 AS x", "the query divides by zero"),
        ("MATCH (n) RETURN n LIMIT 'a'", "SKIP and LIMIT take whole numbers >= 0"),
        ("MATCH (n) WITH n.text RETURN 1 AS x", "each expression in WITH needs a name; write: expression AS name"),
        ("MATCH (n) WHERE count(n) > 1 RETURN n", "an aggregate function such as count cannot be in WHERE"),
        ("MATCH (n) RETURN n._id AS x", "_id (line 1, column 20) is a property of the engine's own and cannot be read"),
    ],
)
def test_engine_errors_are_one_plain_sentence(graph: Path, query: str, sentence: str) -> None:
    with pytest.raises(QueryInvalid) as refused:
        run_embedded(graph, query)
    message = str(refused.value)
    assert message.startswith(sentence)
    assert "exception" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "call", ["head()", "split('a')", "substring('a')", "rand(1)", "round()", "log(1, 2)", "reverse()", "labels()", "reduce()"]
)
def test_a_wrong_number_of_function_arguments_is_a_query_error(graph: Path, call: str) -> None:
    with pytest.raises(QueryInvalid):
        run_embedded(graph, f"RETURN {call} AS x")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("MATCH (c:concept) RETURN c", "the graph has no node label concept (line 1, column 10), where Neo4j .* mean Concept"),
        ("MATCH (c:Concept:Event) RETURN c", "no node has both labels, Concept and Event"),
        ("MATCH (c)-[:isa]->(d) RETURN c", "no relation isa (line 1, column 13), where Neo4j .* did you mean IsA"),
        ("MATCH (c)-[:Desires|IsAA]->(d) RETURN c", "no relation IsAA (line 1, column 21), where Neo4j .* did you mean IsA"),
        ("MATCH (c {TEXT: 'dog'}) RETURN c", "no property TEXT (line 1, column 11), where Neo4j .* null; did you mean text"),
        ("MATCH ()-[r {Weight: 3.0}]->() RETURN r", "no property Weight .* did you mean weight"),
        ("MATCH (c) RETURN c.Text AS t", "no property Text (line 1, column 20).* did you mean text"),
        ("MATCH (c) RETURN c {.Text} AS t", "no property Text .* did you mean text"),
        ("MATCH (c) RETURN c['Text'] AS t", "no property Text .* did you mean text"),
        ("WITH {a: 1} AS m RETURN m.A AS x", "no property A .* did you mean a"),
        ("MATCH (c)-[:IsA]->(C) RETURN count(*) AS n", "the names c and C (line 1, column 20) differ only in case"),
        ("MATCH (c) RETURN C.text AS t", "the names c and C .* differ only in case"),
        ("RETURN [x IN [1] | X] AS l", "the names x and X .* differ only in case"),
    ],
)
def test_names_in_another_case_are_refused(graph: Path, query: str, sentence: str) -> None:
    pattern = sentence.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(QueryInvalid, match=pattern):
        run_embedded(graph, query)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n:Concept {text: 'dog'}) RETURN {Text: n.text, URI: n.uri} AS m",
        "WITH {Text: 'dog'} AS m RETURN m.Text AS t",
        "UNWIND [{Weight: 1}] AS row RETURN row.Weight AS w",
        "match (n:Concept) where n.text = 'dog' Return count(*) AS c, COUNT(n) AS d, True AS e, true AS f",
        "MATCH (n) WHERE n:concept OR n:Concept RETURN count(*) AS c",
        "WITH [1, 2, 3] AS l RETURN [x IN l WHERE x > 1 | x * 2] AS m, l[0..1] AS k",
    ],
)
def test_variables_and_aliases_may_have_any_case(graph: Path, query: str) -> None:
    assert len(run_embedded(graph, query).rows) == 1


def test_relations_that_differ_in_case_are_distinguished(tmp_path: Path) -> None:
    with open_graph(tmp_path / "graph", create=True) as store:
        store.load(SMALL)

    def texts(pattern: str, rest: str = "") -> list[Any]:
        rows = run_embedded(tmp_path / "graph", f"MATCH (a){pattern}(b) {rest} RETURN b.text ORDER BY b.text").rows
        return [text for (text,) in rows]

    try:
        assert texts("-[:HasSubevent]->") == ["bark"]
        assert texts("-[r:HasSubEvent]->") == ["chews"]
        assert texts("-[:HasSubEvent {weight: 1.0}]->") == ["chews"]
        assert texts("-[:HasSubEvent {weight: 2.0}]->") == []
        assert texts("-[r:HasSubEvent*1..2]->") == ["chews"]
        assert texts("<-[r:HasSubevent*1..2]-") == ["dog"]
        assert texts("-[:HasSubEvent|HasSubevent]->") == ["bark", "chews"]
        assert texts("-[r]->", "WHERE type(r) IN ['HasSubEvent', 'xNeed']") == ["chews", "to cook"]
        path = "MATCH p = shortestPath((a:Event)-[:HasSubEvent*..3]->(b:Event)) RETURN length(p)"
        assert run_embedded(tmp_path / "graph", path).rows == ((1,),)
        with pytest.raises(
            QueryInvalid, match=r"a choice of relations at line 1, column 11 has one that differs .* type\(r\) IN"
        ):
            texts("-[:HasSubEvent|xNeed]->")
    finally:
        close_workers(tmp_path / "graph")


def test_no_graph(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFound):
        run_embedded(tmp_path, "RETURN 1 AS x")
    (tmp_path / embedded.DATABASE).write_bytes(b"not a database")
    with pytest.raises(GraphError, match="cannot be opened for queries"):
        run_embedded(tmp_path, "RETURN 1 AS x")


def test_a_slow_start_is_reported_with_the_limit_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(SMALL)
    monkeypatch.setattr(embedded, "GRACE", -10.0)
    with pytest.raises(QueryTimeout, match="longer than 5 seconds"):
        run_embedded(tmp_path / "g", "MATCH (:Concept)-[r:IsA]->() RETURN count(r)", timeout=5)


def test_query_without_end_stops_at_its_time_limit(graph: Path) -> None:
    started = time.monotonic()
    with pytest.raises(QueryTimeout, match=r"longer than 0\.5 seconds"):
        run_embedded(graph, ENDLESS, timeout=0.5)
    assert time.monotonic() - started < 6
    assert run_embedded(graph, "RETURN 1 AS x").rows == ((1,),)


def test_huge_result_stops_at_the_row_limit(graph: Path) -> None:
    result = run_embedded(graph, "UNWIND range(1, 10000000) AS x RETURN x", limit=5)
    assert result == QueryResult(("x",), ((1,), (2,), (3,), (4,), (5,)), True)
    wide = run_embedded(graph, "UNWIND range(1, 100) AS i RETURN repeat('a', 1000000) AS x")
    assert wide.truncated
    assert 1 <= len(wide.rows) < 20
    with pytest.raises(GraphError, match="one row of the result is larger"):
        run_embedded(graph, "RETURN repeat('ab', 10000000) AS x")


@pytest.mark.parametrize("query", [HOG, "RETURN size(repeat('a', 4000000000)) AS x"])
def test_a_query_out_of_memory_ends_only_its_worker(graph: Path, query: str) -> None:
    with pytest.raises(GraphError, match="exceeded its memory limit"):
        run_embedded(graph, query)
    assert run_embedded(graph, "RETURN 1 AS x").rows == ((1,),)


@pytest.mark.parametrize("query", [TEXTBOOK[name] for name in TEXTBOOK if name not in NOT_EMBEDDED])
def test_textbook_query_is_answered(graph: Path, query: str) -> None:
    run_embedded(graph, query)


@pytest.mark.parametrize(("name", "sentence"), NOT_EMBEDDED.items())
def test_unsupported_textbook_queries_say_why(graph: Path, name: str, sentence: str) -> None:
    with pytest.raises(QueryInvalid, match=sentence):
        run_embedded(graph, TEXTBOOK[name])


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("slices", (([10, 20], [20, 30], [30, 40], [10], 10, 40),)),
        ("ends of a list", (("a", "c", ["b", "c"], 3),)),
        ("negative positions", ((30,), (20,), (10,), (20,))),
        ("substrings", (("hello", "he"), ("ello", "el"), ("llo", "ll"))),
        ("words inside strings stay", (("shortestPath((a)-[*]-(b)) [x IN l | x][0] labels(n)",),)),
        ("a list of lists", ((2,),)),
        ("ends of an empty list", ((None, None, 0),)),
        ("no relationship twice", ((6,),)),
        ("exactly two hops", (("noise",),)),
        ("no hop or one", (("dog",), ("puppy",))),
        ("halves round up", ((3.0, -2.0, 2.35),)),
        ("empty parts", ((["a", "b", "", "c"], [""], ["a", "b"]),)),
        ("a null makes a sum null", ((None, 0.8),)),
        ("quotes in a label", ((11,),)),
        ("reduce by a property", (("animal", 8.0), ("dog", 4.0), ("pet", 6.0))),
    ],
)
def test_standard_cypher_gives_standard_results(graph: Path, name: str, rows: tuple[tuple[Any, ...], ...]) -> None:
    assert run_embedded(graph, EQUAL[name]).rows == rows


@st.composite
def ordered_with(draw: st.DrawFn) -> tuple[str, Callable[[list[int]], list[int]]]:
    """A WITH that orders, limits and perhaps filters the variable x, and the same in Python."""
    is_descending, skip, limit, has_filter, has_star = (
        draw(st.booleans()),
        draw(st.integers(0, 3)),
        draw(st.integers(0, 5)),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    text = f"WITH {'*' if has_star else 'x'} ORDER BY x{' DESC' * is_descending} SKIP {skip} LIMIT {limit}"

    def apply(values: list[int]) -> list[int]:
        kept = sorted(values, reverse=is_descending)[skip : skip + limit]
        return [value for value in kept if value % 3 or not has_filter]

    return text + " WHERE x % 3 <> 0" * has_filter, apply


@given(
    parts=st.lists(
        st.tuples(st.lists(st.integers(-20, 20), max_size=8, unique=True), st.lists(ordered_with(), min_size=1, max_size=3)),
        min_size=1,
        max_size=2,
    ),
    between=st.sampled_from(["", "WITH x WHERE x <> 1", "WITH * WHERE x <> 1", "WITH x AS y WHERE y <> 1 WITH y AS x"]),
    aggregate=st.sampled_from(["count(*)", "list_sort(collect(x))", "max(x)", "min(x)", "sum(x)", "avg(x)", "*"]),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_order_with_a_limit_holds_for_the_aggregates_after_it(
    graph: Path, parts: list[tuple[list[int], list[Any]]], between: str, aggregate: str
) -> None:
    texts, expected = [], []
    for values, clauses in parts:
        middle = " ".join(text for text, _ in clauses)
        item = aggregate if aggregate == "*" else f"{aggregate} AS n"
        texts.append(f"UNWIND {[*values, None]} AS x WITH x WHERE x IS NOT NULL {middle} {between} RETURN {item}")
        for _, apply in clauses:
            values = apply(values)
        values = [value for value in values if value != 1 or not between]
        aggregates: dict[str, Any] = {
            "count(*)": len(values),
            "list_sort(collect(x))": sorted(values),
            "max(x)": max(values, default=None),
            "min(x)": min(values, default=None),
            "sum(x)": sum(values),
            "avg(x)": sum(values) / len(values) if values else None,
        }
        expected += [(value,) for value in values] if aggregate == "*" else [(aggregates[aggregate],)]
    query = " UNION ALL ".join(texts).replace("None", "null")
    rows = run_embedded(graph, query).rows
    assert sorted(map(repr, rows)) == sorted(map(repr, expected)), query


def test_shortest_path_returns_a_shortest_path(graph: Path) -> None:
    result = run_embedded(graph, TEXTBOOK["shortest path"])
    assert result.rows == ((2, ["puppy", "dog", "bone"]),)
    assert run_embedded(graph, TEXTBOOK["shortest path that is not there"]).rows == ()


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "MATCH (n:Unicorn) RETURN n",
            r"^the graph has no node label Unicorn \(line 1, column 10\), where Neo4j would find no rows; its labels",
        ),
        (
            "MATCH (n:Concept) RETURN n.colour AS c",
            r"^no node or relationship of the graph has the property colour \(line 1, column 28\), where Neo4j ",
        ),
        (
            "MATCH (a:Concept RETURN a",
            r"^the query has a syntax error: the bracket \( at line 1, column 7 is not closed before RETURN$",
        ),
        ("MATCH (a:Concept)) RETURN a", r"syntax error: the bracket \) at line 1, column 18 has no opening bracket"),
        (
            "RETURN [1, 2",
            r"^the query has a syntax error: .* \[ at line 1, column 8 is not closed before the query ends$",
        ),
        ("MATCH (n) RETURN toInteger(n.text) AS x", r"^the function toInteger at line 1, column 18 is refused; write cast\("),
        (
            "MATCH (n) RETURN size((n)-->()) AS x",
            "syntax error: size of a pattern at .* column 18 is no longer Cypher; write COUNT",
        ),
        (
            "WITH [1] AS l RETURN reduce(m = 0, x IN l | x * m) AS x",
            "^the embedded engine does not support this query: reduce at line 1, column 22 can only be a sum",
        ),
        ("MATCH p = shortestPath((a)-[*3..4]-(b)) RETURN p", "not support this query: shortestPath at .* begins at one hop"),
        ("MATCH (a)-->(b)-->(c) RETURN *", r"not support this query: RETURN \* cannot follow a pattern of several relationships"),
        ("MATCH (a) WITH DISTINCT 5 AS x RETURN x", "WITH DISTINCT at .* has values that are the same in every row"),
        ("MATCH (a)-[*1..2]->(b)-[*2]->(c) RETURN a", "the pattern at .* has two relationships of variable length that may be"),
        ("RETURN replace('abc', '', 'x') AS x", "not support this query: replace at .* needs a text to look for"),
        (
            "MATCH (a)-->(b) WITH a.text AS t, collect(b) AS l RETURN [n IN l WHERE n.text <> t] AS x",
            "not support this query: the list of n at .* has nodes, relationships or maps, and the expression reads t too",
        ),
        (
            "MATCH (a) RETURN any(x IN [1] WHERE a.text = 'dog') AS x",
            "not support this query: a condition on a list at .* does not read its item x",
        ),
        (
            "MATCH (a) RETURN [x IN [y IN ['d'] WHERE a.text CONTAINS y] WHERE x > 'c'] AS x",
            "not support this query: a condition on a list at .* that is made by another list comprehension, which reads a.text",
        ),
        ("UNWIND [[1]] AS x RETURN x ORDER BY x", r"^x \(line 1, column \d+\) is a list, .* cannot order"),
        ("RETURN 1 < 2 < 3 AS x", "compares two values at a time; write a < b AND b < c"),
        ("RETURN {a: 1}.b AS x", "the map has no key b .* Neo4j would give null"),
        ("WITH [1] AS l, 1 AS i RETURN l[i..2] AS x", "support this query: a slice at .* column 31 needs whole numbers >= 0"),
    ],
)
def test_differences_from_neo4j_are_reported(graph: Path, query: str, sentence: str) -> None:
    with pytest.raises((QueryInvalid, QueryRefused), match=sentence):
        run_embedded(graph, query)


def test_columns_of_one_name_and_parts_of_a_union_with_other_names_are_refused(graph: Path) -> None:
    for query in (
        "RETURN 1 AS a, 2 AS `a`",
        "MATCH (n) RETURN n.text, n.uri, n.text LIMIT 1",
        "RETURN 1 AS a, 2 AS a UNION RETURN 1 AS a, 2 AS b",
    ):
        with pytest.raises(QueryInvalid, match=r"^two columns of the result have the name (a|n\.text) \(line 1, column \d+\)"):
            run_embedded(graph, query)
    for query in ("RETURN 1 AS a UNION RETURN 2 AS b", "RETURN 1 AS a, 2 AS b UNION ALL RETURN 2 AS b, 1 AS a"):
        with pytest.raises(QueryInvalid, match=r"^the parts of the UNION have columns of different names, a and b"):
            run_embedded(graph, query)
    assert run_embedded(graph, "RETURN 1 AS a, 2 AS b UNION RETURN 3 AS a, 4 AS b ORDER BY a").rows == ((1, 2), (3, 4))


@pytest.mark.parametrize(
    ("query", "value", "sentence"),
    [
        ("RETURN $x AS x", [], "cannot tell the type of an empty list"),
        ("RETURN size($x) AS x", [None], "cannot tell the type of an empty list"),
        ("RETURN $x.a AS x", {"a": None, "b": 1}, "cannot tell the type of an empty list"),
        ("RETURN $x AS x", {"a": None}, "cannot evaluate a value of this query, as happens with a map of nulls"),
        ("RETURN split('abc', '') AS x", None, "split at line 1, column 8 needs a separator that is not empty"),
        ("RETURN split('abc', $x) AS x", "", "as split does with an empty separator"),
    ],
)
def test_values_that_the_engine_cannot_use_are_one_plain_sentence(graph: Path, query: str, value: Any, sentence: str) -> None:
    with pytest.raises(QueryInvalid, match=sentence) as refused:
        run_embedded(graph, query, {"x": value})
    assert not re.search(r"vector|codec|UNREACHABLE|binding", str(refused.value))


def test_a_graph_that_was_loaded_again_meanwhile_is_not_queried(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph, open_graph(tmp_path / "g") as other:
        assert graph.run("MATCH (n) RETURN count(n)").rows == other.run("MATCH (n) RETURN count(n)").rows
        other.load(SMALL)
        assert other.run("MATCH ()-[r]->() RETURN count(r)").rows == ((other.manifest().assertions,),)
        assert graph.manifest().assertions == 0
        with pytest.raises(GraphError, match="was loaded again since it was opened; open it again"):
            graph.run("MATCH ()-[r]->() RETURN count(r)")


def test_explain_plans_and_does_not_run(graph: Path) -> None:
    plan = run_embedded(graph, f"EXPLAIN {ENDLESS}", timeout=30)
    assert plan.columns == ("plan",)
    assert any("UNWIND" in row[0] for row in plan.rows)


@pytest.mark.parametrize(
    ("items", "columns"),
    [
        ("n.text, count(*) AS c", ("n.text", "c")),
        ("count(DISTINCT n), labels(n)[0] AS `the label`", ("count(DISTINCT n)", "the label")),
        ("DISTINCT n.text + '!', {a: 1, b: 2} LIMIT 1", ("n.text + '!'", "{a: 1, b: 2}")),
        ("size([x IN [1, 2] | x])", ("size([x IN [1, 2] | x])",)),
    ],
)
def test_columns_are_named_as_they_are_written(graph: Path, items: str, columns: tuple[str, ...]) -> None:
    assert run_embedded(graph, f"MATCH (n:Concept) RETURN {items}").columns == columns


def test_a_parameter_without_a_value_is_named(graph: Path) -> None:
    with pytest.raises(QueryInvalid, match=r"the query's parameter x has no value; .* --param x=VALUE"):
        run_embedded(graph, "RETURN $x AS y")
