"""The cookbook: every exploratory query is documented, and gives equal rows in equal order on both engines.

Run as a script, this file prints ``docs/cookbook.md`` with the rows that the sample graph gives.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tacit.cypher import names, query
from tacit.graph import Assertion, KnowledgeGraph, open_graph
from tacit.graph.model import QueryResult
from tacit.graph.query import check
from tacit.loaders import read_atomic, read_conceptnet
from tacit.reasoning.event_links import link_events

REPOSITORY = Path(__file__).parents[2]
SAMPLE = REPOSITORY / "api" / "sample"
PAGE = REPOSITORY / "docs" / "cookbook.md"
ENTRIES = [name for name in names() if name.startswith("explore/")]
ROWS_SHOWN = 4

_EXAMPLE = re.compile(r"^// \$(\w+): (.+), e\.g\. (.+)$", re.MULTILINE)


@cache
def examples(entry: str) -> dict[str, Any]:
    """Return the example values of a query's parameters, as its file gives them."""
    text = (REPOSITORY / "cypher" / f"{entry}.cypher").read_text(encoding="utf-8")
    return {name: json.loads(value) if value[0] in "[{" else value for name, _, value in _EXAMPLE.findall(text)}


def run(graph: KnowledgeGraph, entry: str) -> QueryResult:
    return graph.run(query(entry).text, examples(entry), limit=2000, timeout=60)


def sample_rows() -> list[Assertion]:
    return [*read_conceptnet(SAMPLE / "conceptnet.csv"), *read_atomic(SAMPLE / "atomic2020.tsv")]


def real_rows(data: Path) -> list[Assertion]:
    """The sample, so that every example finds something, and some thousands of real assertions around it."""
    conceptnet = read_conceptnet(data / "conceptnet" / "assertions-en.csv.gz", min_weight=3.0)
    atomic = islice(read_atomic(data / "atomic2020" / "dev.tsv.gz"), 1_000)
    return [*sample_rows(), *conceptnet, *atomic]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with open_graph(tmp_path_factory.mktemp("sample") / "graph", create=True) as store:
        store.load(sample_rows())
        link_events(store)
        yield store


def test_the_cookbook_has_enough_queries() -> None:
    assert len(ENTRIES) >= 18


@pytest.mark.parametrize("entry", ENTRIES)
def test_query_is_documented_and_reads_only(entry: str) -> None:
    rows = query(entry)
    assert rows.summary.endswith("?")
    assert rows.parameters == tuple(sorted(examples(entry)))
    assert "ORDER BY" in rows.text
    check(rows.text, "neo4j", examples(entry))
    check(rows.text, "embedded", examples(entry))


@pytest.mark.parametrize("entry", ENTRIES)
def test_example_finds_something(entry: str, sample: KnowledgeGraph) -> None:
    result = run(sample, entry)
    assert result.rows
    assert all(re.fullmatch(r"[a-z_]+", column) for column in result.columns)
    assert len(set(result.rows)) == len(result.rows)


@pytest.mark.parametrize("entry", ENTRIES)
def test_hostile_parameters_are_plain_values(entry: str, sample: KnowledgeGraph) -> None:
    hostile = "dog'}) DETACH DELETE n //"
    values = {name: [hostile] if isinstance(value, list) else hostile for name, value in examples(entry).items()}
    if values:
        assert {value for row in sample.run(query(entry).text, values).rows for value in row} <= {0}  # counts are 0


def test_links_change_the_rows_only_of_queries_that_ask_for_them(sample: KnowledgeGraph, tmp_path: Path) -> None:
    with open_graph(tmp_path / "graph", create=True) as unlinked:
        unlinked.load(sample_rows())
        for entry in ENTRIES:
            asks = "Mentions]" in query(entry).text or "SameEvent]" in query(entry).text
            assert (run(unlinked, entry) == run(sample, entry)) is not asks, entry


@pytest.mark.neo4j
def test_rows_are_equal_on_both_engines(sample: KnowledgeGraph, neo4j_url: str) -> None:
    with open_graph(neo4j_url) as server:
        server.load(sample_rows())
        link_events(server)
        for entry in ENTRIES:
            assert run(server, entry) == run(sample, entry), entry


@pytest.mark.neo4j
@pytest.mark.slow
def test_rows_are_equal_on_both_engines_on_real_data(data_dir: Path, neo4j_url: str, tmp_path: Path) -> None:
    rows = real_rows(data_dir)
    with open_graph(neo4j_url) as server, open_graph(tmp_path / "graph", create=True) as embedded:
        embedded.load(rows)
        server.load(rows)
        assert link_events(embedded) == link_events(server)
        for entry in ENTRIES:
            assert run(server, entry) == run(embedded, entry), entry


def test_the_page_shows_real_results(sample: KnowledgeGraph) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(sample), (
        "write it anew: python -m tests.cypher.test_cookbook > docs/cookbook.md"
    )


def page(graph: KnowledgeGraph) -> str:
    """Return the cookbook's page with the rows that ``graph`` gives."""
    parts = [_HEAD, "| query | answers | parameters |", "|---|---|---|"]
    for entry in ENTRIES:
        name = entry.removeprefix("explore/")
        parameters = ", ".join(f"`{parameter}`" for parameter in query(entry).parameters)
        parts.append(f"| [`{name}`](#{name}) | {query(entry).summary} | {parameters} |")
    for entry in ENTRIES:
        parts += _section(entry, run(graph, entry))
    return "\n".join(parts) + "\n"


def _section(entry: str, result: QueryResult) -> list[str]:
    name = entry.removeprefix("explore/")
    parameters = [f"--param {key}={_quoted(value)}" for key, value in examples(entry).items()]
    text = query(entry).text
    lines = ["", f"## {name}", "", query(entry).summary, "", "```cypher", text, "```", ""]
    lines += ["    " + " ".join(["tacit cypher sample-graph", name, *parameters]), ""]
    lines += ["| " + " | ".join(result.columns) + " |", "|" + "---|" * len(result.columns)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in result.rows[:ROWS_SHOWN]]
    if len(result.rows) > ROWS_SHOWN:
        lines += ["", f"and {len(result.rows) - ROWS_SHOWN} more."]
    return lines


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if re.fullmatch(r"[\w./-]+", text):
        return text
    return f'"{text}"' if "'" in text else f"'{text}'"


_HEAD = """# The cookbook

Exploratory queries that run unchanged on the embedded engine and on Neo4j and give equal rows in equal order; a test
compares them. `tacit cypher GRAPH NAME --param key=value` runs one, `tacit cypher --list` lists them, and each is a file in
`cypher/explore/` to start your own from. The rows below come from the sample graph:

    tacit load conceptnet api/sample/conceptnet.csv --into sample-graph
    tacit load atomic2020 api/sample/atomic2020.tsv --into sample-graph --link

Concepts are given as English texts (`hot dog`), events as ATOMIC writes them (`PersonX cooks dinner for PersonY`).

**Writing your own.** [Cypher on both engines](cypher.md) says what may run and where the engines differ. For equal rows in equal
order on both, give every column a name that no variable has, order by those names until no two rows can tie, and take `count`,
`min` and `max` rather than sums of weights (the last digit of a sum depends on the order of its terms).
"""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, open_graph(Path(folder) / "graph", create=True) as store:
        store.load(sample_rows())
        link_events(store)
        sys.stdout.write(page(store))
