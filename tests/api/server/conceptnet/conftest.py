"""A graph with assertions from the documentation of the public API and others, its vectors, and applications over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.api.main import run
from tacit.api.server import Settings, create_app
from tacit.graph import Graph, open_graph
from tacit.reasoning import Reasoner

from tests.api.server.conftest import InProcessClient

WORDNET = {"dataset": "/d/wordnet/3.1", "license": "cc:by/4.0"}
CONCEPTNET4 = {"dataset": "/d/conceptnet/4/en", "license": "cc:by/4.0"}
SOURCES: dict[str, Any] = {"sources": [{"contributor": "/s/contributor/omcs/dev", "activity": "/s/activity/omcs/vote"}]}
PROCESS: dict[str, Any] = {"sources": [{"process": "/s/process/split_words"}]}
WIKTIONARY = {"dataset": "/d/wiktionary/fr", "license": "cc:by-sa/4.0"}

ASSERTIONS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("/c/en/example/n", "/r/IsA", "/c/en/information/n", {
        **WORDNET, "weight": 2.0, "surfaceText": "[[example]] is a type of [[information]]",
        "sources": [{"contributor": "/s/resource/wordnet/rdf/3.1"}],
    }),
    ("/c/en/example/n/wn/cognition", "/r/Synonym", "/c/en/illustration/n", {**WORDNET, "weight": 2.0}),
    ("/c/en/example", "/r/RelatedTo", "/c/en/sample", {**CONCEPTNET4, **SOURCES, "weight": 3.464}),
    ("/c/en/instance", "/r/RelatedTo", "/c/en/example", {**CONCEPTNET4, **SOURCES, "weight": 1.0}),
    ("/c/en/example", "/r/UsedFor", "/c/en/explain", {**CONCEPTNET4, **SOURCES, "weight": 4.0}),
    ("/c/en/example", "/r/UsedFor", "/c/en/teach", {**CONCEPTNET4, **PROCESS, "weight": 1.0}),
    ("/c/en/story", "/r/UsedFor", "/c/en/example", {**CONCEPTNET4, **SOURCES, "weight": 1.0}),
    ("/c/fr/exemple", "/r/Synonym", "/c/en/example", {**WIKTIONARY, "weight": 1.0}),
    ("/c/en/example", "/r/dbpedia/genre", "/c/en/r&b", {"dataset": "/d/dbpedia/en", "license": "cc:by-sa/4.0", "weight": 0.5}),
    ("/c/en/football", "/r/IsA", "/c/en/game", {**CONCEPTNET4, **SOURCES, "weight": 2.0}),
    ("/c/en/football", "/r/IsA", "/c/en/sport", {**CONCEPTNET4, **SOURCES, "weight": 2.0}),
]  # fmt: skip
"""The first and the tenth are those of the documentation's examples."""

VECTORS = {
    "/c/en/example": (3.0, 0.0, 4.0), "/c/en/sample": (4.0, 0.0, 3.0), "/c/en/story": (0.0, 2.0, 0.0),
    "/c/fr/exemple": (3.0, 1.0, 4.0), "/c/en/teach": (-3.0, 0.0, -4.0), "/c/en/game": (0.0, 0.0, 1.0),
    "/c/en/sport": (0.0, 1.0, 1.0),
}  # fmt: skip
"""Vectors of some concepts; ``football`` has none, but neighbours that have."""


def file_of(folder: Path) -> Path:
    """Write the assertions as a file of ConceptNet."""
    path = folder / "assertions.csv"
    lines = (
        f"/a/[{relation}/,{start}/,{end}/]\t{relation}\t{start}\t{end}\t{json.dumps(extra)}\n"
        for start, relation, end, extra in ASSERTIONS
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def example_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a graph with the assertions, in all languages, without vectors."""
    folder = tmp_path_factory.mktemp("conceptnet")
    words = ["--language", "all", "--into", str(folder / "graph"), "--json"]
    assert run(["load", "conceptnet", str(file_of(folder)), *words]) == 0
    return str(folder / "graph")


@pytest.fixture(scope="session")
def example(example_path: str) -> Iterator[Graph]:
    """The graph of the assertions."""
    with open_graph(example_path) as graph:
        yield graph


@pytest.fixture(scope="session")
def with_vectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """The same graph with vectors."""
    folder = tmp_path_factory.mktemp("vectors")
    path = str(folder / "graph")
    assert run(["load", "conceptnet", str(file_of(folder)), "--language", "all", "--into", path, "--json"]) == 0
    rows = (f"{uri} {' '.join(map(str, np.array(values)))}\n" for uri, values in VECTORS.items())
    (folder / "numberbatch.txt").write_text("".join(rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACIT_CACHE", str(folder / "cache"))  # the graph without vectors has the same digest
        assert run(["index", path, "--vectors", str(folder / "numberbatch.txt"), "--json"]) == 0
        graph = open_graph(path)
        graph.open_index()
    with graph:
        yield graph


@pytest.fixture
def serving_app(example: Graph) -> Iterator[Callable[..., InProcessClient]]:
    """A maker of applications with the API over a graph."""
    services: list[Any] = []

    def make(graph: Graph = example, **settings: Any) -> InProcessClient:
        keys = settings.pop("keys", None)
        reasoner = Reasoner(graph, ["length"])
        services.append(create_app(reasoner, graph, settings=Settings(**settings), keys=keys, conceptnet_api=True))
        return InProcessClient(services[-1])

    yield make
    for app in services:
        app.state.service.close()


@pytest.fixture
def public(serving_app: Callable[..., InProcessClient]) -> InProcessClient:
    """The API over the example graph."""
    return serving_app()


@pytest.fixture
def related(serving_app: Callable[..., InProcessClient], with_vectors: Graph) -> InProcessClient:
    """The API over the graph with vectors."""
    return serving_app(with_vectors)
