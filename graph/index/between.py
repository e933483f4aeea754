"""What connects two sets of nodes: direct arcs, and pairs of arcs that meet in a middle node.

Answers are *joints*: places in the sorted arc lists where one or more parallel arcs begin; chains are spelled out from them
(:mod:`tacit.graph.index.counts` counts without writing any down). For two hops the smaller side marks its neighbours and the
larger side is looked through, each of its nodes either by walking its arcs or, for a hub, by looking the marked nodes up in
them, whichever is less work.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .ascending import place_of
from .scratch import fresh_stamps


@njit(nogil=True, cache=True)
def first_arc(indptr, neighbour, node, other):  # type: ignore[no-untyped-def]
    """Return the place of the first arc from ``node`` to ``other``, -1 when there is none."""
    return place_of(neighbour, indptr[node], indptr[node + 1], other)


@njit(nogil=True, cache=True)
def parallel(indptr, neighbour, node, arc):  # type: ignore[no-untyped-def]
    """Return how many arcs, ``arc`` the first of them, join ``node`` to the same neighbour."""
    end = arc + 1
    while end < indptr[node + 1] and neighbour[end] == neighbour[arc]:
        end += 1
    return end - arc


@njit(nogil=True, cache=True)
def touching(indptr, neighbour, ones, twos):  # type: ignore[no-untyped-def]
    """Return the joints of one hop, shape (joints, 3): place in ``ones``, place in ``twos``, first arc in the former's list."""
    out = np.empty((len(ones) * len(twos), 3), np.int32)
    size = 0
    for i in range(len(ones)):
        for j in range(len(twos)):
            arc = first_arc(indptr, neighbour, ones[i], twos[j])
            if arc >= 0:
                out[size, 0], out[size, 1], out[size, 2] = i, j, arc
                size += 1
    return out[:size]


@njit(nogil=True, cache=True)
def meeting(indptr, neighbour, ones, twos, scratch):  # type: ignore[no-untyped-def]
    """Return the joints of two hops, shape (joints, 4): places in ``ones`` and ``twos``, first arcs in their lists.

    ``ones`` should be the side with fewer arcs. Equal ends are left out; the two arcs of a joint lead to the same middle.
    """
    mark, latest, middles = scratch.mark, scratch.value, scratch.here
    seen = fresh_stamps(mark, scratch.stamp, np.int64(0), np.int64(1))
    arcs = 0
    for one in ones:
        arcs += indptr[one + 1] - indptr[one]
    owner, place, before = np.empty(arcs, np.int32), np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    entries, found = 0, 0
    for i in range(len(ones)):
        previous = -1
        for arc in range(indptr[ones[i]], indptr[ones[i] + 1]):
            middle = neighbour[arc]
            if middle == previous:
                continue
            previous = middle
            if mark[middle] != seen:
                mark[middle] = seen
                latest[middle] = -1
                middles[found] = middle
                found += 1
            owner[entries], place[entries], before[entries] = i, arc, latest[middle]
            latest[middle] = entries
            entries += 1
    out = np.empty((64, 4), np.int32)
    size = 0
    for j in range(len(twos)):
        two = twos[j]
        start, end = indptr[two], indptr[two + 1]
        look_up = found * 8 < end - start
        previous = -1
        for step in range(found if look_up else end - start):
            arc = first_arc(indptr, neighbour, two, middles[step]) if look_up else start + step
            if arc < 0:
                continue
            middle = neighbour[arc]
            if middle == previous or mark[middle] != seen:
                continue
            previous = middle
            entry = latest[middle]
            while entry >= 0:
                if ones[owner[entry]] != two:
                    if size == len(out):
                        larger = np.empty((2 * size, 4), np.int32)
                        for row in range(size):
                            for column in range(4):
                                larger[row, column] = out[row, column]
                        out = larger
                    out[size, 0], out[size, 1], out[size, 2], out[size, 3] = owner[entry], j, place[entry], arc
                    size += 1
                entry = before[entry]
    return out[:size]


@njit(nogil=True, cache=True)
def spell(indptr, neighbour, ones, twos, joints):  # type: ignore[no-untyped-def]
    """Return every chain of the joints: shape (chains, joints.shape[1]), as joints but each with one arc of the parallel ones."""
    total = 0
    for number in range(len(joints)):
        many = parallel(indptr, neighbour, ones[joints[number, 0]], joints[number, 2])
        if joints.shape[1] == 4:
            many *= parallel(indptr, neighbour, twos[joints[number, 1]], joints[number, 3])
        total += many
    out = np.empty((total, joints.shape[1]), np.int32)
    size = 0
    for number in range(len(joints)):
        joint = joints[number]
        many = parallel(indptr, neighbour, ones[joint[0]], joint[2])
        further = parallel(indptr, neighbour, twos[joint[1]], joint[3]) if joints.shape[1] == 4 else 1
        for near in range(many):
            for far in range(further):
                for column in range(len(joint)):
                    out[size, column] = joint[column]
                out[size, 2] += near
                if joints.shape[1] == 4:
                    out[size, 3] += far
                size += 1
    return out
