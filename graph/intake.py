"""What every load does before a store is touched: check rows, leave out what is there already, and sum up what is new.

Assertions are known by their 64-bit identities, nodes by 64-bit hashes, both in sorted arrays: 8 bytes each, so that millions
are known in little memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .model import Assertion
from .names import MAX_URI, check_relation, is_too_long, label_of

Numbers = NDArray[np.int64]

_SHORT = MAX_URI // 4  # characters that never make too many bytes
_LARGEST_RANK = 2**63 - 1


class Numbered(NamedTuple):
    """Assertions that are different from each other and from all before them.

    Attributes:
        rows: the assertions; ids, contents: their fingerprints, in the same order.
        duplicates: how many rows were left out since the batch before.
    """

    rows: list[Assertion]
    ids: list[int]
    contents: list[int]
    duplicates: int


class Known:
    """A growing set of 64-bit numbers: a few sorted arrays, each at least twice as long as the next."""

    def __init__(self) -> None:
        self._runs: list[Numbers] = []

    def add(self, numbers: Numbers) -> None:
        """Add ``numbers``, in any order, none of them known."""
        run = np.sort(numbers)
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if len(run):
            self._runs.append(run)

    def take(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return which of ``numbers`` are new (of equal ones the first), and know them from now on."""
        new = np.zeros(len(numbers), dtype=np.bool_)
        new[np.unique(numbers, return_index=True)[1]] = True
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, numbers), len(run) - 1)
            new &= run[places] != numbers
        self.add(numbers[new])
        return new

    def __len__(self) -> int:
        return sum(map(len, self._runs))


def new_assertions(
    rows: Iterable[Assertion], known: Known, size: int, progress: Callable[[int], None] | None = None
) -> Iterator[Numbered]:
    """Yield the rows that are not known yet, from ``size`` rows at a time; ``progress`` is told how many were read.

    Raises:
        InputError: a row is not an assertion that a graph can hold.
    """
    stream, relations = iter(rows), set[str]()
    while batch := [row if _plain(row, relations) else checked(row) for row in islice(stream, size)]:
        relations.update(row.relation for row in batch)
        fingerprints = [row.fingerprint() for row in batch]
        ids = np.fromiter((identity for identity, _ in fingerprints), dtype=np.int64, count=len(batch))
        new = np.flatnonzero(known.take(ids)).tolist()
        contents = [fingerprints[place][1] for place in new]
        yield Numbered([batch[place] for place in new], ids[new].tolist(), contents, len(batch) - len(new))
        if progress:
            progress(len(batch))


def _plain(row: Assertion, relations: set[str]) -> bool:
    """Whether ``row`` is certainly well-formed: the common case, told at a glance."""
    return (
        row[1] in relations
        and row[0][:3] == row[2][:3] == "/c/"
        and type(row[3]) is float
        and 0.0 <= row[3] < math.inf
        and row[10] is row[11] is None
        and len(row[0]) <= _SHORT >= len(row[2])
    )


def checked(row: Assertion) -> Assertion:
    """Return ``row`` with its numbers as plain ``float`` and ``int``.

    Raises:
        InputError: a weight that is no number from 0 up, a rank or score that is none, nodes of two labels, a URI that is too
            long, or a malformed relation name.
    """
    check_relation(row.relation)
    if label_of(row.head) != label_of(row.tail) or not row.head or not row.tail:
        raise InputError(f"{row.head!r} and {row.tail!r} cannot be joined; an assertion joins two concepts or two events")
    for uri in (row.head, row.tail):
        if is_too_long(uri):
            raise InputError(
                f"{uri[:60]!r}… cannot be stored: a URI may have {MAX_URI:,} bytes, and this has {len(uri.encode()):,}"
            )
    if not (math.isfinite(row.weight) and row.weight >= 0):
        raise InputError(
            f"a weight of {row.weight} cannot be stored; weights are finite and not negative ({row.head} {row.relation})"
        )
    if row.score is not None and not math.isfinite(row.score):
        raise InputError(f"a score of {row.score} cannot be stored; scores are finite ({row.head} {row.relation})")
    if row.rank is not None and not 0 <= row.rank <= _LARGEST_RANK:
        raise InputError(f"a rank of {row.rank} cannot be stored; ranks count from 0 ({row.head} {row.relation})")
    if type(row.weight) is not float or row.rank is not None or row.score is not None:
        row = row._replace(
            weight=float(row.weight),
            rank=None if row.rank is None else int(row.rank),
            score=None if row.score is None else float(row.score),
        )
    return row
