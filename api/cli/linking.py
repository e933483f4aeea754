"""The command ``link``, which joins the events of a graph to the concepts that they mention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..opening import Address, Engine, open_engine
from ..terminal.progress import Meter
from .options import GraphOrDefault, Json, Quiet, address_at

if TYPE_CHECKING:
    from ..linking import Linked


def link(graph: GraphOrDefault, quiet: Quiet = False, json: Json = False) -> None:
    """Join the events of a graph to the concepts that they mention, and to events of the same meaning.

    Adds (:Event)-[:Mentions {role, position}]->(:Concept) and (:Event)-[:SameEvent]->(:Event), and removes those that do not
    follow from the graph any more. Scores, distances and assertions stay as they are.
    """
    from ..terminal.screen import facts, print_json, show

    linked, seconds = link_graph(address_at(graph), quiet)
    row = {"graph": graph, **summary_of(linked), "seconds": round(seconds, 3)}
    if json:
        print_json(row)
    else:
        show(facts([("graph", graph), *described(linked, seconds)]))


def link_graph(address: Address, quiet: bool) -> tuple[Linked, float]:
    """Link the graph at ``address`` with a progress bar; return the result and the time in seconds."""
    from ...graph.open import store_of
    from ..linking import link_events
    from ..terminal.screen import note

    try:
        with open_engine(address, Engine.AUTO, quiet=quiet) as opened:
            events = store_of(opened).counts().events
            with Meter("linking events", events, unit="events", noun="events", quiet=quiet) as meter:
                return link_events(opened, meter.add), meter.seconds
    except KeyboardInterrupt:
        held = "has some of the links" if "://" in address.url else "is unchanged"
        note(f"stopped; {address.url} {held}; run the same command again")
        raise


def summary_of(linked: Linked) -> dict[str, Any]:
    """Return the result of linking as JSON."""
    entry = linked.manifest.entry
    assert entry is not None
    return {
        "events": entry.events, "mentioning": entry.mentioning, "mentions": entry.mentions, "same": entry.same,
        **linked.counts._asdict(), "links_digest": linked.manifest.digest, "linked_digest": linked.linked_digest,
    }  # fmt: skip


def described(linked: Linked, seconds: float) -> list[tuple[str, object]]:
    """Return the result of linking as names and values."""
    from ..terminal.text import count, duration

    entry, counts = linked.manifest.entry, linked.counts
    assert entry is not None
    return [
        ("events", f"{entry.events:,}, {entry.mentioning:,} of them mention a concept"),
        ("mentions", entry.mentions),
        ("same event", entry.same),
        ("links", f"{count(counts.new)} new, {count(counts.kept)} kept, {count(counts.removed)} removed"),
        ("digest with links", linked.linked_digest),
        ("time", duration(seconds)),
    ]
