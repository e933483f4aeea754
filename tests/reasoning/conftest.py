"""What the reasoning tests share: the shipped analyser and a small world worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tacit.graph import open_graph
from tacit.graph.index import build_from_rows, open_index_directory
from tacit.graph.model import Assertion
from tacit.graph.names import concept_uri
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning.text.language import SpacyAnalyser, load_pipeline

from tests.networkx_oracle import OracleGraph

WORLD = (
    ("dog", "Desires", "bone", 2.0),
    ("dog", "IsA", "pet", 4.0),
    ("dog", "Desires", "food", 1.0),
    ("puppy", "IsA", "dog", 3.0),
    ("cat", "IsA", "pet", 1.5),
    ("pet", "AtLocation", "home", 1.0),
    ("ice cream", "IsA", "dessert", 2.5),
    ("dessert", "IsA", "food", 2.0),
    ("hot dog", "IsA", "food", 5.0),
    ("hot dog stand", "UsedFor", "hot dog", 1.0),
    ("refrigerator", "UsedFor", "food", 3.0),
    ("credit card", "UsedFor", "pay", 2.0),
    ("debit card", "SimilarTo", "credit card", 1.0),
    ("ride bike", "HasSubevent", "fall", 1.0),
    ("bike", "IsA", "vehicle", 2.0),
    ("the beatles", "IsA", "band", 1.0),
    ("give up", "Causes", "health", 1.0),
    ("do", "HasSubevent", "act", 1.0),
    ("the", "RelatedTo", "of", 1.0),
    ("moon", "IsA", "satellite", 1.0),
    ("saw", "IsA", "tool", 1.0),
)


@pytest.fixture(scope="session")
def world() -> list[Assertion]:
    """Assertions of a small everyday world."""
    return [
        Assertion(concept_uri(head), relation, concept_uri(tail), weight, "conceptnet", "/d/test")
        for head, relation, tail, weight in WORLD
    ]


@pytest.fixture(scope="session")
def analyser() -> SpacyAnalyser:
    """The pipeline that ships with tacit."""
    return load_pipeline()


@pytest.fixture(scope="session")
def oracle(world: list[Assertion]) -> OracleGraph:
    """The small world under the judge of all backends."""
    return OracleGraph(world)


@pytest.fixture(scope="session", params=["oracle", "embedded", "index"])
def graph(
    request: pytest.FixtureRequest, world: list[Assertion], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KnowledgeGraph]:
    """The small world in one backend after the other; a database server, which other tests empty, stands in ``graph_of``."""
    folder = tmp_path_factory.mktemp("world")
    if request.param == "oracle":
        yield request.getfixturevalue("oracle")
    elif request.param == "index":
        with open_index_directory(build_from_rows(world, folder / "index")) as index:
            yield index
    else:
        with open_graph(folder / "graph", engine="store", create=True) as store:
            store.load(world)
            yield store
