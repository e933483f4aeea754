"""Relations that a mapping adds: kept in the manifest of every store and index, and known to queries even without assertions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tacit.graph import Assertion, InputError, LoadEntry, QueryInvalid, WritableGraph, open_index
from tacit.graph.export import CONSTRAINTS, MANIFEST, export_csv_import
from tacit.graph.loading import from_row, properties
from tacit.graph.relations import AddedRelation, check_known, relations_of

CALMS = AddedRelation("Calms", "A calms B", inverse="CalmedBy")
UNUSED = AddedRelation("Mirrors", "A looks like B in a mirror", symmetric=True)
ROWS = [
    Assertion("/c/en/cat", "Calms", "/c/en/child", 1.0, "my", "d"),
    Assertion("/c/en/dog", "IsA", "/c/en/animal", 1.0, "my", "d"),
]


def entry(*added: AddedRelation, options: str = "") -> Callable[[], LoadEntry]:
    return lambda: LoadEntry("triples", 1, "my.csv", "sha", {"mapping": options}, 2, 2, {}, added)


def test_a_store_keeps_added_relations(new_store: Callable[[], WritableGraph], tmp_path: Path) -> None:
    store = new_store()
    store.load(ROWS, entry(CALMS, UNUSED))
    assert store.manifest().relations == {"Calms": CALMS, "Mirrors": UNUSED}
    assert relations_of(store) == {"Calms", "Mirrors", "IsA"}
    check_known(["Mirrors", "Calms"], relations_of(store))
    with pytest.raises(InputError, match="unknown relation mirrors; did you mean Mirrors"):
        check_known(["mirrors"], relations_of(store))
    rows = store.run("MATCH (a:Concept)-[r:Calms]->(b) RETURN a.text AS a, r.weight AS w, b.text AS b").rows
    assert rows == (("cat", 1.0, "child"),)
    assert store.run("MATCH (a)-[r:Mirrors]->(b) RETURN a.text AS a").rows == (), "known, though without assertions"
    assert [neighbour.text for neighbour in store.neighbours("cat", relations=["Calms"])] == ["child"]
    with open_index(store, directory=tmp_path) as index:
        assert index.manifest() == store.manifest()
        assert [neighbour.text for neighbour in index.neighbours("cat", relations=["Calms"])] == ["child"]


def test_later_definitions_replace_earlier_ones_and_change_no_digest(new_store: Callable[[], WritableGraph]) -> None:
    store = new_store()
    store.load(ROWS, entry(CALMS))
    digest = store.manifest().digest
    other = AddedRelation("Calms", "A makes B calm")
    store.load(ROWS, entry(other, options="another mapping"))
    assert store.manifest().relations == {"Calms": other}
    assert len(store.manifest().loads) == 2
    store.load(ROWS, entry(CALMS, options="another mapping"))
    assert store.manifest().relations == {"Calms": CALMS}
    assert len(store.manifest().loads) == 2
    assert store.manifest().digest == digest


def test_the_export_for_neo4j_keeps_added_relations(new_store: Callable[[], WritableGraph], tmp_path: Path) -> None:
    store = new_store()
    store.load(ROWS, entry(CALMS, UNUSED))
    export_csv_import(store, tmp_path / "out")
    assert "A looks like B in a mirror" in (tmp_path / "out" / MANIFEST).read_text(encoding="utf-8")
    assert "Mirrors" in (tmp_path / "out" / CONSTRAINTS).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["mirrors", "Mirror", "Soothes"])
def test_the_embedded_engine_refuses_unknown_relations_by_name(stored: Callable[..., Path], tmp_path: Path, name: str) -> None:
    from tacit.graph import open_graph

    with open_graph(stored((), tmp_path / "g"), engine="store") as store:
        store.load(ROWS, entry(CALMS, UNUSED))
        with pytest.raises(QueryInvalid, match=f"the graph has no relation {name}"):
            store.run(f"MATCH (a)-[r:{name}]->(b) RETURN a.text AS a")


def test_manifests_of_older_graphs_have_none() -> None:
    loads = '[{"loader": "rdf", "version": 1, "file": "f", "sha256": "s", "options": {}, "read": 1, "kept": 1, "dropped": {}}]'
    manifest = from_row((loads, 1, "0"))
    assert manifest.relations == {}
    assert from_row(tuple(properties(manifest).values())) == manifest
