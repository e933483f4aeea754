"""Sources one after the other: the first that knows a tail of a head answers for it, and the next are asked for the rest
alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from .source import Found, Query, TailSource


class Chain:
    """Several tail sources as one."""

    def __init__(self, sources: Sequence[TailSource]) -> None:
        """Ask ``sources`` in this order."""
        self.sources = tuple(sources)
        self.signature = ",".join(source.signature for source in sources if source.signature) or "none"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return for each query what the first source knows that knows anything, with the notes of all that were asked."""
        found = dict.fromkeys(queries, Found())
        notes: dict[Query, list[str]] = {query: [] for query in found}
        for source in self.sources:
            open_queries = [query for query, one in found.items() if not one.tails]
            if not open_queries:
                break
            for query, one in zip(open_queries, source.find(open_queries), strict=True):
                found[query] = one
                if one.note:
                    notes[query].append(one.note)
        return [found[query]._replace(note="; ".join(dict.fromkeys(notes[query]))) for query in queries]
