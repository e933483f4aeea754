"""Damaged and wrong files given to ``tacit load``: none is loaded with exit status 0, and the graph stays as it was.

The short form tries each kind of file with a few cuts and flipped bits; ``-m long`` cuts at every twentieth and flips 200 bits.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tacit.api.main import run
from tacit.graph import open_graph

CONCEPTNET = "".join(
    f"/a/[/r/{relation}/,/c/en/{head}/,/c/en/{tail}/]\t/r/{relation}\t/c/en/{head}\t/c/en/{tail}\t"
    f'{{"dataset": "/d/test", "weight": {weight}}}\n'
    for head, relation, tail, weight in [
        *((f"sculpture_{n}", "AtLocation", f"museum_{n * 7 % 31}", 1 + n / 4) for n in range(40)),
        *((f"dog_{n}", "IsA", "animal", 2.0) for n in range(40)),
    ]
).encode()
ATOMIC = "".join(f"PersonX buys {n} sculptures\txWant\tto show them to {n * 3} friends\n" for n in range(60)).encode()
NT = "".join(f"<http://e.org/dog{n}> <http://e.org/isA> <http://e.org/animal{n % 7}> .\n" for n in range(60)).encode()
TURTLE = b"@prefix e: <http://e.org/> .\n" + "".join(f"e:dog{n} e:isA e:animal{n % 7} .\n" for n in range(60)).encode()
VECTORS = "".join(f"museum_{n} " + " ".join(f"{(n * k) % 17 / 8}" for k in range(1, 9)) + "\n" for n in range(31)).encode()

KINDS = {
    "conceptnet": ("c.csv.gz", CONCEPTNET),
    "atomic2020": ("a.tsv.gz", ATOMIC),
    "rdf": ("r.nt.gz", NT),
    "rdf turtle": ("t.ttl.gz", TURTLE),
}


def members(data: bytes) -> bytes:
    """Two gzip members, as ``cat a.gz b.gz`` makes them."""
    half = data.index(b"\n", len(data) // 2) + 1
    return gzip.compress(data[:half], mtime=0) + gzip.compress(data[half:], mtime=0)


def damaged(packed: bytes, cuts: int, flips: int) -> Iterator[tuple[str, bytes]]:
    """Yield damaged forms of a gzip file, each with a name."""
    for part in range(1, cuts):
        yield f"cut at {part}/{cuts}", packed[: len(packed) * part // cuts]
    yield "without its length", packed[:-4]
    yield "without its checksum", packed[:-8]
    yield "with rubbish behind", packed + b"rubbish"
    yield "with half of itself behind", packed + packed[: len(packed) // 2]
    draw = random.Random(4)
    for _ in range(flips):
        bit = draw.randrange(8 * len(packed))
        flipped = bytearray(packed)
        flipped[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit % 8} of byte {bit // 8} flipped", bytes(flipped)


def facts(url: str) -> tuple[Any, ...]:
    """What a graph answers: its manifest, counts and assertions."""
    with open_graph(url) as graph:
        return graph.manifest(), graph.counts(), sorted(graph.assertions())


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a graph's folder, apart from the index."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def attack(kind: str, folder: Path, into: str, forms: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, int]]:
    """Load every damaged form and yield its name and the exit status: 0 only where gzip itself gives the same content."""
    name, data = KINDS[kind]
    path = folder / name
    for form, content in forms:
        path.write_bytes(content)
        status = run(["load", kind.split()[0], str(path), "--into", into])
        assert status == 2 or (status == 0 and gzip.decompress(content) == data), form
        yield form, status


def in_header(form: str) -> bool:
    """Whether a flipped bit lies where it may say another time or system, which changes nothing of the content."""
    return form.startswith("bit ") and int(form.split()[-2]) < 10


@pytest.mark.parametrize("kind", KINDS)
def test_no_damaged_file_is_loaded(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    forms = [*damaged(gzip.compress(KINDS[kind][1], mtime=0), 3, 0), *damaged(members(KINDS[kind][1]), 2, 4)]
    into = tmp_path / "new" / "graph"
    for form, status in attack(kind, tmp_path, str(into), [form for form in forms if not in_header(form[0])]):
        assert status == 2, form
        assert not into.parent.exists()
    errors = capsys.readouterr().err
    assert errors.count("is damaged") == errors.count("\n")
    assert str(into) not in errors


@pytest.mark.long
@pytest.mark.parametrize("pack", [lambda data: gzip.compress(data, mtime=0), members], ids=["one member", "two members"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_damaged_file_changes_a_graph(tmp_path: Path, kind: str, pack: Callable[[bytes], bytes]) -> None:
    graph = loaded(tmp_path, str(tmp_path / "graph"))
    before, statuses = files_of(Path(graph)), list[int]()
    for form, status in attack(kind, tmp_path, graph, damaged(pack(KINDS[kind][1]), 20, 200)):
        statuses.append(status)
        if status == 0:
            assert in_header(form) or pack is members
            with open_graph(graph) as store:
                rows = set(store.assertions())
            assert len(rows) == 1 + KINDS[kind][1].count(b"\n") - (kind == "rdf turtle")
            shutil.rmtree(graph)
            before = files_of(Path(loaded(tmp_path, graph)))
        else:
            assert files_of(Path(graph)) == before, form
    assert len(statuses) == 19 + 4 + 200
    assert statuses.count(0) < 20


def loaded(folder: Path, url: str) -> str:
    """Load one assertion into the graph at ``url``."""
    file = folder / "before.tsv"
    file.write_bytes(b"PersonX sleeps\txWant\tto dream\n")
    assert run(["load", "atomic2020", str(file), "--into", url]) == 0
    return url


@pytest.mark.neo4j
def test_no_damaged_file_changes_a_neo4j_graph(tmp_path: Path, neo4j_url: str) -> None:
    before = facts(loaded(tmp_path, neo4j_url))
    for kind, (_, data) in KINDS.items():
        forms = [form for form in damaged(members(data), 3, 2) if not in_header(form[0])]
        assert {status for _, status in attack(kind, tmp_path, neo4j_url, forms)} == {2}
    assert facts(neo4j_url) == before


@pytest.mark.parametrize(("kind", "name"), [("rdf", "t.ttl"), ("triples", "t.json")])
def test_a_document_that_is_cut_in_the_middle_changes_nothing(tmp_path: Path, kind: str, name: str) -> None:
    graph = loaded(tmp_path, str(tmp_path / "graph"))
    before = files_of(Path(graph))
    path, mapping = tmp_path / name, tmp_path / "mapping.toml"
    mapping.write_text('[columns]\nhead = "h"\nrelation = "r"\ntail = "t"\n')
    rows = json.dumps([{"h": f"dog {number}", "r": "IsA", "t": "pet"} for number in range(2_000)]).encode()
    whole = TURTLE if kind == "rdf" else rows
    path.write_bytes(whole[: len(whole) // 2 - 5])
    options = ["--mapping", str(mapping)] if kind == "triples" else []
    for into in (graph, str(tmp_path / "new")):
        assert run(["load", kind, str(path), *options, "--into", into]) == 2
    assert files_of(Path(graph)) == before
    assert not (tmp_path / "new").exists()


def test_the_first_of_two_files_is_not_loaded_when_the_second_is_wrong(tmp_path: Path) -> None:
    good, bad, wrong = tmp_path / "good.csv", tmp_path / "bad.csv.gz", tmp_path / "wrong.csv"
    good.write_bytes(CONCEPTNET)
    bad.write_bytes(gzip.compress(CONCEPTNET)[:-20])
    wrong.write_bytes(ATOMIC)
    for second in (bad, wrong):
        assert run(["load", "conceptnet", str(good), str(second), "--into", str(tmp_path / "graph")]) == 2
        assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_damaged_vectors_leave_the_old_ones(tmp_path: Path, cut: float) -> None:
    graph, path = tmp_path / "graph", tmp_path / "v.txt.gz"
    (tmp_path / "c.csv").write_bytes(CONCEPTNET)
    assert run(["load", "conceptnet", str(tmp_path / "c.csv"), "--into", str(graph)]) == 0
    path.write_bytes(gzip.compress(VECTORS))
    assert run(["index", str(graph), "--vectors", str(path)]) == 0
    (folder,) = graph.glob("index/*/vectors")
    before = files_of(folder)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])
    assert run(["index", str(graph), "--vectors", str(path)]) == 2
    assert files_of(folder) == before


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("conceptnet", ATOMIC),
        ("conceptnet", bytes(range(256)) * 40),
        ("conceptnet", b"<html><body>404</body></html>\n"),
        ("conceptnet", b""),
        ("atomic2020", CONCEPTNET),
        ("atomic2020", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"),
        ("rdf", ATOMIC),
        ("rdf", b'{"turns": ["hello"]}\n'),
    ],
)
def test_a_wrong_file_makes_no_graph_and_changes_none(tmp_path: Path, kind: str, content: bytes) -> None:
    path = tmp_path / "file.nt"
    path.write_bytes(content)
    assert run(["load", kind, str(path), "--into", str(tmp_path / "a" / "b")]) == 2
    assert not (tmp_path / "a").exists()
    graph = tmp_path / "graph"
    with open_graph(graph, create=True):
        pass
    before = files_of(graph)
    assert run(["load", kind, str(path), "--into", str(graph)]) == 2
    assert files_of(graph) == before
