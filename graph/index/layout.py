"""The files of an index: one header (JSON) that says what lies where, one file with every array, one trie of names.

The arrays are memory-mapped read-only, so opening costs a header and two maps whatever the size, and every process on a machine
shares the same pages. A header is written last and the whole folder is moved into place by one rename, so an index either is
there and whole, or is not there.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError, GraphNotFound

FORMAT = 2
HEADER = "header.json"
ARRAYS = "arrays.bin"
NAMES = "names.marisa"

_ALIGNMENT = 64

Arrays = dict[str, NDArray[Any]]


def write_arrays(directory: Path, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Write ``arrays`` and then ``header`` into ``directory``; the names file must be there already."""
    table: dict[str, list[Any]] = {}
    with (directory / ARRAYS).open("wb") as file:
        file.write(b"tacit index\n")
        for name, array in arrays.items():
            file.write(b"\0" * (-file.tell() % _ALIGNMENT))
            table[name] = [array.dtype.str, list(array.shape), file.tell()]
            file.write(np.ascontiguousarray(array).data)
    sizes = {name: (directory / name).stat().st_size for name in (ARRAYS, NAMES)}
    (directory / HEADER).write_text(json.dumps({"format": FORMAT, "sizes": sizes, "arrays": table, **header}), encoding="utf-8")


def read_header(directory: Path) -> dict[str, Any]:
    """Return the header of the index in ``directory``.

    Raises:
        GraphNotFound: there is no index.
        GraphError: there is one of another format, or its files are cut short.
    """
    try:
        header: dict[str, Any] = json.loads((directory / HEADER).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise GraphNotFound(f"there is no index at {directory}; build one with: tacit index GRAPH") from None
    except (OSError, ValueError) as error:
        raise GraphError(f"the index at {directory} cannot be read ({error}); delete that folder and build it again") from None
    if header.get("format") != FORMAT:
        raise GraphError(f"the index at {directory} has format {header.get('format')}, not {FORMAT}; build it again")
    for name, size in header["sizes"].items():
        path = directory / name
        if not path.is_file() or path.stat().st_size != size:
            raise GraphError(f"{path} is missing or cut short; delete the folder that holds it and build the index again")
    return header


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
