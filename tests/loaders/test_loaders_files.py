"""Files as they come: gzip of every kind, cut, corrupt, empty, endless lines, not there; and memory that does not grow."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError, LoadError
from tacit.loaders import read_atomic, read_conceptnet, read_items, read_numberbatch, read_rdf
from tacit.loaders.hashes import HashSet, hash64
from tacit.loaders.lines import MAX_LINE, TOO_LONG, excerpt, lines
from tacit.loaders.source import ByteSource, _Zlib, in_background

ROW = "/a/[/r/IsA/,/c/en/dog_{0}/,/c/en/animal/]\t/r/IsA\t/c/en/dog_{0}\t/c/en/animal\t" + '{{"weight": 1.0}}\n'
CONTENT = "".join(ROW.format(i) for i in range(20_000)).encode()


def content(path: Path) -> tuple[bytes, ByteSource]:
    source = ByteSource(path)
    data = b"".join(source.chunks())
    source.close()
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert source.bytes_read == path.stat().st_size
    return data, source


def two_members(data: bytes) -> bytes:
    return gzip.compress(data[:1000]) + gzip.compress(data[1000:])


@pytest.mark.parametrize(
    "pack",
    [
        bytes,
        gzip.compress,
        two_members,
        lambda data: two_members(data) + b"\0" * 600,
        lambda data: gzip.compress(data, 0),
        lambda data: gzip.compress(b"") + gzip.compress(data),
    ],
    ids=["plain", "gzip", "members", "padded", "stored", "empty member"],
)
def test_content_comes_out_whole(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(CONTENT))
    data, source = content(path)
    assert data == CONTENT
    assert source.damage is None


@pytest.mark.parametrize("data", [b"", b"\x1f", b"\n", b"a"])
def test_tiny_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert content(path)[0] == data
    reader = read_conceptnet(path)
    assert list(reader) == []
    assert reader.entry().sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("cut", [2, 9, 20, 1000, 30_000, -9, -8, -1])
def test_rows_before_the_cut_of_a_gzip_file_are_kept(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(CONTENT)[:cut])
    for compiled in (False, True):
        reader = read_conceptnet(path, compiled=compiled)
        rows = list(reader)
        assert [row.head for row in rows] == [f"/c/en/dog_{i}" for i in range(len(rows))]
        assert len(rows) > 0 or cut in (2, 9, 20, 1000)
        assert reader.report.rejected == {"truncated gzip": 1}
        assert str(reader.report.rejects[0]).startswith(f"{path}:{len(rows) + 1}: truncated gzip")
        assert reader.entry().dropped == {"rejected: truncated gzip": 1}
        with pytest.raises(LoadError, match=r"cut\.csv\.gz:\d+: truncated gzip") as caught:
            list(read_conceptnet(path, compiled=compiled, strict=True))
        assert "\n" not in str(caught.value)


def test_a_cut_atomic_file_does_not_give_half_a_phrase(tmp_path: Path) -> None:
    path = tmp_path / "cut.tsv.gz"
    packer = zlib.compressobj(wbits=31)
    path.write_bytes(
        packer.compress(b"PersonX eats\txWant\tto rest\nPersonX eats\txWant\tto go to sle") + packer.flush(zlib.Z_SYNC_FLUSH)
    )
    reader = read_atomic(path)
    assert [row.tail for row in reader] == ["/e/to_rest"]
    assert reader.report.rejected == {"truncated gzip": 1}


@pytest.mark.parametrize("place", [0.3, 0.9])
def test_corrupt_gzip_is_one_reject(tmp_path: Path, place: float) -> None:
    packed = bytearray(gzip.compress(CONTENT))
    for offset in range(40):
        packed[int(len(packed) * place) + offset] ^= 0x5A
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(packed)
    reader = read_conceptnet(path)
    rows = list(reader)
    assert len(rows) < 20_000
    assert reader.report.rejected["corrupt gzip"] == 1
    assert reader.entry().sha256 == hashlib.sha256(packed).hexdigest()


def test_garbage_after_a_gzip_file_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(gzip.compress(CONTENT) + b"not gzip at all")
    reader = read_conceptnet(path)
    assert len(list(reader)) == 20_000
    assert reader.report.rejected == {"corrupt gzip": 1}


def test_zlib_stands_in_where_isal_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(two_members(CONTENT * 20))
    monkeypatch.setattr("tacit.loaders.source._decompressor", _Zlib)
    data, source = content(path)
    assert data == CONTENT * 20
    path.write_bytes(path.read_bytes()[:-20])
    data, source = content(path)
    assert source.damage == "truncated gzip"
    assert (CONTENT * 20).startswith(data)


@pytest.mark.parametrize(
    "read", [read_conceptnet, read_atomic, read_items, read_numberbatch, lambda path: read_rdf(path, format="nt")]
)
@pytest.mark.parametrize("name", ["missing", "folder", "nul\0name"])
def test_what_is_no_file_is_one_sentence(tmp_path: Path, read: Callable[[Any], Any], name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError) as caught:
        read(str(tmp_path / name))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > len(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch(mode=0)
    with pytest.raises(InputError, match="cannot be read"):
        read_conceptnet(path)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("length", [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1, MAX_LINE + 2, 3 * MAX_LINE])
def test_only_lines_beyond_the_limit_are_cut(tmp_path: Path, length: int, ending: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"first" + ending + b"x" * length + ending + b"last" + ending)
    found = list(lines(ByteSource(path)))
    assert [(line.number, line.flaw) for line in found] == [(1, None), (2, TOO_LONG if length > MAX_LINE else None), (3, None)]
    assert found[2].data == b"last"
    for compiled in (False, True):
        reader = read_conceptnet(path, compiled=compiled)
        assert list(reader) == []
        assert [reject.line for reject in reader.report.rejects] == [1, 2, 3]
        assert (reader.report.rejects[1].reason == TOO_LONG) == (length > MAX_LINE)


def test_a_huge_last_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"first\n" + b"x" * (MAX_LINE * 2))
    assert [(line.number, line.flaw) for line in lines(ByteSource(path))] == [(1, None), (2, TOO_LONG)]


def test_excerpts_are_short_and_printable() -> None:
    assert excerpt("a\tb\0c") == "a b\N{REPLACEMENT CHARACTER}c"
    assert len(excerpt("ü" * 500)) == 81
    assert excerpt(b"\xff\xfe").isprintable()


def test_an_entry_needs_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CONTENT)
    reader = read_conceptnet(path)
    next(reader)
    with pytest.raises(LoadError, match="not read to its end"):
        reader.entry()
    with reader:
        pass
    assert list(reader) == []
    reader.close()


def test_closing_early_stops_the_reading_thread(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CONTENT * 20)
    reader = read_conceptnet(path, compiled=True)
    next(reader)
    reader.close()
    deadline = time.monotonic() + 5
    while any(thread.name == "tacit-read-ahead" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert reader.bytes_read < path.stat().st_size


def test_errors_of_the_reading_thread_surface() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    stream = in_background(items())
    assert next(stream) == 1
    with pytest.raises(ZeroDivisionError):
        next(stream)


def test_hash_sets_know_what_they_have_seen() -> None:
    seen = HashSet()
    words = [f"word {i}" for i in range(30_000)]
    assert all(seen.add(hash64(word)) for word in words)
    assert not any(seen.add(hash64(word)) for word in words)
    assert len(seen) == 30_000


_CHILD = """
import resource, sys
from tacit.loaders import read_conceptnet
reader = read_conceptnet(sys.argv[1], compiled=True)
for row in reader:
    pass
print(reader.report.kept, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """12 times as many rows (and an endless line) may cost a few MB for longer queues, not 12 times the memory."""
    peaks = []
    for times in (1, 12):
        path = tmp_path / f"{times}.csv.gz"
        packer = zlib.compressobj(1, wbits=31)
        with path.open("wb") as file:
            for _ in range(times):
                file.write(packer.compress(CONTENT))
            for _ in range(times):
                file.write(packer.compress(b"x" * MAX_LINE * 2))
            file.write(packer.flush())
        result = subprocess.run([sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=True)
        kept, peak = map(int, result.stdout.split())
        assert kept == times * 20_000
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 40, peaks
