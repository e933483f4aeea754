"""Reading and writing model files: safetensors files of arrays, with a JSON description in those of one-file models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.atomic import recover
from ...graph.errors import ModelError, reason_of

DIGITS = 12
"""Hex digits of a model's digest."""

_KEY = "tacit"
_DTYPES = {"F16": np.float16, "U8": np.uint8}  # of arrays that are mapped


def pack(arrays: Mapping[str, Any], description: Mapping[str, Any] | None = None) -> bytes:
    """Return a safetensors file of arrays, with ``description`` as JSON in its metadata; equal input gives equal bytes."""
    from safetensors.numpy import save

    # A single metadata key: safetensors writes several in an order that changes from run to run.
    metadata = None if description is None else {_KEY: json.dumps(description, sort_keys=True, allow_nan=False)}
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata))


def unpack(data: bytes, format: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return description and arrays of a file that :func:`pack` wrote with this ``format`` and ``version``; ValueError for
    others."""
    try:
        header, _ = _header(data)
        description = json.loads(header["__metadata__"][_KEY])
    except (ValueError, KeyError, TypeError, RecursionError):
        description = None
    if not isinstance(description, dict) or description.get("format") != format:
        raise ValueError(f"its header does not name the format {format!r}")
    if description.get("version") != version:
        raise ValueError(f"its format is version {description.get('version')}, and this tacit reads version {version}")
    return description, arrays_in(data)


def arrays_in(data: bytes) -> dict[str, Any]:
    """Return the arrays of a safetensors file by their names; raise ValueError when they cannot be read or are not finite."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = dict(load(data))
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"its arrays cannot be read: {reason_of(error)}") from error
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"its array {name} contains numbers that are not finite")
    return arrays


def map_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a safetensors file by their names, memory-mapped for reading.

    Raises:
        OSError: the file cannot be opened. ValueError, KeyError, TypeError: it is damaged.
    """
    data = np.memmap(path, np.uint8, "r")
    header, start = _header(data)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = data[start + begin : start + end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def _header(data: Any) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file, and the offset of the arrays; ValueError when there is none."""
    size = int.from_bytes(bytes(data[:8]), "little")
    if not 0 < size <= len(data) - 8:
        raise ValueError("it has no header")
    header = json.loads(bytes(data[8 : 8 + size]))
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return header, 8 + size


def digest_of(*parts: bytes) -> str:
    """Return the first 12 hex digits of the SHA-256 of ``parts`` together."""
    return hashlib.sha256(b"".join(parts)).hexdigest()[:DIGITS]


def read_model(path: Path, file: str, what: str, command: str, largest: int) -> tuple[bytes, str]:
    """Return the bytes of the one-file model at ``path``, a file or a folder with ``file``, and its path for messages."""
    try:
        recover(path)
        model_file = path / file if path.is_dir() else path
        if model_file.stat().st_size > largest:
            raise ModelError(f"{model_file} is larger than any {what}; give one that {command} wrote")
        return model_file.read_bytes(), str(model_file)
    except FileNotFoundError as error:
        raise ModelError(f"there is no {what} at {path}; make one with: {command}") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"the {what} {str(path)!r} cannot be read: {error}") from error
