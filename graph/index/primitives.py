"""Shared parts of the kernels: reusable scratch memory, a bounded heap, binary search, prefetching, and threads over many rows.

A search on a large graph visits a few hundred nodes; clearing an array of a million entries before it would cost more than the
search. So marks are stamped with a number that is new for each search, and a pool keeps scratch memory between searches.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ..compiling import compiled

Ints = NDArray[np.int32]

_LAST_STAMP = 2_000_000_000  # after it, the marks are cleared and stamps start from 1 again
_MIN_ROWS_PER_THREAD = 2_000  # with fewer, starting a thread costs more than it saves


class Scratch(NamedTuple):
    """Memory for one search at a time, each array of shape (nodes,) unless noted."""

    # mark, other_mark: stamps of visited nodes
    mark: Ints
    other_mark: Ints
    stamp: Ints  # shape (2,), the last stamp used in each of them
    # here, there: queues of nodes
    here: Ints
    there: Ints
    value: Ints  # a value per node, valid where the node is marked


def new_scratch(nodes: int) -> Scratch:
    """Return zeroed memory for a graph of ``nodes``; the system allocates its pages on first use."""
    mark, other_mark, here, there, value = (np.zeros(nodes, dtype=np.int32) for _ in range(5))
    return Scratch(mark, other_mark, np.zeros(2, dtype=np.int32), here, there, value)


class ScratchPool:
    """Thread-safe pool of scratch memory; holds as many pieces as were ever in use at once."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._free: list[Scratch] = []
        self._lock = threading.Lock()

    @contextmanager
    def lend(self) -> Iterator[Scratch]:
        """Lend one piece for a ``with`` block."""
        with self._lock:
            scratch = self._free.pop() if self._free else None
        scratch = scratch or new_scratch(self._nodes)
        yield scratch  # not returned to the pool after an error, since its state is unknown
        with self._lock:
            self._free.append(scratch)


@compiled
def fresh_stamps(mark, stamp, which, width):  # type: ignore[no-untyped-def]
    """Return the first of ``width`` consecutive stamps that do not occur in ``mark``."""
    if stamp[which] > _LAST_STAMP:
        mark[:] = 0
        stamp[which] = 0
    first = stamp[which] + np.int32(1)
    stamp[which] += np.int32(width)
    return first


def run_parallel(rows: int, work: Callable[[slice], None]) -> None:
    """Call ``work`` on slices that together make ``range(rows)``, in parallel on as many cores as are worthwhile.

    The rows must be independent of each other.
    """
    parts = max(1, min(_cores(), rows // _MIN_ROWS_PER_THREAD))
    slices = [slice(rows * part // parts, rows * (part + 1) // parts) for part in range(parts)]
    errors: list[BaseException] = []

    def run_part(part: slice) -> None:
        try:
            work(part)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run_part, args=(part,), daemon=True) for part in slices[1:]]
    for thread in threads:
        thread.start()
    run_part(slices[0])
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@compiled
def push_bounded(heap, size, key):  # type: ignore[no-untyped-def]
    """Add ``key`` to ``heap``, a max-heap of the ``len(heap)`` least keys seen, ``size`` of them filled; return the new size."""
    if size < len(heap):
        slot = size
        while slot > 0 and heap[(slot - 1) >> 1] < key:
            heap[slot] = heap[(slot - 1) >> 1]
            slot = (slot - 1) >> 1
        heap[slot] = key
        return size + 1
    if size == 0 or key >= heap[0]:
        return size
    slot = 0
    while True:
        child = 2 * slot + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[slot] = heap[child]
        slot = child
    heap[slot] = key
    return size


@compiled
def sort_key(strength, rank, strongest):  # type: ignore[no-untyped-def]
    """Return an integer that sorts by strength descending, then by rank."""
    return np.int64(strongest - strength) << np.int64(32) | np.int64(rank)


@compiled
def position_of(ascending, low, high, value):  # type: ignore[no-untyped-def]
    """Return the first index of ``value`` in ``ascending[low:high]`` by binary search, -1 when it is absent."""
    last = high
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < last and ascending[low] == value else -1


# Prefetching: the labels of random pairs are at random places of arrays larger than any cache, so most time would be spent on
# cache misses, one pair after another. Prefetching the labels of later pairs makes these misses overlap.


def _prefetch(_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        llvm_prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], function_type)
        for_reading, keep_in_caches, data_cache = word(0), word(3), word(1)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(llvm_prefetch, [address, for_reading, keep_in_caches, data_cache])
        return context.get_dummy_value()

    return types.void(array, index), generate


# ``prefetch(array, index)``: prefetch the cache line of ``array[index]``; the array has one dimension, any index is safe.
prefetch: Any = intrinsic(_prefetch)
