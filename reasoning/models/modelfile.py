"""Reading and writing one-file models: a safetensors file with a JSON description."""

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


def pack(arrays: Mapping[str, Any], description: Mapping[str, Any]) -> bytes:
    """Return a safetensors file of arrays, with ``description`` as JSON in its metadata; equal input gives equal bytes."""
    from safetensors.numpy import save

    # A single metadata key: safetensors writes several in an order that changes from run to run.
    text = json.dumps(description, sort_keys=True, allow_nan=False)
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {_KEY: text}))


def unpack(data: bytes, format: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return description and arrays of a file that :func:`pack` wrote with this ``format`` and ``version``; ValueError for
    others."""
    try:
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])["__metadata__"][_KEY] if 0 < size <= len(data) - 8 else None
        found = json.loads(head) if isinstance(head, str) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != format:
        raise ValueError(f"its header does not name the format {format!r}")
    if found.get("version") != version:
        raise ValueError(f"its format is version {found.get('version')}, and this tacit reads version {version}")
    arrays = arrays_in(data)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"its array {name} contains numbers that are not finite")
    return found, arrays


def arrays_in(data: bytes) -> dict[str, Any]:
    """Return the arrays of a safetensors file by their names; raise ValueError when they cannot be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return dict(load(data))
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"its arrays cannot be read: {reason_of(error)}") from error


def digest_of(*parts: bytes) -> str:
    """Return the first 12 hex digits of the SHA-256 of ``parts`` together."""
    return hashlib.sha256(b"".join(parts)).hexdigest()[:DIGITS]


def read_model(place: Path, file: str, what: str, command: str, largest: int) -> tuple[bytes, str]:
    """Return the bytes of the one-file model at ``place``, a file or a folder with ``file``, and its path for messages."""
    try:
        recover(place)
        path = place / file if place.is_dir() else place
        if path.stat().st_size > largest:
            raise ModelError(f"{path} is larger than any {what}; give one that {command} wrote")
        return path.read_bytes(), str(path)
    except FileNotFoundError as error:
        raise ModelError(f"there is no {what} at {place}; make one with: {command}") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"the {what} {str(place)!r} cannot be read: {error}") from error
