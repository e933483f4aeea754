"""Numberbatch files as rows and as arrays in the order of a graph's nodes."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import InputError, LoadError
from tacit.graph.names import uris_digest
from tacit.loaders import build_vectors, open_vectors, read_numberbatch
from tacit.loaders.numberbatch import masked

TEXT = "5 3\ndog 1 0.5 -0.25\ncat 0 0 2\n##_years 3 3 3\n7_eleven 7 7 7\n/c/de/hund 4 4 4\n"


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
@pytest.mark.parametrize("header", [True, False])
def test_rows(tmp_path: Path, name: str, header: bool) -> None:
    reader = read_numberbatch(write(tmp_path / name, TEXT if header else TEXT.removeprefix("5 3\n")))
    rows = {row.uri: row.values.tolist() for row in reader}
    assert list(rows) == ["/c/en/dog", "/c/en/cat", "/c/en/##_years", "/c/en/7_eleven", "/c/de/hund"]
    assert rows["/c/en/dog"] == [1, 0.5, -0.25]
    assert reader.dimensions == 3


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("bad 1 2", "not 3 values"),
        ("bad 1 2 3 4", "not 3 values"),
        ("bad", "no values"),
        ("bad 1 2 x", "a value is not a number"),
        ("bad 1 2 nan", "a value is beyond ±65504"),
        ("bad 1 2 1e9", "a value is beyond ±65504"),
        ("b\0d 1 2 3", "NUL byte"),
    ],
)
def test_broken_lines(tmp_path: Path, line: str, reason: str) -> None:
    path = write(tmp_path / "v.txt", TEXT + line + "\nlast 1 2 3\n")
    reader = read_numberbatch(path)
    assert len(list(reader)) == 6
    assert dict(reader.report.rejected) == {reason: 1}
    assert reader.report.read == reader.report.kept + 2
    with pytest.raises(LoadError, match=r"v\.txt:7: "):
        list(read_numberbatch(path, strict=True))


@pytest.mark.parametrize(
    ("uri", "name"), [("/c/en/10_years", "/c/en/##_years"), ("/c/en/7_eleven", None), ("/c/en/1_of_10", "/c/en/#_of_##")]
)
def test_digits(uri: str, name: str | None) -> None:
    assert masked(uri) == name


def test_arrays_follow_the_nodes(tmp_path: Path) -> None:
    uris = [
        "/c/en/10_years",
        "/c/en/cat",
        "/c/en/unknown",
        "/c/en/20_years",
        "/c/de/hund",
        "/c/en/7_eleven",
        "/c/en/dog",
        "/c/en/dog",
    ]
    text = TEXT + "cat 9 9 9\n20_years 2 2 2\nfish 1 1 1\n"
    reader = build_vectors(write(tmp_path / "v.txt.gz", text), uris, tmp_path / "vectors")
    assert reader.report.dropped == {"header": 1, "term already found": 1, "term outside the graph": 1}
    vectors = open_vectors(tmp_path / "vectors")
    assert vectors.matrix.dtype == np.float16
    assert isinstance(vectors.matrix, np.memmap)
    assert vectors.present.tolist() == [True, True, False, True, True, True, True, True]
    assert vectors.take(range(8)).tolist() == [
        [3, 3, 3],
        [0, 0, 2],
        [0, 0, 0],
        [2, 2, 2],
        [4, 4, 4],
        [7, 7, 7],
        [1, 0.5, -0.25],
        [1, 0.5, -0.25],
    ]
    assert vectors.dimensions == 3
    assert vectors.uris_digest == uris_digest(uris)
    assert vectors.file == "v.txt.gz"


def test_progress_counts_every_vector_and_the_bytes_to_the_end(tmp_path: Path) -> None:
    file = write(tmp_path / "v.txt", "".join(f"word_{number} 1 2\n" for number in range(1_234)))
    progress_calls: list[tuple[int, int, int | None]] = []
    build_vectors(file, ["/c/en/word_7"], tmp_path / "vectors", progress=lambda *numbers: progress_calls.append(numbers))
    assert [number for number, _, _ in progress_calls] == [500, 500, 234]
    assert {total for _, _, total in progress_calls} == {file.stat().st_size}
    done = [read for _, read, _ in progress_calls]
    assert done == sorted(done)
    assert done[-1] == file.stat().st_size


def test_a_failed_build_leaves_the_old_vectors(tmp_path: Path) -> None:
    good, folder = write(tmp_path / "v.txt", TEXT), tmp_path / "vectors"
    build_vectors(good, ["/c/en/dog"], folder)
    before = sorted(path.name for path in folder.iterdir())
    for bad, strict in (("", False), ("3 3\n", False), ("dog 1 2 3\nbad\n", True)):
        with pytest.raises(LoadError):
            build_vectors(write(tmp_path / "bad.txt", bad), ["/c/en/cat"], folder, strict=strict)
        assert sorted(path.name for path in folder.iterdir()) == before
    assert open_vectors(folder).take([0]).tolist() == [[1, 0.5, -0.25]]
    build_vectors(good, ["/c/en/cat", "/c/en/dog"], folder)
    assert len(list(folder.iterdir())) == 4
    assert open_vectors(folder).take([1]).tolist() == [[1, 0.5, -0.25]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3 " + "9" * 5000 + "\n", "a vector has a number of 5,000 digits values"),
        ("3 10001\n", "a vector has 10001 values"),
        ("3 0\n", "a vector has 0 values"),
        ("PersonX eats\txWant\tto rest\n" * 3, "looks like ATOMIC-2020 .* tacit load atomic2020"),
        ("zebra 1 2 3\n", r"left out \(term outside the graph 1\)"),
        ("dog 1 2 1_0\n", "a value is not a number"),
        ("dog 1 2 nan\n", "a value is beyond"),
        ("dog 1 2 1e39\n", "a value is beyond"),
    ],
)
def test_a_file_without_a_vector_for_the_graph_changes_nothing(tmp_path: Path, text: str, words: str) -> None:
    folder = tmp_path / "vectors"
    build_vectors(write(tmp_path / "v.txt", TEXT), ["/c/en/dog"], folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(LoadError, match=words):
        build_vectors(write(tmp_path / "bad.txt", text), ["/c/en/dog"], folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_rows_need_as_many_values_as_the_first_line_says(tmp_path: Path) -> None:
    reader = read_numberbatch(write(tmp_path / "v.txt", "2 2\ndog  0.5\ncat 1 2\n"))
    assert [row.uri for row in reader] == ["/c/en/cat"]
    assert reader.report.rejected == {"not 2 values": 1}


@pytest.mark.parametrize("where", ["posix_fallocate", "write_bytes"])
def test_a_full_disk_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    source = write(tmp_path / "v.txt", TEXT)
    monkeypatch.setattr(*((os, where) if where == "posix_fallocate" else (Path, where)), full)  # type: ignore[call-overload]
    with pytest.raises(InputError, match=r"cannot be written to .*vectors \(No space left on device\); free some space there"):
        build_vectors(source, ["/c/en/dog"], tmp_path / "vectors")
    assert list((tmp_path / "vectors").iterdir()) == []


def test_no_nodes(tmp_path: Path) -> None:
    build_vectors(write(tmp_path / "v.txt", TEXT), [], tmp_path / "vectors")
    assert open_vectors(tmp_path / "vectors").matrix.shape == (0, 3)


def test_missing_and_damaged_vectors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tacit index GRAPH --vectors"):
        open_vectors(tmp_path / "nothing")
    build_vectors(write(tmp_path / "v.txt", TEXT), ["/c/en/dog"], tmp_path / "vectors")
    (matrix,) = (tmp_path / "vectors").glob("*.f16")
    matrix.write_bytes(b"x")
    with pytest.raises(InputError, match="damaged"):
        open_vectors(tmp_path / "vectors")
    (tmp_path / "vectors" / "vectors.json").write_text("[]")
    with pytest.raises(InputError, match="damaged"):
        open_vectors(tmp_path / "vectors")
