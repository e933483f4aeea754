"""Associations between terms of successive turns: a weighted graph of ``FollowedBy`` edges, as memory-mapped arrays.

An edge's weight is the pointwise mutual information (Church & Hanks, 1990), in nats, of its first term in a turn and its second
in the next turn: how much more often they occur together than by chance. The graph has only edges well above chance. Edges are
stored as compressed sparse rows, sorted by successor; term ids come from a static trie. Processes share the mapped memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import ModelError
from ...lru_cache import LruCache

RELATION = "FollowedBy"
TERMS = "terms.marisa"
ARRAYS: Mapping[str, tuple[type, ...]] = {
    "offsets": (np.uint32,), "targets": (np.uint16, np.uint32), "weights": (np.float16,),
}  # fmt: skip
FILES = (TERMS, *(f"{name}.npy" for name in ARRAYS))
"""The names of a graph's files, in the order of its digest."""
LEAST_COUNT = 3

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


class AssociationGraph:
    """A graph on disk, opened for reading; thread-safe.

    Args:
        folder: holds :data:`FILES`.

    Raises:
        ModelError: it is incomplete or damaged.
    """

    def __init__(self, folder: Path) -> None:
        try:
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS}
            self._trie = self._open_trie(folder / TERMS)
        except (OSError, EOFError, ValueError, RuntimeError) as error:
            raise ModelError(
                f"the associations in {str(folder)!r} cannot be read ({error}); train or fetch them again"
            ) from error
        # Plain arrays over the same memory: slicing a memmap costs more than the look-up.
        self._offsets, self._targets, self._weights = (np.asarray(arrays[name]) for name in ARRAYS)
        if not self._fits(arrays):
            raise ModelError(f"the associations in {str(folder)!r} do not fit together; train or fetch them again")

    @staticmethod
    def _open_trie(path: Path) -> Any:
        import marisa_trie

        return marisa_trie.Trie().mmap(str(path))

    def _fits(self, arrays: Mapping[str, NDArray[Any]]) -> bool:
        """Return whether the arrays have the expected shapes and types."""
        typed = all(array.ndim == 1 and array.dtype.type in ARRAYS[name] for name, array in arrays.items())
        rows = len(self._trie) + 1
        return typed and len(self._offsets) == rows and len(self._targets) == len(self._weights) == int(self._offsets[-1])

    def __len__(self) -> int:
        """Number of terms."""
        return len(self._trie)

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self._targets)

    def ids(self, terms: Sequence[str]) -> Ids:
        """Return the id of each term, -1 for an unknown one."""
        return np.array([self._trie.get(term, -1) for term in terms], dtype=np.int64)

    def name(self, number: int) -> str:
        """Return the term with an id."""
        return str(self._trie.restore_key(int(number)))

    def between(self, sources: Ids, targets: Ids) -> Floats:
        """Return the weight of the edge from each source to each target, 0 where there is none, shape (sources, targets)."""
        result = np.zeros((len(sources), len(targets)), dtype=np.float32)
        sought = targets.astype(self._targets.dtype)
        for row, source in enumerate(sources.tolist()):
            start, end = int(self._offsets[source]), int(self._offsets[source + 1])
            if start == end:
                continue
            successors = self._targets[start:end]
            indices = successors.searchsorted(sought)
            indices[indices == end - start] = 0
            (present,) = (successors[indices] == sought).nonzero()
            if len(present):
                result[row, present] = self._weights[start:end][indices[present]]
        return result

    def following(self, term: str, limit: int = 10) -> list[tuple[str, float]]:
        """Return the strongest successors of ``term`` with the weights of the edges, strongest first."""
        number = self._trie.get(term, -1)
        if number < 0:
            return []
        span = slice(int(self._offsets[number]), int(self._offsets[number + 1]))
        edges = zip(self._weights[span].tolist(), (self.name(target) for target in self._targets[span]), strict=True)
        return [(name, weight) for weight, name in sorted(edges, key=lambda edge: (-edge[0], edge[1]))[:limit]]


def write_graph(folder: Path, terms: Sequence[str], edges: tuple[Ids, Ids, Floats]) -> None:
    """Write a graph of distinct ``terms`` to ``folder``; ``edges``: indices of sources and targets, and weights, each edge
    once."""
    import marisa_trie

    trie = marisa_trie.Trie(list(terms))
    number = np.array([trie[term] for term in terms], dtype=np.int64)
    sources, targets = number[edges[0]], number[edges[1]]
    order = np.lexsort((targets, sources))
    offsets = np.zeros(len(terms) + 1, dtype=np.uint32)
    np.cumsum(np.bincount(sources, minlength=len(terms)), out=offsets[1:])
    small = np.uint16 if len(terms) <= 1 << 16 else np.uint32
    trie.save(str(folder / TERMS))
    arrays: tuple[NDArray[Any], ...] = (offsets, targets[order].astype(small), edges[2][order].astype(np.float16))
    for name, array in zip(ARRAYS, arrays, strict=True):
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


# Terms of a turn: its words and pairs of adjacent words, in lower case, with their offsets.
#
# A word is a run of letters and digits of any script, with English clitics attached: ``don't``, ``do n't`` and ``Don ’ t`` are
# all ``don't``, since dialogue corpora are tokenised in different ways.

_WORD = re.compile(
    r"[^\W_]+?(?: ?n ?['’] ?t(?![^\W_])| ?['’] ?(?:s|t|d|m|ll|re|ve)(?![^\W_])|(?![^\W_]))", re.IGNORECASE | re.UNICODE
)
_APART = str.maketrans({"’": "'", " ": None})
_CACHED_TEXTS = 5_000
_LONGEST_CACHED = 1_000  # characters of a text


class Term(NamedTuple):
    """A word, or two separated by a space, and its character offsets in the text."""

    text: str
    start: int
    end: int


_words: LruCache[str, tuple[Term, ...]] = LruCache(_CACHED_TEXTS)


def words_of(text: str) -> list[Term]:
    """Return the words of a text from left to right, with repetitions; cached for the last few thousand texts."""
    words = _words.get(text)
    if words is None:
        words = tuple(Term(match[0].translate(_APART).lower(), *match.span()) for match in _WORD.finditer(text))
        if len(text) <= _LONGEST_CACHED:
            _words.put(text, words)
    return list(words)


def terms_of(text: str) -> list[Term]:
    """Return the distinct terms of a text at their first positions: words, then pairs, from left to right."""
    words = words_of(text)
    pairs = (
        Term(f"{first_word.text} {second_word.text}", first_word.start, second_word.end)
        for first_word, second_word in pairwise(words)
    )
    first: dict[str, Term] = {}
    for term in (*words, *pairs):
        first.setdefault(term.text, term)
    return list(first.values())
