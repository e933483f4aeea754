"""Word vectors as half-precision arrays on disk, in the order of an index's nodes; built from a Numberbatch file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ..graph.errors import InputError, LoadError
from ..graph.names import uris_digest
from .formats import nothing_kept
from .numberbatch import NumberbatchReader, masked
from .reader import hash64

Progress = Callable[[int, int, int | None], object]

_VERSION = 2
_PROGRESS_LINES = 500
"""Vectors between two calls of the progress callback."""
_META = "vectors.json"


@dataclass(frozen=True)
class Vectors:
    """Memory-mapped vectors in the order of the URIs that they were built for.

    Attributes:
        matrix: float16, shape ``(nodes, dimensions)``; zeros where there is no vector.
        present: bool, shape ``(nodes,)``: which nodes have a vector.
        file, sha256: name and digest of the file of the vectors.
        uris_digest: :func:`uris_digest` of the URIs.
        names: file of the URIs, one per line.
    """

    matrix: NDArray[np.float16]
    present: NDArray[np.bool_]
    file: str
    sha256: str
    uris_digest: str
    names: Path

    @cached_property
    def uris(self) -> list[str]:
        """The URIs of the rows.

        Raises:
            InputError: their file is missing or damaged.
        """
        try:
            uris = self.names.read_text(encoding="utf-8").split("\n")[:-1]
            if uris_digest(uris) == self.uris_digest:
                return uris
        except (OSError, ValueError):
            pass
        raise InputError(f"the names of the vectors at {self.names} are missing or damaged; build the vectors again")

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.matrix.shape[1])

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of ``rows`` as float32, shape ``(len(rows), dimensions)``."""
        return np.asarray(self.matrix[np.asarray(rows, np.int64)], np.float32)


def build_vectors(
    path: str | os.PathLike[str],
    uris: Sequence[str],
    out_dir: str | os.PathLike[str],
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> NumberbatchReader:
    """Write the vectors of ``path`` for ``uris`` to ``out_dir`` and return the reader with its report.

    Row ``i`` of the array belongs to ``uris[i]``. A term equal to the URI is preferred to one with ``#`` for digits; of two lines
    for one term the first counts. Besides the array on disk, 16 bytes of memory per URI are used. Vectors in ``out_dir`` stay in
    use until the new ones are complete.

    Args:
        path: the file of vectors.
        uris: URIs of the rows.
        out_dir: destination folder; created when it does not exist.
        strict: end at the first invalid line.
        progress: called regularly with the number of vectors read since its last call, the bytes of the file read so far, and its
            size in bytes (None for a pipe).

    Raises:
        InputError: the file cannot be opened or ``out_dir`` cannot be written to.
        LoadError: the file is damaged, has no vector for any of ``uris``, or, under ``strict``, an invalid line. Earlier vectors
            stay unchanged.
    """
    reader = NumberbatchReader(path, strict=strict)
    folder = Path(out_dir)
    part = folder / _draft("matrix")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _fill(reader, uris, part, folder, progress or (lambda *_: None))
    except OSError as error:
        raise InputError(
            f"vectors cannot be written to {folder} ({error.strerror or error}); free some space there or give another folder"
        ) from None
    finally:
        reader.close()
        for draft in folder.glob(f"*{_draft('')}"):
            draft.unlink(missing_ok=True)
    return reader


def open_vectors(out_dir: str | os.PathLike[str]) -> Vectors:
    """Open the vectors written by :func:`build_vectors` as a memory map.

    Raises:
        InputError: there are no vectors in ``out_dir``, or they are damaged.
    """
    folder = Path(out_dir)
    try:
        meta: dict[str, Any] = orjson.loads((folder / _META).read_bytes())
        shape = (int(meta["rows"]), int(meta["dimensions"]))
        if (folder / meta["matrix"]).stat().st_size != shape[0] * shape[1] * 2:
            raise ValueError
        matrix: NDArray[np.float16] = (
            np.memmap(folder / meta["matrix"], np.float16, "r", shape=shape) if shape[0] else np.zeros(shape, np.float16)
        )
        present = np.unpackbits(np.fromfile(folder / meta["present"], np.uint8), count=shape[0]).astype(np.bool_)
        return Vectors(matrix, present, meta["file"], meta["sha256"], meta["uris_digest"], folder / meta["uris"])
    except FileNotFoundError:
        raise InputError(f"there are no vectors in {folder}; build them with `tacit index GRAPH --vectors FILE`") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"the vectors in {folder} are damaged or of an earlier version; build them again: `tacit index GRAPH --vectors FILE`"
        ) from None


def _fill(reader: NumberbatchReader, uris: Sequence[str], part: Path, folder: Path, progress: Progress) -> None:
    exact_rows = _Rows(uris, len(uris))
    masked_rows = _Rows((masked(uri) for uri in uris), len(uris))
    levels = np.zeros(len(uris), np.uint8)  # 0: none, 1: by the masked name, 2: by the exact name
    matrix: NDArray[np.float16] | None = None
    number = 0
    for number, (line, uri) in enumerate(reader.candidates(), 1):
        if number % _PROGRESS_LINES == 0:
            progress(_PROGRESS_LINES, reader.bytes_read, reader.bytes_total)
        if matrix is None:
            matrix = _matrix(part, len(uris), reader.dimensions or 0)
        rows_of_term = [(row, 2) for row in exact_rows.of(uri)]
        if "#" in uri:
            rows_of_term += [(row, 1) for row in masked_rows.of(uri)]
        targets = [(row, level) for row, level in rows_of_term if levels[row] < level]
        if not targets:
            reader.drop("term already found" if rows_of_term else "term outside the graph")
            continue
        values = reader.values(line)
        if values is not None:
            reader.report.read += 1
            reader.report.kept += 1
            for row, level in targets:
                matrix[row] = values
                levels[row] = level
    if matrix is None or (len(uris) and not reader.report.kept):
        raise LoadError(nothing_kept(reader.source.name, reader.source.head, reader.kind, reader.report))
    progress(number % _PROGRESS_LINES, reader.bytes_read, reader.bytes_total)
    if isinstance(matrix, np.memmap):
        matrix.flush()
    _publish(reader, uris, matrix.shape, levels > 0, part, folder)


def _draft(what: str) -> str:
    """Return the name of a temporary file of this process."""
    return f"{what}-{os.getpid()}.part"


def _matrix(part: Path, rows: int, dimensions: int) -> NDArray[np.float16]:
    if rows == 0:
        part.touch()
        return np.zeros((0, dimensions), np.float16)
    with part.open("wb") as file:
        if hasattr(os, "posix_fallocate"):  # so that a full disk is an error here and not a crash when the map is written
            os.posix_fallocate(file.fileno(), 0, rows * dimensions * 2)
        else:
            file.truncate(rows * dimensions * 2)
    return np.memmap(part, np.float16, "r+", shape=(rows, dimensions))


def _publish(
    reader: NumberbatchReader, uris: Sequence[str], shape: tuple[int, ...], present: NDArray[np.bool_], part: Path, folder: Path
) -> None:
    """Move the finished files into place; the JSON file, replaced last, makes them current."""
    digest = uris_digest(uris)
    sha256 = reader.source.sha256 or ""
    key = hashlib.sha256(f"{_VERSION} {sha256} {digest}".encode()).hexdigest()[:16]
    meta: dict[str, Any] = {
        "version": _VERSION, "rows": shape[0], "dimensions": shape[1], "found": int(present.sum()),
        "file": Path(reader.path).name, "sha256": sha256, "uris_digest": digest,
        "matrix": f"vectors-{key}.f16", "present": f"vectors-{key}.bits",
        "uris": f"vectors-{key}.uris",
    }  # fmt: skip
    present_file, names_file, meta_file = (folder / _draft(what) for what in ("bits", "names", "facts"))
    present_file.write_bytes(np.packbits(present).tobytes())
    names_file.write_text("".join(f"{uri}\n" for uri in uris), encoding="utf-8")
    meta_file.write_bytes(orjson.dumps(meta, option=orjson.OPT_INDENT_2))
    part.replace(folder / meta["matrix"])
    present_file.replace(folder / meta["present"])
    names_file.replace(folder / meta["uris"])
    meta_file.replace(folder / _META)
    for old in folder.glob("vectors-*"):
        if old.suffix in {".f16", ".bits", ".uris"} and key not in old.name:
            old.unlink(missing_ok=True)


class _Rows:
    """Row numbers by the 64-bit hash of their URI, in two flat arrays."""

    def __init__(self, uris: Iterable[str | None], count: int) -> None:
        hashes = np.fromiter((hash64(uri) if uri else 0 for uri in uris), np.uint64, count)
        self._order = np.argsort(hashes, kind="stable").astype(np.uint32 if count < 1 << 32 else np.uint64)
        self._hashes = hashes[self._order]

    def of(self, uri: str) -> list[int]:
        """Return the rows of ``uri``, in ascending order."""
        value = np.uint64(hash64(uri))
        begin = int(np.searchsorted(self._hashes, value))
        end = begin
        while end < len(self._hashes) and self._hashes[end] == value:
            end += 1
        return [int(row) for row in self._order[begin:end]]
