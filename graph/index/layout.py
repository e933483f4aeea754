"""The files of an index: a JSON header with the table of arrays, one file with every array, one trie of names.

The arrays are memory-mapped read-only, so all processes on a machine share the same pages. The header, written last, holds
checksums of the files and of itself (:mod:`tacit.graph.storage`), and the whole folder is moved into place by one rename, so an
index is either complete or absent.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..storage import unseal, verified_whole

KIND = "index"
FORMAT = 3
ARRAYS = "arrays.bin"
NAMES = "names.marisa"

_ALIGNMENT = 64

Arrays = dict[str, NDArray[Any]]


def write_arrays(directory: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, list[Any]]:
    """Write ``arrays`` into ``directory`` and return the table of types, shapes and offsets for :func:`map_arrays`."""
    table: dict[str, list[Any]] = {}
    with (directory / ARRAYS).open("wb") as file:
        file.write(b"tacit index\n")
        for name, array in arrays.items():
            file.write(b"\0" * (-file.tell() % _ALIGNMENT))
            table[name] = [array.dtype.str, list(array.shape), file.tell()]
            file.write(np.ascontiguousarray(array).data)
    return table


def open_arrays(directory: Path, *, digest: str | None = None, whole: bool | None = None) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of the index in ``directory``, verified by :func:`tacit.graph.storage.unseal`.

    The bounds of arrays whose checksum is not verified are checked, so that no search reads outside an array.
    """
    header = unseal(directory, KIND, FORMAT, digest=digest, whole=whole)
    arrays = map_arrays(directory, header["arrays"])
    if whole or not verified_whole(header):
        problem = out_of_bounds(arrays, len(header["relations"]))
        if problem:
            advice = "delete it, and it is built again when the graph is next used"
            raise GraphError(f"the index at {directory} is damaged ({problem}); {advice}")
    return header, arrays


def out_of_bounds(arrays: Arrays, relations: int) -> str | None:
    """Return which array has values outside the bounds of another one; None when there is none."""
    nodes, arcs = len(arrays["rank"]), len(arrays["neighbour"])
    shapes = {
        "indptr": (nodes + 1,), "relation": (arcs,), "weight": (arcs,), "provenance": (arcs,), "node_of_key": (nodes,),
        "key_of_rank": (nodes,), "label_start": (nodes + 1, 3),
    }  # fmt: skip
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            return f"{name} has the shape {arrays[name].shape}, not {shape}"
    if len(arrays["root"]) != nodes or arrays["near"].shape != (*arrays["root"].shape, 2):
        return "root and near have wrong shapes"
    for name, bound in (("indptr", arcs), ("label_start", len(arrays["label"])), ("text_start", len(arrays["text"]))):
        starts = arrays[name].reshape(-1)
        if len(starts) and (starts[0] < 0 or starts[-1] > bound or (np.diff(starts) < 0).any()):
            return f"{name} does not ascend from 0 to {bound}"
    texts = len(arrays["text_start"]) - 1
    for name, bound in (
        ("neighbour", nodes), ("relation", 2 * relations), ("weight", len(arrays["weights"])), ("rank", nodes),
        ("provenance", len(arrays["provenance_texts"])), ("node_of_key", nodes), ("key_of_rank", nodes),
        ("provenance_texts", texts),
    ):  # fmt: skip
        array = arrays[name]
        if array.size and (array.min() < 0 or array.max() >= bound):
            return f"{name} holds a number outside 0..{bound - 1}"
    return None


def map_arrays(directory: Path, table: Mapping[str, list[Any]]) -> Arrays:
    """Return read-only views of the arrays that the header's ``table`` names, backed by one memory map."""
    with (directory / ARRAYS).open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays: Arrays = {}
    for name, (dtype, shape, offset) in table.items():
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(memory, dtype=dtype, count=count, offset=offset if count else 0).reshape(shape)
    return arrays


def narrowest(largest: int) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds ``largest``."""
    return np.dtype(np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32)
