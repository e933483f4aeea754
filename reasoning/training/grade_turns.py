"""Turns and what a frozen encoder says of each, kept on disk: a training that died, or another on the same turns, encodes nothing
twice. Two files grow at their end: vectors first, then the texts they belong to, so that a half-written end is seen and cut off.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from ..encoder import TextEncoder
from .loop import STATE

Halves = NDArray[np.float16]

_BLOCK = 2000


class TurnVectors:
    """Pooled vectors (:meth:`tacit.reasoning.encoder.TextEncoder.pooled`) in half precision, by text."""

    def __init__(self, folder: Path, width: int) -> None:
        """Open what ``folder`` holds; ``width`` numbers a text."""
        folder.mkdir(parents=True, exist_ok=True)
        self._vectors, self._texts, self._width = folder / "vectors.f16", folder / "texts.jsonl", width
        for path in (self._vectors, self._texts):
            path.touch()
        lines = self._texts.read_bytes()
        lines = lines[: lines.rfind(b"\n") + 1]
        texts = lines.splitlines()
        whole = min(len(texts), self._vectors.stat().st_size // (2 * width))
        self._rows: dict[str, int] = {orjson.loads(line): row for row, line in enumerate(texts[:whole])}
        os.truncate(self._vectors, whole * 2 * width)
        os.truncate(self._texts, sum(len(line) + 1 for line in texts[:whole]))
        self._count = whole

    def fill(self, texts: Sequence[str], encoder: TextEncoder, progress: Callable[[int], object] | None = None) -> None:
        """Encode what is not there yet; ``progress`` is told how many texts were brought."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._rows]
        with self._vectors.open("ab") as vectors, self._texts.open("ab") as lines:
            for start in range(0, len(fresh), _BLOCK):
                block = fresh[start : start + _BLOCK]
                vectors.write(encoder.pooled(block, keep=False, progress=progress).astype(np.float16).tobytes())
                vectors.flush()
                lines.write(b"".join(orjson.dumps(text) + b"\n" for text in block))
                lines.flush()
                for text in block:
                    self._rows[text] = self._count
                    self._count += 1

    def missing(self, texts: Sequence[str]) -> int:
        """Return how many distinct texts are not there yet."""
        return sum(text not in self._rows for text in dict.fromkeys(texts))

    def rows(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each text in :meth:`matrix`."""
        return np.array([self._rows[text] for text in texts], np.int64)

    def matrix(self) -> Halves:
        """Return all vectors, memory-mapped, shape (texts, width)."""
        if not self._count:
            return np.zeros((0, self._width), np.float16)
        return np.memmap(self._vectors, np.float16, "r", shape=(self._count, self._width))


def forget(folder: Path) -> None:
    """Delete the states and the turns that a training kept in ``folder``, and the folder when it holds nothing else."""
    if not folder.is_dir():
        return
    for inner in folder.iterdir():
        if inner.is_dir() and ((inner / STATE).is_file() or (inner / "vectors.f16").is_file()):
            shutil.rmtree(inner, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
