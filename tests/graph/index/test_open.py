"""Finding and building indexes: by digest, atomically, shared between processes, and never used for another graph."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from tacit.graph import storage
from tacit.graph.embedded.graph import EmbeddedGraph
from tacit.graph.errors import GraphError, GraphNotFound, InputError, UnknownName
from tacit.graph.index import IndexGraph, build_from_rows, build_index, index_home, open_index, open_index_directory
from tacit.graph.index.layout import FORMAT, open_arrays, write_arrays
from tacit.graph.model import Assertion, Manifest
from tacit.graph.open import open_graph

ROWS = [
    Assertion("/c/en/dog", "CapableOf", "/c/en/bark", 2.0, "conceptnet", "/d/one", "cc0", "a | b", "n", "v"),
    Assertion("/c/en/dog", "IsA", "/c/en/pet", 1.0, "conceptnet", "/d/two"),
    Assertion("/c/en/cat", "IsA", "/c/en/pet", 4.0, "rdf", rank=0, score=-1.5),
    Assertion("/c/en/cat", "RelatedTo", "/c/en/cat", 1.0),
    Assertion("/e/PersonX_eats", "xWant", "/e/to_rest"),
]


class _Watched(EmbeddedGraph):
    """The embedded graph, counting how often it is read through, and known by another URL where a test says so."""

    streams = 0
    called = ""

    @property
    def url(self) -> str:
        return self.called or super().url

    def scan(self, batch_size: int = 100_000) -> Iterator[Any]:
        self.streams += 1
        return super().scan(batch_size)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[_Watched]:
    with open_graph(tmp_path / "graph", create=True) as graph:
        graph.load(ROWS[:2])
    with _Watched(tmp_path / "graph") as watched:
        yield watched


def test_an_index_is_built_once_and_follows_the_graph(store: _Watched) -> None:
    for _ in range(2):
        with open_index(store) as index:
            assert index.manifest() == store.manifest()
            assert index.counts() == store.counts()
            assert index.resolve(["cat", "dogs"]) == [None, "/c/en/dog"]
    assert store.streams == 1
    home = index_home(store)
    assert home == store.path / "index"
    assert [folder.name for folder in home.iterdir()] == [store.manifest().digest]
    store.load(ROWS)
    with open_index(store) as index:
        assert index.resolve(["cat", "dogs"]) == ["/c/en/cat", "/c/en/dog"]
    assert store.streams == 2
    assert [folder.name for folder in home.iterdir()] == [store.manifest().digest]


def test_the_index_of_a_server_is_cached_beside_others(store: _Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    store.called = "bolt://127.0.0.1:7687"
    open_index(store).close()
    digests = [store.manifest().digest]
    store.load(ROWS)
    open_index(store).close()
    digests.append(store.manifest().digest)
    assert sorted(folder.name for folder in (tmp_path / "cache" / "index").iterdir()) == sorted(digests)


def test_assertions_come_back_equal_in_every_field(tmp_path: Path) -> None:
    with open_index_directory(build_from_rows(ROWS, tmp_path / "x")) as index:
        triples = index.triples_between(["/c/en/dog", "/c/en/cat"], ["/c/en/bark", "/c/en/pet"])
    assert sorted(path.assertions[0] for path in triples) == sorted(ROWS[:3])


def test_names_complete_in_order(tmp_path: Path) -> None:
    rows = [Assertion(f"/c/en/{word}", "IsA", "/c/en/word") for word in ("caté", "cat", "cat_food", "catz", "dog", "ca")]
    with open_index_directory(build_from_rows(rows, tmp_path / "x")) as index:
        assert index.complete("Cat") == ["/c/en/cat", "/c/en/cat_food", "/c/en/catz", "/c/en/caté"]
        assert index.complete("cat", 2) == ["/c/en/cat", "/c/en/cat_food"]
        assert index.complete("/c/en/d") == ["/c/en/dog"]
        assert index.complete("nothing") == index.complete("  ") == []
        assert index.uris() == [index.uri(node) for node in range(len(index.uris()))]
        assert index.ids(index.uris()).tolist() == list(range(7))
        with pytest.raises(InputError):
            index.complete("a", -1)


def test_similar_names_are_suggested(tmp_path: Path) -> None:
    rows = [
        Assertion("/c/en/piano", "IsA", "/c/en/instrument"),
        Assertion("/c/en/piano_stool", "UsedFor", "/c/en/sitting"),
        Assertion("/c/de/klavier", "Synonym", "/c/en/piano"),
    ]
    with open_index_directory(build_from_rows(rows, tmp_path / "x")) as index:
        with pytest.raises(UnknownName, match=r"^'pianno' is not a concept of .*; did you mean piano\?$"):
            index.paths("pianno", "instrument")
        with pytest.raises(UnknownName, match=r"; did you mean klavier\?$"):
            index.neighbours("klawier", language="de")
        assert index.near("piano stol") == ["piano stool"]
        assert index.near("xy") == index.near("") == index.near("pi") == []


def test_unknown_nodes_have_no_answers(store: _Watched, tmp_path: Path) -> None:
    store.load(ROWS)
    folder = build_from_rows(ROWS, tmp_path / "x")
    with open_index_directory(folder) as index:
        for ask in (
            lambda: index.tails("x"),
            lambda: index.heads("x"),
            lambda: index.run("RETURN 1"),
            lambda: index.assertions(),
        ):
            with pytest.raises(GraphError, match="holds concepts only"):
                ask()
    with open_index_directory(folder, store) as index:
        assert index.url == store.url
        assert index.tails("PersonX eats", "xWant") == [ROWS[4]]
        assert index.heads("eats") == [ROWS[4].head]
    assert store.counts().assertions == len(ROWS), "a store that was handed over stays open"
    opened: list[EmbeddedGraph] = []

    def open_store() -> EmbeddedGraph:
        opened.append(EmbeddedGraph(store.path))
        return opened[-1]

    with open_index_directory(folder, open_store) as index:
        assert not opened
        assert sorted(index.assertions()) == sorted(ROWS)
        assert len(opened) == 1
    with pytest.raises(InputError, match="closed"):
        opened[0].counts()


def test_wrong_arguments(tmp_path: Path) -> None:
    with open_index_directory(build_from_rows(ROWS, tmp_path / "x")) as index:
        for wrong in (
            lambda: index.hop_distances(["/c/en/dog"], ["/c/en/cat"], 7),
            lambda: index.hop_pairs(["/c/en/dog"], []),
            lambda: index.neighbours("/c/en/dog", 0),
            lambda: index.neighbours("/c/en/dog", 1, -1),
            lambda: index.neighbours("/c/en/dog", relations=["Is A"]),
            lambda: index.triples_between(["/c/en/dog"], ["/c/en/cat"], 3),  # type: ignore[arg-type]
            lambda: index.paths("/c/en/dog", "/c/en/cat", -1),
        ):
            with pytest.raises(InputError):
                wrong()


def test_an_empty_graph(tmp_path: Path) -> None:
    with open_index_directory(build_from_rows([], tmp_path / "x")) as index:
        assert index.counts().assertions == 0
        assert index.manifest().digest == Manifest().digest
        assert index.resolve(["dog"]) == [None]
        assert index.hop_distances(["/c/en/dog"], ["/c/en/dog"]).tolist() == [[-1]]
        assert index.paths("/c/en/dog", "/c/en/dog") == index.neighbours("/c/en/dog") == index.complete("d") == []


@pytest.mark.parametrize("name", ["arrays.bin", "names.marisa", "header.json"])
def test_a_damaged_index_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    folder = build_from_rows(ROWS, tmp_path / "x")
    (folder / name).write_bytes((folder / name).read_bytes()[:-5])
    with pytest.raises(GraphError, match="again"):
        open_index_directory(folder)
    with pytest.raises(GraphNotFound):
        open_index_directory(tmp_path / "nothing")


def test_a_damaged_index_of_the_same_graph_is_replaced(store: _Watched) -> None:
    store.load(ROWS)
    with open_index(store) as index:
        arrays = index.directory / "arrays.bin"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(GraphError, match=r"arrays\.bin is damaged"):
        open_index_directory(arrays.parent)
    build_from_rows(ROWS, arrays.parent)
    with open_index_directory(arrays.parent) as index:
        assert index.counts() == store.counts()


def test_an_index_of_another_graph_in_its_place_is_not_used(store: _Watched) -> None:
    store.load(ROWS)
    folder = index_home(store) / store.manifest().digest
    build_from_rows(ROWS[:1], folder)
    with pytest.raises(GraphError, match="belongs to another graph"):
        IndexGraph(folder, digest=store.manifest().digest)
    with open_index(store) as index:
        assert index.counts() == store.counts()


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("indptr", -1, 10_000), ("indptr", 1, -1), ("neighbour", 0, 10_000), ("relation", 0, 255), ("weight", -1, 255),
        ("provenance", 0, 255), ("rank", 0, -1), ("node_of_key", 0, 10_000), ("text_start", -1, 10_000),
        ("label_start", -1, 99_999), ("provenance_texts", 0, 10_000),
    ],
)  # fmt: skip
def test_an_index_too_large_to_verify_whole_has_its_bounds_checked(
    name: str, position: int, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "WHOLE", 0)
    folder = build_from_rows(ROWS, tmp_path / "x")
    open_index_directory(folder).close()
    header, arrays = open_arrays(folder)
    changed = {key: array.copy() for key, array in arrays.items()}
    changed[name].reshape(-1)[position] = value
    facts = {key: header[key] for key in ("manifest", "counts", "relations", "covered")}
    facts["arrays"] = write_arrays(folder, changed)
    (folder / "header.json").unlink()
    storage.seal(folder, "index", FORMAT, header["digest"], facts)
    with pytest.raises(GraphError, match=f"is damaged \\({name} "):
        open_index_directory(folder)


def test_a_store_that_does_not_match_its_manifest_gets_no_index(store: _Watched, tmp_path: Path) -> None:
    class Heavier(EmbeddedGraph):
        def scan(self, batch_size: int = 100_000) -> Iterator[Any]:
            for batch in super().scan(batch_size):
                column = batch.schema.get_field_index("weight")
                yield batch.set_column(column, "weight", pc.multiply(batch.column(column), 2.0))

    class Shorter(EmbeddedGraph):
        def scan(self, batch_size: int = 100_000) -> Iterator[Any]:
            for batch in super().scan(batch_size):
                yield batch.slice(1)

    store.load(ROWS)
    for kind, says in ((Heavier, "do not match the checksum"), (Shorter, f"its manifest says {len(ROWS)}")):
        with kind(store.path) as graph, pytest.raises(GraphError, match=f"is damaged, or was changed .*{says}"):
            build_index(graph, tmp_path / "x" / "digest")
    assert not (tmp_path / "x").exists()


def test_another_format_is_refused_and_replaced(store: _Watched) -> None:
    with open_index(store) as index:
        folder = index.directory
    storage.write_checked(folder / "header.json", {"format": 0})
    with pytest.raises(GraphError, match="format 0"):
        open_index_directory(folder)
    with open_index(store) as index:
        assert index.counts() == store.counts()


def test_a_graph_that_changes_while_it_is_read_gets_no_index(store: _Watched, tmp_path: Path) -> None:
    class Growing(EmbeddedGraph):
        def scan(self, batch_size: int = 100_000) -> Iterator[Any]:
            yield from super().scan(batch_size)
            self.load(ROWS)

    with Growing(store.path) as graph, pytest.raises(GraphError, match="changed while"):
        build_index(graph, tmp_path / "x" / "digest")
    assert not (tmp_path / "x").exists()


def test_threads_share_one_index(tmp_path: Path) -> None:
    rows = [Assertion(f"/c/en/{i}", "IsA", f"/c/en/{(i * 7 + 3) % 200}") for i in range(200)]
    rows += [Assertion(f"/c/en/{i}", "HasA", f"/c/en/{(i * 11 + 5) % 200}") for i in range(200)]
    uris = [f"/c/en/{i}" for i in range(200)]
    with open_index_directory(build_from_rows(rows, tmp_path / "x")) as index, ThreadPoolExecutor(4) as threads:
        alone = [
            (index.hop_distances([uri], uris).tolist(), index.neighbours(uri, 2), index.paths(uri, "/c/en/0")) for uri in uris
        ]
        together = list(
            threads.map(
                lambda uri: (index.hop_distances([uri], uris).tolist(), index.neighbours(uri, 2), index.paths(uri, "/c/en/0")),
                uris,
            )
        )
    assert together == alone


_BUILDER = """
import sys
from pathlib import Path
from tacit.graph.index import build_from_rows
from tacit.graph.model import Assertion
print("ready", flush=True)
rows = (Assertion(f"/c/en/{i}", "IsA", f"/c/en/{i * 7 % 20000}") for i in range(1, 20000))
build_from_rows(rows, Path(sys.argv[1]))
"""


def _builder(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", _BUILDER, str(folder)], stdout=subprocess.PIPE, text=True)


def test_a_killed_builder_leaves_nothing_half_written(tmp_path: Path) -> None:
    home = tmp_path / "index"
    for seconds in (0.0, 0.15, 0.4, 0.8):
        with _builder(home / "digest") as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(seconds)
            os.kill(process.pid, signal.SIGKILL)
        if (home / "digest").exists():  # it was quicker than the signal: then it is whole
            open_index_directory(home / "digest").close()
    with _builder(home / "digest") as process:
        assert process.wait() == 0
    assert [folder.name for folder in home.iterdir()] == ["digest"]
    with open_index_directory(home / "digest") as index:
        assert index.counts().assertions == 19_999


def test_concurrent_builders_agree(tmp_path: Path) -> None:
    seen: list[BaseException] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            try:
                open_index_directory(tmp_path / "digest").close()
            except GraphNotFound:
                pass
            except BaseException as error:
                seen.append(error)

    watcher = threading.Thread(target=watch)
    watcher.start()
    builders = [_builder(tmp_path / "digest") for _ in range(2)]
    statuses = [builder.wait() for builder in builders]
    stop.set()
    watcher.join()
    assert statuses == [0, 0]
    assert seen == []
    assert [folder.name for folder in tmp_path.iterdir()] == ["digest"]
    assert open_index_directory(tmp_path / "digest").counts().assertions == 19_999
