"""Links: edges that are derived from the graph itself, from events to the concepts that they mention and between like events.

``(:Event)-[:Mentions {role, position}]->(:Concept)`` says that the text of an event mentions a concept, and
``(:Event)-[:SameEvent]->(:Event)`` that two events are worded differently and mean the same; the second is written once for each
pair, from the first URI to the second in code point order. Links are made by ``tacit link``. They are not assertions: counts,
distances, paths, tails and scores leave them out unless they ask for them, and :attr:`~tacit.graph.model.Manifest.digest`, which
is in the signatures of scores, does not cover them. :func:`linked_digest` covers both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from .errors import GraphError, InputError
from .model import Assertion, Manifest
from .names import LABELS, label_of, text_of
from .schema import shape

LinkRelation = Literal["Mentions", "SameEvent"]
Role = Literal["predicate", "subject", "object", "oblique", "modifier"]

MENTIONS: LinkRelation = "Mentions"
SAME_EVENT: LinkRelation = "SameEvent"
LINK_RELATIONS: tuple[LinkRelation, ...] = get_args(LinkRelation)
RESERVED_NAMES = frozenset(name.lower() for name in (*LABELS, "Manifest", *LINK_RELATIONS))
"""Names, in lower case, of labels of nodes and of links, which no query on the embedded engine can use for other relations."""
ROLES: tuple[Role, ...] = get_args(Role)
SOURCE = "tacit link"
"""Source of a link in a path."""

_TARGETS = {MENTIONS: "Concept", SAME_EVENT: "Event"}


class Link(NamedTuple):
    """One edge from an event to a concept that it mentions (``Mentions``), or to an event of the same meaning (``SameEvent``).

    Attributes:
        head: URI of an event.
        relation: ``Mentions`` or ``SameEvent``.
        tail: URI of a concept, or of an event after ``head`` in code point order.
        role: what the mention is in the event's clause (one of :data:`ROLES`); empty for ``SameEvent``.
        position: number of words of the event before the mention, >= 0; None for ``SameEvent``.
    """

    head: str
    relation: LinkRelation
    tail: str
    role: Role | Literal[""] = ""
    position: int | None = None

    def fingerprint(self) -> tuple[int, int]:
        """Return ``(identity, content)``: a signed 64-bit hash and a 128-bit hash, both of all fields.

        The sum of the contents modulo 2**128 is the checksum of a graph's links.
        """
        digest = hashlib.blake2b("\t".join(map(str, self)).encode(), digest_size=16).digest()
        return int.from_bytes(digest[:8], "little", signed=True), int.from_bytes(digest, "little")

    def assertion(self) -> Assertion:
        """Return the link as a step of a path, with the weight 1."""
        return Assertion(self.head, self.relation, self.tail, source=SOURCE)


@dataclass(frozen=True, slots=True)
class LinkEntry:
    """What the links of a graph were made of.

    Attributes:
        version: of the linker's rules.
        pipeline: signature of the pipeline that analysed the events.
        language: language of the concepts.
        graph: digest of the assertions when they were linked; when the graph has another, the links are out of date.
        events: number of events that were linked.
        mentioning: number of events that mention a concept.
        mentions, same: number of links of each relation.
    """

    version: int
    pipeline: str
    language: str
    graph: str
    events: int
    mentioning: int
    mentions: int
    same: int


@dataclass(frozen=True, slots=True)
class LinkManifest:
    """The links of a graph; kept in the graph as a manifest node with the key ``links``.

    Attributes:
        entry: what they were made of; None before the first ``tacit link`` has finished.
        links: number of links in the graph.
        checksum: sum modulo 2**128 of the content fingerprints of all links.
    """

    entry: LinkEntry | None = None
    links: int = 0
    checksum: int = 0

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that identify the links, the same in every store."""
        return hashlib.sha256(f"tacit-links:1:{self.links}:{self.checksum:032x}".encode()).hexdigest()[:16]


class LinkCounts(NamedTuple):
    """Result of linking: links that were added, that stayed, and that were removed since they no longer follow from the graph."""

    new: int
    kept: int
    removed: int


@shape("relation", "tail", "tail_text", "events", "event", "event_text", "role", "weight", "source", "dataset")
class ConceptTail(NamedTuple):
    """A tail of the events that mention a concept.

    Attributes:
        relation: the relation of the assertions.
        tail: URI of the tail.
        events: number of events that mention the concept and have this tail under this relation.
        event: the most specific of them: with the fewest mentions, then the largest weight, then the first URI.
        role: the concept's role in that event.
        weight, source, dataset: of that event's strongest assertion.
    """

    relation: str
    tail: str
    events: int
    event: str
    role: str
    weight: float
    source: str
    dataset: str

    @property
    def tail_text(self) -> str:
        """The text of the tail."""
        return text_of(self.tail)

    @property
    def event_text(self) -> str:
        """The text of the event."""
        return text_of(self.event)


def checked_link(link: Link) -> Link:
    """Return ``link`` if its ends, role and position are those of its relation, else raise :class:`InputError`."""
    head, relation, tail, role, position = link
    if label_of(head) != "Event" or _TARGETS.get(relation) != label_of(tail) or not tail:
        raise InputError(f"{head!r} and {tail!r} cannot be linked by {relation}; Mentions goes from an event to a concept")
    is_mention = role in ROLES and isinstance(position, int) and position >= 0
    is_same_event = role == "" and position is None and head < tail
    if not (is_mention if relation == MENTIONS else is_same_event):
        raise InputError(f"the link from {head!r} to {tail!r} by {relation} has the role {role!r} and the position {position!r}")
    return link


def linked_digest(manifest: Manifest, links: LinkManifest) -> str:
    """Return 16 hexadecimal digits that identify assertions and links; the graph's digest when there are no links."""
    if not links.links:
        return manifest.digest
    return hashlib.sha256(f"{manifest.digest}:{links.digest}".encode()).hexdigest()[:16]


def no_links(url: str) -> GraphError:
    """Return the error for a question that needs links in a graph without any."""
    return GraphError(f"the events of {url} are not linked to concepts; run tacit link {url}")


def is_current(manifest: Manifest, links: LinkManifest) -> bool:
    """Return whether the links were made of the assertions that the graph has now."""
    return links.entry is not None and links.entry.graph == manifest.digest


def link_properties(manifest: LinkManifest) -> dict[str, Any]:
    """Return the manifest as the properties of its node: ``loads`` (JSON), ``assertions`` (its links) and ``checksum``."""
    entries = [] if manifest.entry is None else [asdict(manifest.entry)]
    return {"loads": json.dumps(entries, sort_keys=True), "assertions": manifest.links, "checksum": f"{manifest.checksum:032x}"}


def link_manifest_of(rows: Sequence[Sequence[Any]]) -> LinkManifest:
    """Return the manifest in the rows ``(loads, assertions, checksum)`` of its query; an empty one for no row."""
    if not rows:
        return LinkManifest()
    try:
        loads, links, checksum = rows[0]
        entries = [LinkEntry(**entry) for entry in json.loads(loads)]
        return LinkManifest(entries[0] if entries else None, int(links), int(checksum, 16))
    except (TypeError, ValueError) as error:
        raise GraphError(f"the manifest of the graph's links cannot be read ({error}); run tacit link again") from error


def ranked_tails(rows: Sequence[Sequence[Any]], mentions: dict[str, int]) -> list[ConceptTail]:
    """Return the tails in the rows of the query ``tails_of_mentioning``, best first.

    A tail that more events have comes first; then one of an event that mentions fewer concepts (``mentions``), so that the
    concept matters more in it; then weight, event, relation and tail.
    """
    groups: dict[tuple[str, str], list[Sequence[Any]]] = {}
    for row in rows:
        groups.setdefault((row[2], row[3]), []).append(row)
    tails = []
    for (relation, tail), group in groups.items():
        best = min(group, key=lambda row: (mentions[row[0]], -row[4], row[0], row[5] or "", row[6] or ""))
        event, role, _, _, weight, source, dataset = best
        events = len({row[0] for row in group})
        tails.append(ConceptTail(relation, tail, events, event, role, float(weight), source or "", dataset or ""))
    return sorted(tails, key=lambda row: (-row.events, mentions[row.event], -row.weight, row.event, row.relation, row.tail))
