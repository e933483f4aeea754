"""The manifest as a graph keeps it: from the dataclass to the properties of one node and back, and what a load adds to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from .errors import GraphError
from .model import LoadEntry, Manifest


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
