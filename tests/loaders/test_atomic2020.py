"""ATOMIC tuples: every oddity of the official files, ``head @@ relation`` lines, and 100,000 mutated lines."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import LoadError
from tacit.graph.model import Assertion
from tacit.graph.relations import ATOMIC_RELATIONS
from tacit.loaders import read_atomic
from tacit.loaders.atomic2020 import AtomicReader


def read(path: Path, text: str | bytes, **options: Any) -> tuple[list[Assertion], AtomicReader]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    reader = read_atomic(path, **options)
    rows = list(reader)
    report = reader.report
    assert report.read == report.kept + sum(report.dropped.values()) + sum(report.rejected.values())
    assert report.kept == len(rows)
    return rows, reader


def test_a_row_has_its_provenance(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv.gz"
    path.write_bytes(gzip.compress(b"PersonX eats dinner\txWant\tto rest\n"))
    (row,) = read_atomic(path)
    assert row == Assertion("/e/PersonX_eats_dinner", "xWant", "/e/to_rest", 1.0, "atomic2020", "train.tsv", "cc:by/4.0")


@pytest.mark.parametrize("relation", ATOMIC_RELATIONS)
def test_all_relations_are_known_in_any_case(tmp_path: Path, relation: str) -> None:
    rows, _ = read(tmp_path / "a.tsv", f"a\t{relation}\tb\na\t {relation.upper()} \tc\n")
    assert [row.relation for row in rows] == [relation, relation]


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        ("Person X eats  ___.\txNeed\tTo be Person Y's friend. \n", [("PersonX_eats_[]", "to_be_PersonY's_friend")]),
        ("personx eats\txNeed\tto know y\n", [("PersonX_eats", "to_know_PersonY")]),
        ("PersonX eats\txWant\tnone\nPersonX eats\txWant\tNone.\n", []),
        ("head\trelation\ttail\nhead\txAttr\ttail\n", [("head", "tail")]),
        ("head_event\trelation\ttail_event\na\txAttr\tb\n", [("a", "b")]),
        ("a\txAttr\tb\na\txAttr\tb\nA \txAttr\t b.\n", [("a", "b")]),
        ("a\txAttr\tb\r\n\r\n", [("a", "b")]),
        ("\ufeffa\txAttr\tb", [("a", "b")]),
        ("a\txAttr\tb|c\n", [("a", "b|c")]),
        ("a @@ xAttr\tb| c| none| b\n", [("a", "b"), ("a", "c")]),
        ("a @@ xAttr @@ b\n", [("a", "b")]),
        ("a @@ xAttr\n", []),
        ("a @@ xAttr [GEN]\tb\n", [("a", "b")]),
        ("a\txAttr\t\n", []),
    ],
)
def test_spellings_are_normalised(tmp_path: Path, text: str, triples: list[tuple[str, str]]) -> None:
    rows, reader = read(tmp_path / "a.tsv", text)
    assert [(row.head[3:], row.tail[3:]) for row in rows] == triples
    assert not reader.report.rejected


def test_dropped_rows_are_counted(tmp_path: Path) -> None:
    text = "head\trelation\ttail\n\na\txWant\tnone\na\txWant\tb\na\txWant\tb.\na\txWant\t \na @@ xWant\n"
    rows, reader = read(tmp_path / "a.tsv", text)
    assert len(rows) == 1
    assert dict(reader.report.dropped) == {
        "header": 1,
        "blank line": 1,
        "none tail": 1,
        "duplicate": 1,
        "empty tail": 1,
        "query without a tail": 1,
    }
    rows, reader = read(tmp_path / "a.tsv", text, keep_none=True)
    assert [row.tail for row in rows] == ["/e/none", "/e/b"]
    assert reader.entry().options == {"keep_none": True}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a\txWish\tb", "unknown relation"),
        (b"a\tb", "neither head, relation and tail nor 'head @@ relation'"),
        (b"a\txWant\tb\tc", "neither head, relation and tail nor 'head @@ relation'"),
        (b"a @@ xWant @@ b @@ c", "neither head, relation and tail nor 'head @@ relation'"),
        (b"a @@", "unknown relation"),
        (b" . \txWant\tb", "empty head"),
        (b"a\txWant\tb\xff", "not UTF-8"),
        (b"a\txWant\tb\0", "NUL byte"),
        (b"head\trelation\ttail", "unknown relation"),
    ],
)
def test_broken_lines_are_rejected(tmp_path: Path, text: bytes, reason: str) -> None:
    path = tmp_path / "a.tsv"
    rows, reader = read(path, b"a\txWant\tb\n" + text + b"\nb\txWant\tc\n")
    assert len(rows) == 2
    assert dict(reader.report.rejected) == {reason: 1}
    assert str(reader.report.rejects[0]).startswith(f"{path}:2: {reason}: ")
    with pytest.raises(LoadError, match=r"a\.tsv:2: "):
        list(read_atomic(path, strict=True))


@pytest.mark.slow
def test_a_hundred_thousand_mutated_lines_are_all_accounted_for(tmp_path: Path) -> None:
    rng = random.Random(7)
    seeds = [
        b"PersonX eats ___ with Person Y\txWant\tto thank y.",
        b"PersonX eats @@ xNeed\tto cook| none| to shop",
        b"oven\tAtLocation\tkitchen",
    ]
    pieces = [b"\t", b"@@", b"|", b"\0", b"\xff", b"\xe2\x82", b" none", b"___", b"", b"x", b"\r", b"person"]
    mutated = []
    for _ in range(100_000):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 2, 5))):
            offset = rng.randrange(len(data) + 1)
            if rng.random() < 0.5:
                data[offset:offset] = rng.choice(pieces)
            elif rng.random() < 0.5 and data:
                data[offset % len(data)] = rng.randrange(256)
            else:
                del data[offset : offset + rng.choice((1, 3, 20))]
        mutated.append(bytes(data).replace(b"\n", b""))
    rows, reader = read(tmp_path / "a.tsv", b"\n".join(mutated))
    assert reader.report.read >= 100_000
    assert len(rows) > 5_000
    assert len(reader.report.rejected) == 5
    for row in rows:
        assert row.relation in ATOMIC_RELATIONS
        assert row.head.startswith("/e/")
        assert len(row.head) > 3
        assert "\0" not in row.head + row.tail
