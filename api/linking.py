"""Linking the events of a graph to its concepts: the linker of :mod:`tacit.reasoning.event_links` writes into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..graph.links import Link, LinkCounts, LinkEntry, LinkManifest, linked_digest
from ..graph.open import linking_store
from ..graph.protocol import KnowledgeGraph, LinksEvents


@dataclass(frozen=True, slots=True)
class Linked:
    """Result of linking: the counts, the manifest of links, and the digest of assertions and links."""

    counts: LinkCounts
    manifest: LinkManifest
    linked_digest: str


def link_events(graph: KnowledgeGraph, progress: Callable[[int], None] | None = None) -> Linked:
    """Link the events of ``graph``; links that do not follow from it any more are removed, so a second call changes nothing.

    Args:
        graph: an open graph; with its index, concepts are found faster.
        progress: called with the number of events since its last call.

    Raises:
        GraphError: ``graph`` cannot be written to.
        ModelError: the shipped pipeline is damaged.
    """
    from ..reasoning.event_links import EventLinker

    store = graph if isinstance(graph, LinksEvents) else linking_store(graph)
    linker = EventLinker(graph)
    made_of: list[tuple[str, int]] = []

    def links() -> Iterator[Link]:
        events = list(store.events())
        made_of.append((store.manifest().digest, len(events)))
        yield from linker.links(events, progress)

    def entry() -> LinkEntry:
        return linker.entry(*made_of[-1])

    counts = store.replace_links(links(), entry)
    manifest = store.link_manifest()
    return Linked(counts, manifest, linked_digest(store.manifest(), manifest))
