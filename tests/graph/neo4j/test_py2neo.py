"""A py2neo ``Graph`` as a graph of tacit, on the real server."""

from __future__ import annotations

import os
import sys

import pytest
from tacit.graph import MissingExtra, open_graph

from tests.graph.example_rows import ANIMAL, BONE, DOG, FOOD, SMALL


@pytest.mark.neo4j
@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_py2neo_graph_answers_the_protocol(neo4j_url: str, scheme: str) -> None:
    py2neo = pytest.importorskip("py2neo")
    address = neo4j_url.partition("://")[2]
    held = py2neo.Graph(f"{scheme}://{address}", auth=("neo4j", os.environ["NEO4J_PASSWORD"]))
    with open_graph(held) as graph:
        assert graph.url.startswith(f"{scheme}://{address}")
        assert os.environ["NEO4J_PASSWORD"] not in graph.url
        assert graph.load(SMALL) == (len(SMALL), 0)
        assert held.evaluate("MATCH (:Concept)-[r:IsA]->(:Concept) RETURN count(r)") == 3
        assert graph.resolve(["dogs"]) == [DOG]
        assert [n.uri for n in graph.neighbours(DOG, 1, 2)] == [ANIMAL, BONE]
        assert graph.hop_distances([DOG], [FOOD, DOG]).tolist() == [[3, 0]]
        assert graph.count_triples([DOG], [BONE]) == (1, 3)
        assert len(graph.triples_between([DOG], [BONE])) == 3
        assert graph.paths(DOG, FOOD)[0].hops == 3
        assert [row.tail for row in graph.tails("PersonX eats ___", "xWant")] == ["/e/to_drink", "/e/to_rest"]
        assert graph.heads("dinner") == ["/e/PersonX_eats_dinner"]
        assert sorted(graph.assertions()) == sorted(SMALL)
        assert graph.run("MATCH (c:Concept {text: 'dog'}) RETURN c.uri AS uri").rows == ((DOG,),)
        assert graph.counts().assertions == graph.manifest().assertions == len(SMALL)


def test_without_py2neo_its_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py2neo", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tacit-kg\[py2neo\]'"):
        open_graph(object())
