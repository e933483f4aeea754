"""Shared parts of loading into the stores: checks of rows, detection of duplicates, the manifest, and the GC threshold.

Assertions are identified by 64-bit fingerprints, nodes by 64-bit hashes, both in sorted arrays with 8 bytes each, so that
millions of them take little memory.
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
from .links import LINK_RELATIONS
from .model import Assertion, LoadEntry, Manifest
from .names import MAX_URI, check_relation, is_too_long, label_of

Numbers = NDArray[np.int64]

_SHORT = MAX_URI // 4  # most characters that are within MAX_URI bytes for certain
_LARGEST_RANK = 2**63 - 1
_GC_THRESHOLD = 1_000_000
"""New objects between two collections of the youngest generation during bulk work."""

_lock = threading.Lock()
_active: list[tuple[int, int, int]] = []
"""For each active block of :func:`rare_cycle_search`, in any thread: the thresholds before the first of them."""


class Numbered(NamedTuple):
    """A batch of assertions that are distinct from each other and from all before them."""

    rows: list[Assertion]  # the assertions
    # ids, contents: their fingerprints, in the same order
    ids: list[int]
    contents: list[int]
    duplicates: int  # number of rows that were left out since the previous batch


class Known:
    """A growing set of 64-bit integers: a few sorted arrays, each at least twice as long as the next."""

    def __init__(self) -> None:
        self._runs: list[Numbers] = []

    def add(self, numbers: Numbers) -> None:
        """Add ``numbers``, in any order; none of them may be in the set."""
        run = np.sort(numbers)
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")
        if len(run):
            self._runs.append(run)

    def take(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return which of ``numbers`` are new (of equal ones the first), and add them."""
        new = np.zeros(len(numbers), dtype=np.bool_)
        new[np.unique(numbers, return_index=True)[1]] = True
        for run in self._runs:
            positions = np.minimum(np.searchsorted(run, numbers), len(run) - 1)
            new &= run[positions] != numbers
        self.add(numbers[new])
        return new

    def holds(self, number: int) -> bool:
        """Return whether ``number`` is in the set."""
        for run in self._runs:
            position = int(np.searchsorted(run, number))
            if position < len(run) and int(run[position]) == number:
                return True
        return False


def new_assertions(
    rows: Iterable[Assertion], known: Known, size: int, progress: Callable[[int], None] | None = None
) -> Iterator[Numbered]:
    """Yield the rows that are not in ``known``, from ``size`` rows at a time, and add their identities to it.

    ``progress`` is called with the number of rows read since its last call. An invalid row raises :class:`InputError`.
    """
    stream, relations = iter(rows), set[str]()
    while batch := [row if _is_surely_valid(row, relations) else checked(row) for row in islice(stream, size)]:
        relations.update(row.relation for row in batch)
        fingerprints = [row.fingerprint() for row in batch]
        ids = np.fromiter((identity for identity, _ in fingerprints), dtype=np.int64, count=len(batch))
        new = np.flatnonzero(known.take(ids)).tolist()
        contents = [fingerprints[index][1] for index in new]
        yield Numbered([batch[index] for index in new], ids[new].tolist(), contents, len(batch) - len(new))
        if progress:
            progress(len(batch))


def _is_surely_valid(row: Assertion, relations: set[str]) -> bool:
    """Return whether ``row`` is valid for certain; a fast test that most rows pass."""
    return (
        row[1] in relations
        and row[0][:3] == row[2][:3] == "/c/"
        and type(row[3]) is float
        and 0.0 <= row[3] < math.inf
        and row[10] is row[11] is None
        and len(row[0]) <= _SHORT >= len(row[2])
    )


def checked(row: Assertion) -> Assertion:
    """Return ``row`` with its numbers as plain ``float`` and ``int``, or raise :class:`InputError` for an invalid one."""
    if check_relation(row.relation) in LINK_RELATIONS:
        raise InputError(f"the relation {row.relation} is kept for links; load the assertions under another name")
    if label_of(row.head) != label_of(row.tail) or not row.head or not row.tail:
        raise InputError(f"{row.head!r} and {row.tail!r} cannot be connected; an assertion connects two concepts or two events")
    for uri in (row.head, row.tail):
        if is_too_long(uri):
            raise InputError(f"{uri[:60]!r}… cannot be stored: it has {len(uri.encode()):,} bytes, the maximum is {MAX_URI:,}")
    if not (math.isfinite(row.weight) and row.weight >= 0):
        raise InputError(
            f"a weight of {row.weight} cannot be stored; weights must be finite and >= 0 ({row.head} {row.relation})"
        )
    if row.score is not None and not math.isfinite(row.score):
        raise InputError(f"a score of {row.score} cannot be stored; scores must be finite ({row.head} {row.relation})")
    if row.rank is not None and not 0 <= row.rank <= _LARGEST_RANK:
        raise InputError(f"a rank of {row.rank} cannot be stored; ranks must be >= 0 ({row.head} {row.relation})")
    if type(row.weight) is not float or row.rank is not None or row.score is not None:
        row = row._replace(
            weight=float(row.weight),
            rank=None if row.rank is None else int(row.rank),
            score=None if row.score is None else float(row.score),
        )
    return row


def properties(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as ``loads`` (JSON), ``assertions`` and ``checksum`` (32 hex digits)."""
    loads = json.dumps([asdict(entry) for entry in manifest.loads], ensure_ascii=False, sort_keys=True)
    return {"loads": loads, "assertions": manifest.assertions, "checksum": f"{manifest.checksum:032x}"}


def from_row(row: Sequence[Any]) -> Manifest:
    """Return the manifest with these ``(loads, assertions, checksum)``, as written by :func:`properties`."""
    try:
        loads, assertions, checksum = row
        return Manifest(tuple(map(LoadEntry.from_row, json.loads(loads))), int(assertions), int(checksum, 16))
    except (AttributeError, TypeError, ValueError) as error:
        raise GraphError(
            f"the graph's manifest cannot be read ({error}); load the graph again with this version of tacit"
        ) from error


def with_entry(manifest: Manifest, entry: LoadEntry) -> Manifest:
    """Return ``manifest`` with ``entry`` appended, or in place of the earlier entry of the same load."""

    def key(load: LoadEntry) -> tuple[Any, ...]:
        return load.loader, load.sha256, json.dumps(load.options, sort_keys=True)

    entry = LoadEntry.from_row(json.loads(json.dumps(asdict(entry))))
    if any(key(load) == key(entry) for load in manifest.loads):
        return replace(manifest, loads=tuple(entry if key(load) == key(entry) else load for load in manifest.loads))
    return replace(manifest, loads=(*manifest.loads, entry))


def with_assertions(manifest: Manifest, contents: Sequence[int]) -> Manifest:
    """Return ``manifest`` after more assertions with these content fingerprints."""
    checksum = (manifest.checksum + sum(contents)) % 2**128
    return replace(manifest, assertions=manifest.assertions + len(contents), checksum=checksum)


@contextmanager
def rare_cycle_search() -> Iterator[None]:
    """Raise the GC threshold during bulk work; restore it when the last of concurrent blocks ends.

    Rows of a load and parses of a batch hold texts and numbers, rarely each other, so the collector's searches for reference
    cycles find almost nothing, while they go through all other live objects, models included: a sixth of the time of a load, a
    twentieth of that of scoring. Collections still happen, since the source of the rows may create cycles.
    """
    with _lock:
        thresholds = _active[0] if _active else gc.get_threshold()
        _active.append(thresholds)
        if thresholds[0]:
            gc.set_threshold(max(thresholds[0], _GC_THRESHOLD), *thresholds[1:])
    try:
        yield
    finally:
        with _lock:
            _active.pop()
            if not _active:
                gc.set_threshold(*thresholds)
