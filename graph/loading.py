"""What every load does before a store is touched: check rows, leave out what is there already, and sum up what is new.

Assertions are known by their 64-bit identities, nodes by 64-bit hashes, both in sorted arrays: 8 bytes each, so that millions
are known in little memory.
"""

from __future__ import annotations

import gc
import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import GraphError, InputError
from .model import Assertion, LoadEntry, Manifest
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


# The manifest as a graph keeps it: from the dataclass to the properties of one node and back, and what a load adds to it.


def properties(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as ``loads`` (JSON), ``assertions`` and ``checksum`` (32 hex digits)."""
    loads = json.dumps([asdict(entry) for entry in manifest.loads], ensure_ascii=False, sort_keys=True)
    return {"loads": loads, "assertions": manifest.assertions, "checksum": f"{manifest.checksum:032x}"}


def from_row(row: Sequence[Any]) -> Manifest:
    """Return the manifest that ``(loads, assertions, checksum)`` tell.

    Raises:
        GraphError: they cannot be read.
    """
    try:
        loads, assertions, checksum = row
        return Manifest(tuple(LoadEntry(**entry) for entry in json.loads(loads)), int(assertions), int(checksum, 16))
    except (TypeError, ValueError) as error:
        raise GraphError(
            f"the graph's manifest cannot be read ({error}); load the graph again with this version of tacit"
        ) from error


def with_entry(manifest: Manifest, entry: LoadEntry) -> Manifest:
    """Return ``manifest`` with ``entry`` at the end, or in the place of the same load's former entry."""

    def key(load: LoadEntry) -> tuple[Any, ...]:
        return load.loader, load.sha256, json.dumps(load.options, sort_keys=True)

    entry = LoadEntry(**json.loads(json.dumps(asdict(entry))))
    if any(key(load) == key(entry) for load in manifest.loads):
        return replace(manifest, loads=tuple(entry if key(load) == key(entry) else load for load in manifest.loads))
    return replace(manifest, loads=(*manifest.loads, entry))


def with_assertions(manifest: Manifest, contents: Sequence[int]) -> Manifest:
    """Return ``manifest`` after more assertions, given by the contents of their fingerprints."""
    checksum = (manifest.checksum + sum(contents)) % 2**128
    return replace(manifest, assertions=manifest.assertions + len(contents), checksum=checksum)


# Searching for reference cycles less often while much is made at once: millions of rows of a load, parses of a batch.
#
# Rows and parses hold texts and numbers, seldom each other, so the search that Python makes after every few hundred new objects
# finds nothing and walks through all that is open besides, models too: a sixth of the time of a load, a twentieth of that of
# scoring. It is made rarely, not never, since whoever hands in the rows may leave cycles behind.

_NEW_OBJECTS = 1_000_000

_lock = threading.Lock()
_inside: list[tuple[int, int, int]] = []
"""What held before the first of the blocks that are being run, once for each of them, whichever thread it is in."""


@contextmanager
def rare_cycle_search() -> Iterator[None]:
    """Search once in a million new objects inside the ``with`` block; as often as before once every such block is left."""
    with _lock:
        before = _inside[0] if _inside else gc.get_threshold()
        _inside.append(before)
        if before[0]:
            gc.set_threshold(max(before[0], _NEW_OBJECTS), *before[1:])
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                gc.set_threshold(*before)
