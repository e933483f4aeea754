"""Verification of a graph, its index and its event table, for ``tacit check``.

All data is read: the database file against its checksums, every assertion against the manifest, the index and the table of events
against their headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from .errors import GraphError, GraphUnavailable
from .links import LinkManifest
from .model import Contents, Manifest
from .protocol import KnowledgeGraph, LinksEvents
from .storage import HEADER, read_checked, unseal

Progress = Callable[[int], None]

_BATCH = 50_000
"""Assertions that are compared at a time."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a graph after its check."""

    name: str  # `file`, `assertions`, `links`, `index` or `table of events`
    place: str  # its path or URL
    problem: str | None = None  # what is damaged and what to do; None when it is sound
    note: str = ""  # what could not be checked, and why; empty when everything was


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of a check: the graph's URL, its digest and number of assertions (None where they cannot be read), its parts."""

    url: str
    digest: str | None
    assertions: int | None
    parts: tuple[Part, ...]

    @property
    def sound(self) -> bool:
        """Whether no part is damaged."""
        return all(part.problem is None for part in self.parts)


def check_graph(url: str, *, progress: Progress | None = None, **credentials: Any) -> Checked:
    """Check the graph at ``url``.

    Args:
        url: a folder's path or a server's URL.
        progress: called with the number of assertions read since its last call.
        credentials: ``user``, ``password`` and ``database``, as for :func:`tacit.graph.open_graph`.

    Raises:
        GraphNotFound: there is no graph.
        GraphUnavailable: the server does not answer.
        InputError: the scheme of ``url`` is not supported.
    """
    from .open import open_graph

    parts: list[Part] = []
    if "://" not in url:
        parts += _check_file(Path(url))
        if any(part.problem for part in parts):
            return Checked(url, None, None, tuple(parts))
    try:
        with open_graph(url, engine="store", **credentials) as store:
            manifest = store.manifest()
            assertions = _check_assertions(store, manifest, progress)
            if parts and parts[0].note and not (assertions.problem or assertions.note):
                parts[0] = _write_checksums(Path(url), parts[0])
            parts += [assertions, *_check_links(store), *_check_built(store, manifest.digest)]
            return Checked(store.url, manifest.digest, manifest.assertions, tuple(parts))
    except GraphError as error:
        if isinstance(error, GraphUnavailable) or not parts:  # there is no graph, or no server
            raise
        return Checked(url, None, None, (*parts, Part("assertions", url, str(error))))


def _check_file(folder: Path) -> Iterator[Part]:
    from .embedded import integrity

    database = folder / integrity.DATABASE
    if not database.exists():
        return
    try:
        recorded = integrity.verify(database, whole=True)
    except GraphError as error:
        yield Part("file", str(database), str(error))
    else:
        note = "" if recorded else "the file has no checksums beside it; the next load writes them"
        yield Part("file", str(database), note=note)


def _write_checksums(folder: Path, part: Part) -> Part:
    """Write the checksums of a file without them, after its assertions matched its manifest."""
    from .embedded.database_file import write_checksums

    try:
        write_checksums(folder)
    except GraphError:
        return part
    return Part(
        part.name, part.place, note="the file had no checksums; they were written, since its assertions match its manifest"
    )


def _check_assertions(store: KnowledgeGraph, manifest: Manifest, progress: Progress | None) -> Part:
    """Compare the number and the checksum of all assertions with the manifest."""
    from .index.build import check_manifest

    contents, number = Contents(), 0
    try:
        rows = store.assertions()
        while batch := list(islice(rows, _BATCH)):
            contents.add(batch)
            number += len(batch)
            if progress:
                progress(len(batch))
        if store.manifest() != manifest:
            return Part("assertions", store.url, note="the graph changed while it was read; check it again")
        check_manifest(store.url, manifest, number, contents.checksum)
    except GraphUnavailable:
        raise
    except GraphError as error:
        return Part("assertions", store.url, str(error))
    except Exception as error:  # an engine that reads damaged pages may raise anything
        problem = f"{store.url} is damaged (reading it ends in {type(error).__name__}: {error}); load it again into a new place"
        return Part("assertions", store.url, problem)
    return Part("assertions", store.url)


def _check_links(store: KnowledgeGraph) -> Iterator[Part]:
    """Compare the number and the checksum of all links with their manifest; nothing for a graph that was never linked."""
    if not isinstance(store, LinksEvents):
        return
    manifest = store.link_manifest()
    if manifest == LinkManifest():
        return
    total = number = 0
    for link in store.links():
        total += link.fingerprint()[1]
        number += 1
    if store.link_manifest() != manifest:
        yield Part("links", store.url, note="the links changed while they were read; check them again")
    elif (number, total % 2**128) != (manifest.links, manifest.checksum):
        difference = f"there are {number:,} links, their manifest says {manifest.links:,}"
        problem = difference if number != manifest.links else "the links do not match the checksum in their manifest"
        yield Part("links", store.url, f"{store.url} is damaged, or was changed by another program ({problem}); run tacit link")
    else:
        yield Part("links", store.url)


def _check_built(store: KnowledgeGraph, digest: str) -> Iterator[Part]:
    """Check the index and the table of events of the graph's current digest."""
    from .index import index_homes
    from .index.layout import FORMAT, open_arrays

    for home in index_homes(store):
        for kind, folder in (("index", home / digest), ("table of events", home.parent / "events" / digest)):
            if not folder.is_dir():
                continue
            try:
                header = read_checked(folder / HEADER)
                if kind == "index" and header.get("format") != FORMAT:
                    raise FileNotFoundError
                if kind == "index":
                    open_arrays(folder, digest=digest, whole=True)
                else:
                    unseal(folder, kind, header.get("format", 0), digest=digest, whole=True)
            except FileNotFoundError:
                yield Part(kind, str(folder), note=f"the {kind} is of an older version and is built again when it is next used")
            except GraphError as error:
                yield Part(kind, str(folder), str(error))
            except (OSError, ValueError) as error:
                problem = f"{folder} is damaged ({error}); delete that folder, and it is built again when it is next used"
                yield Part(kind, str(folder), problem)
            else:
                yield Part(kind, str(folder))
