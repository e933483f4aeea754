"""Random statements, which both engines answer with the same rows, unless the embedded one refuses them with a sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tacit.graph.errors import QueryInvalid, QueryRefused
from tacit.graph.model import QueryResult
from tacit.graph.query import close_workers, run_embedded, run_neo4j

from tests.conftest import Stored
from tests.graph.backends import opened
from tests.graph.query.statement_grammar import PARAMETERS, Grammar, random_rows

pytestmark = pytest.mark.neo4j

ROWS = random_rows(7)
STATEMENTS = 150


@pytest.fixture(scope="module")
def engines(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    """The folder of the embedded graph, and a driver of the server with the same rows."""
    import neo4j

    folder = tmp_path_factory.mktemp("random")
    with opened("neo4j", ROWS, folder):
        auth = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", "tacit-test"))
        with neo4j.GraphDatabase.driver(os.environ["TACIT_TEST_NEO4J"], auth=auth) as driver:
            graph = stored(ROWS, folder / "graph")
            yield graph, driver
            close_workers(graph)


def comparable(value: Any) -> Any:
    """Return ``value`` with rounded numbers; the engines add fractions in another order."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(f"{value:.9g}") + 0.0
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    return [comparable(item) for item in value] if isinstance(value, (list, tuple)) else value


def rows(result: QueryResult) -> list[str]:
    return sorted(repr(comparable(row)) for row in result.rows)


def test_random_statements_have_the_same_rows_on_both_engines(engines: tuple[Path, Any]) -> None:
    graph, driver = engines
    compared = 0
    for seed in range(STATEMENTS):
        query = Grammar(Random(seed)).statement()
        try:
            expected = run_neo4j(driver, None, query, PARAMETERS, limit=3000)
            result = run_embedded(graph, query, PARAMETERS, limit=3000)
        except (QueryInvalid, QueryRefused):
            continue
        if not expected.truncated:
            compared += 1
            assert rows(result) == rows(expected), query
    assert compared > STATEMENTS / 2, compared
