"""Embeddings of a graph's texts, stored in one file per encoder beside the graph: half precision, memory-mapped.

A file maps texts to vectors, so it stays valid when the graph changes: texts of the new graph that it holds are not encoded
again. Files are replaced atomically; of two processes that add at once one wins, and the other's texts are encoded again when
they are next needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...graph.atomic import write_file
from .encoder import TextEncoder
from .modelfile import map_arrays, pack

Vectors = NDArray[np.float32]

_BATCH = 4096
_TENSOR = "vectors"
_TEXTS = "texts"


class VectorCache:
    """The stored vectors of one encoder in the folder ``home``."""

    def __init__(self, home: Path, encoder: TextEncoder) -> None:
        self.encoder = encoder
        self.path = home / f"vectors-{re.sub(r'[^A-Za-z0-9.]+', '-', encoder.signature)}.safetensors"
        self._rows: dict[str, int] = {}
        self._vectors: NDArray[np.float16] = np.zeros((0, encoder.dimension), dtype=np.float16)
        self._open()

    def __len__(self) -> int:
        return len(self._rows)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Return the distinct texts without a stored vector."""
        return [text for text in dict.fromkeys(texts) if text not in self._rows]

    def add(self, texts: Sequence[str], progress: Callable[[int], object] | None = None) -> None:
        """Encode and store those of ``texts`` that are missing; in memory only where the file cannot be written."""
        fresh = sorted(self.missing(texts), key=lambda text: (len(text), text))
        if not fresh:
            return
        parts = [np.asarray(self._vectors)]
        for start in range(0, len(fresh), _BATCH):
            pooled = self.encoder.pooled(fresh[start : start + _BATCH], keep=False, progress=progress)
            parts.append(self.encoder.sentences(pooled).astype(np.float16))
        known = [*self._rows, *fresh]
        vectors = np.concatenate(parts)
        try:
            self._write(known, vectors)
            self._open()
        except OSError:
            self._rows, self._vectors = {text: row for row, text in enumerate(known)}, vectors

    def known(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of stored texts, shape (texts, dimension)."""
        rows = np.fromiter((self._rows[text] for text in texts), dtype=np.int64, count=len(texts))
        return self._vectors[rows].astype(np.float32)

    def __getitem__(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of ``texts``, shape (texts, dimension); missing ones are encoded with the same rounding."""
        absent = self.missing(texts)
        if not absent:
            return self.known(texts)
        fresh = dict(zip(absent, self.encoder.encode(absent).astype(np.float16).astype(np.float32), strict=True))
        result = np.empty((len(texts), self.encoder.dimension), dtype=np.float32)
        here = [index for index, text in enumerate(texts) if text not in fresh]
        if here:
            result[here] = self.known([texts[index] for index in here])
        for index, text in enumerate(texts):
            if text in fresh:
                result[index] = fresh[text]
        return result

    def _open(self) -> None:
        """Map the file; a missing or broken one counts as empty."""
        try:
            arrays = map_arrays(self.path)
            vectors, texts = arrays[_TENSOR], arrays[_TEXTS].tobytes().decode("utf-8").split("\n")[:-1]
        except (OSError, ValueError, KeyError, TypeError):
            return
        if vectors.shape == (len(texts), self.encoder.dimension):
            self._rows, self._vectors = {text: row for row, text in enumerate(texts)}, vectors

    def _write(self, texts: Sequence[str], vectors: NDArray[np.float16]) -> None:
        """Write the file, replaced atomically."""
        data = "".join(f"{text}\n" for text in texts).encode("utf-8")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_file(self.path, pack({_TENSOR: vectors, _TEXTS: np.frombuffer(data, dtype=np.uint8)}))
