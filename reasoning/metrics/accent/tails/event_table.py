"""The events of a graph: as memory-mapped arrays, or asked of its store; heads, their tails by relation, and sources.

The arrays are built in one pass and stored beside the graph, in a folder named by its digest, so a table is never used for
another graph. ATOMIC's assertions between events are taken unchanged. ConceptNet holds similar knowledge of phrases without a
subject (``go fishing -HasPrerequisite-> buy bait``); those relations get the names of ATOMIC's (:data:`RENAMED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .....graph.embedded.integrity import DATABASE
from .....graph.errors import GraphError
from .....graph.index.open import index_home
from .....graph.model import Assertion
from .....graph.names import label_of, text_of
from .....graph.protocol import KnowledgeGraph, TailsInBulk
from .....graph.storage import HEADER, cache_folder, seal, sweep, unseal, whole_folder
from ....lru_cache import LruCache
from ..events import comparison_key, tail_form
from ..scorers.base import Query
from ..verbalise import statement

RENAMED = {"HasSubevent": "HasSubEvent", "HasPrerequisite": "xNeed", "MotivatedByGoal": "xIntent", "CausesDesire": "xWant"}
"""ConceptNet's relations between actions, and the relations of ATOMIC with the same meaning for PersonX."""

GENERATED_PREFIX = "comet:"
"""Prefix of the source of an assertion that a model generated."""

KIND = "table of events"
FORMAT = 4

_TEXTS = ("heads", "keys", "tails", "forms")
_ARRAYS = ("starts", "relation", "tail", "form", "source", "rank", "score")
INVERSES = {"isBefore": "isAfter"}  # relations that are stored under their inverse, with head and tail exchanged
LEFT_OUT = ("isFilledBy",)  # its tails fill a blank in the head, and are not events

Numbers = NDArray[np.int32]


class EventTail(NamedTuple):
    """One assertion about a head, in texts: tail, its statement, source, and rank and score from a model (-1 and NaN without)."""

    text: str
    form: str
    source: str
    rank: int
    score: float

    @property
    def is_generated(self) -> bool:
        """Whether a model generated it."""
        return self.source.startswith(GENERATED_PREFIX)


TailLookup = Callable[[int, str], list[EventTail]]
"""From the number of a head and a relation to its tails, in the graph's order: weight descending, then the tail."""


class Events(Protocol):
    """The events of a graph: an :class:`EventTable`, or :class:`StoredEvents`."""

    @property
    def heads(self) -> Sequence[str]:
        """Texts of the heads, sorted; their places are the numbers of the heads."""

    @property
    def relations(self) -> Sequence[str]:
        """Names of the relations, sorted."""

    @property
    def has_generated(self) -> bool:
        """Whether a model generated some of the tails."""

    def exact(self, text: str) -> int | None:
        """Return the number of the head with this text; None when there is none."""

    def heads_with_key(self, key: str) -> list[int]:
        """Return the heads whose comparison key is ``key``, in order of their texts."""

    def observed_heads(self) -> NDArray[np.int64]:
        """Return the numbers of the heads with assertions from datasets, ascending; nearest heads are searched among these."""

    def lookup(self, heads_and_relations: Sequence[tuple[int, str]], /) -> TailLookup:
        """Return a function that gives the tails of these heads and relations."""

    def generated(self) -> Iterator[tuple[Query, EventTail]]:
        """Yield the tails that models generated, by head, relation and rank."""


class Row(NamedTuple):
    """One assertion about a head: numbers of its tail, the tail's form and its source, and rank and score from a model."""

    tail: int
    form: int
    source: int
    rank: int
    score: float


class _Heads:
    """Looks up the heads of a graph's events by their texts and comparison keys."""

    heads: Any  # texts, in order
    keys: Any  # their comparison keys

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.heads)}

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        by_key: dict[str, list[int]] = {}
        for number, key in enumerate(self.keys):
            by_key.setdefault(key, []).append(number)
        return by_key

    def exact(self, text: str) -> int | None:
        """Return the number of the head with this text; None when there is none."""
        return self._by_text.get(text)

    def heads_with_key(self, key: str) -> list[int]:
        """Return the heads whose comparison key is ``key``, in order of their texts."""
        return self._by_key.get(key, [])


class EventTable(_Heads):
    """A table in a folder; :func:`open_table` builds a missing one.

    Attributes:
        digest: of the graph.
        heads: texts of the heads; keys: their comparison keys; tails: texts of the tails; forms: their
            statements (:func:`tacit.reasoning.metrics.accent.verbalise.statement`).
        relations, sources: names, by number.
    """

    def __init__(self, folder: Path, *, digest: str | None = None) -> None:
        """Open the table in ``folder``, which must be of the graph with this ``digest`` where one is given."""
        try:
            header = unseal(folder, KIND, FORMAT, digest=digest)
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
            texts = {name: (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1] for name in _TEXTS}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise GraphError(f"there is no complete table of events at {folder} ({error})") from error
        self.folder = folder
        self.digest: str = header["digest"]
        self.relations: list[str] = header["relations"]
        self.sources: list[str] = header["sources"]
        self.heads, self.keys, self.tails, self.forms = (texts[name] for name in _TEXTS)
        self._starts: NDArray[np.int64] = arrays["starts"]
        self._columns = [arrays[name] for name in ("tail", "form", "source", "rank", "score")]
        self._number = {name: number for number, name in enumerate(self.relations)}
        self.is_generated = np.array([source.startswith(GENERATED_PREFIX) for source in self.sources], dtype=bool)

    def __len__(self) -> int:
        return len(self._columns[0])

    def rows(self, head: int, relation: str) -> list[Row]:
        """Return the assertions about a head in the graph's order: weight descending, then the tail."""
        number = self._number.get(relation)
        if number is None:
            return []
        index = head * len(self.relations) + number
        start, stop = int(self._starts[index]), int(self._starts[index + 1])
        return [Row(*row) for row in zip(*(column[start:stop].tolist() for column in self._columns), strict=True)]

    @property
    def has_generated(self) -> bool:
        """Whether a model generated some of the tails."""
        return bool(self.is_generated.any())

    def lookup(self, _wanted: Sequence[tuple[int, str]], /) -> TailLookup:
        """Return a function that gives the tails of any head and relation."""

        def tails(head: int, relation: str) -> list[EventTail]:
            return [
                EventTail(self.tails[row.tail], self.forms[row.form], self.sources[row.source], row.rank, row.score)
                for row in self.rows(head, relation)
            ]

        return tails

    def generated(self) -> Iterator[tuple[Query, EventTail]]:
        """Yield the tails that models generated, by head, relation and rank."""
        tails = self.lookup(())
        for head, text in enumerate(self.heads if self.has_generated else ()):
            for relation in self.relations:
                for tail in sorted(tails(head, relation), key=lambda tail: tail.rank):
                    if tail.is_generated:
                        yield Query(text, relation), tail

    def observed_heads(self) -> NDArray[np.int64]:
        """Return the numbers of the heads with assertions from datasets, ascending."""
        owners = np.repeat(np.arange(len(self._starts) - 1) // max(len(self.relations), 1), np.diff(self._starts))
        generated = self.is_generated[np.asarray(self._columns[2])] if len(self) else np.zeros(0, dtype=bool)
        return np.unique(owners[~generated])

    def triples(self, relations: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return ``(head, relation, tail_form)`` from datasets under ``relations``, for training, in fixed order."""
        result = []
        for head, text in enumerate(self.heads):
            for relation in relations:
                rows = [row for row in self.rows(head, relation) if not self.is_generated[row.source]]
                result += [(text, relation, tail_form(self.tails[row.tail], relation)) for row in rows]
        return result


def open_table(graph: KnowledgeGraph, *, progress: Callable[[int], None] | None = None, home: Path | None = None) -> EventTable:
    """Open the table of ``graph`` in ``home``, by default :func:`events_home`; a missing one is built, with assertions as
    progress."""
    digest = graph.manifest().digest
    home = home or events_home(graph)
    try:
        return EventTable(home / digest, digest=digest)
    except GraphError:
        pass
    rows = entries_of(graph.assertions(), progress)
    with whole_folder(home / digest, KIND, FORMAT, digest) as folder:
        _write(folder, digest, rows)
    _forget_others(home, digest)
    return EventTable(home / digest)


def events_home(graph: KnowledgeGraph) -> Path:
    """Return the folder for data made from the events of ``graph``: beside its index if writable, else in the user's cache."""
    home = index_home(graph).parent / "events"
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".probe"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return cache_folder("events")
    return home


class Entry(NamedTuple):
    """An assertion about a head; ``tail`` is the tail's URI, ``text`` its text, rank -1 and score NaN where there are none."""

    relation: str
    tail: str
    weight: float
    text: str
    source: str
    rank: int
    score: float


def entries_of(assertions: Iterable[Assertion], progress: Callable[[int], None] | None = None) -> list[tuple[str, list[Entry]]]:
    """Return the heads by text, each with its assertions under ATOMIC's names: by relation, then best first."""
    by_head: dict[str, dict[tuple[str, str, str], Entry]] = {}
    number = 0
    for row in assertions:
        number += 1
        if progress is not None and number % 10_000 == 0:
            progress(10_000)
        relation = row.relation if row.head.startswith("/e/") else RENAMED.get(row.relation)
        if relation is None or relation in LEFT_OUT:
            continue
        rank, score = -1 if row.rank is None else row.rank, np.nan if row.score is None else row.score
        ends = row.head, row.tail
        for name, (head, tail) in ((relation, ends), *([(INVERSES[relation], ends[::-1])] if relation in INVERSES else [])):
            entry = Entry(name, tail, row.weight, text_of(tail), row.source, rank, score)
            known = by_head.setdefault(text_of(head), {})
            before = known.get(key := (name, entry.text, row.source))
            if before is None or entry.weight > before.weight:
                known[key] = entry
    if progress is not None:
        progress(number % 10_000)
    return [(head, sorted(by_head[head].values(), key=_order)) for head in sorted(by_head)]


def _order(entry: Entry) -> tuple[Any, ...]:
    return entry.relation, -entry.weight, entry.rank, entry.tail, entry.source


def _write(folder: Path, digest: str, rows: list[tuple[str, list[Entry]]]) -> None:
    """Write the table's files, the header last."""
    relations = sorted({entry.relation for _, entries in rows for entry in entries})
    sources = sorted({entry.source for _, entries in rows for entry in entries})
    texts: dict[str, dict[str, int]] = {"tails": {}, "forms": {}}
    number = {name: index for index, name in enumerate(relations)}
    source_number = {name: index for index, name in enumerate(sources)}
    sizes = np.zeros(len(rows) * len(relations) + 1, dtype=np.int64)
    columns: dict[str, list[Any]] = {name: [] for name in _ARRAYS[1:]}
    for head, (_, entries) in enumerate(rows):
        for relation, _, _, tail, source, rank, score in entries:
            sizes[head * len(relations) + number[relation] + 1] += 1
            form = statement(tail, relation)
            values = (
                number[relation], texts["tails"].setdefault(tail, len(texts["tails"])),
                texts["forms"].setdefault(form, len(texts["forms"])), source_number[source], rank, score,
            )  # fmt: skip
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    np.save(folder / "starts.npy", np.cumsum(sizes))
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", np.array(column, dtype=np.float32 if name == "score" else np.int32))
    heads = [head for head, _ in rows]
    lists = {"heads": heads, "keys": [comparison_key(head) for head in heads]}
    lists |= {name: list(known) for name, known in texts.items()}
    for name, lines in lists.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    seal(folder, KIND, FORMAT, digest, {"relations": relations, "sources": sources})


def _forget_others(home: Path, digest: str) -> None:
    """Delete the tables of an embedded graph's former contents; a server's cache is shared between graphs, so its tables stay."""
    import shutil

    if home.name == "events" and (home.parent / DATABASE).exists():
        for folder in home.iterdir():
            if (folder / HEADER).exists() and folder.name != digest:
                shutil.rmtree(folder, ignore_errors=True)
    sweep(home)


# The events of a store, asked for by Cypher as they are needed: the tails of many heads in one query.
#
# A score over a store (`--engine store`) uses these instead of the table, so nothing is built beside the graph.
# The names of the heads are read once, at the first query; assertions are read by `cypher/tails.cypher`, for all heads and
# relations of a batch at once. Both give the same tails in the same order, because both go through `entries_of`.

_Head = tuple[int, str]
"""Number of a head, and a relation."""


class StoredEvents(_Heads):
    """The events of a store; thread-safe as the store is."""

    def __init__(self, store: TailsInBulk) -> None:
        """Read from ``store``; the tails of the last 100,000 pairs of a head and a relation are kept in memory."""
        self._store = store
        self._cached: LruCache[_Head, list[EventTail]] = LruCache(100_000)

    @cached_property
    def _subjects(self) -> set[tuple[str, str, str]]:
        """The events that assertions are about, with relations and sources."""
        return {row for row in self._store.nodes_by("Event", None) if row[1] not in LEFT_OUT}

    @cached_property
    def _uris_by_text(self) -> dict[str, dict[str, bool]]:
        """The URIs of each head, by its text, and whether a dataset has an assertion about it; texts in order."""
        store = self._store
        sources = [
            *((uri, source) for uri, _, source in self._subjects),
            *((uri, source) for uri, _, source in store.nodes_by("Concept", RENAMED)),
            *((uri, source) for uri, _, source in store.nodes_by("Event", INVERSES, "tail")),
        ]
        known: dict[str, dict[str, bool]] = {}
        for uri, source in sources:
            uris = known.setdefault(text_of(uri), {})
            uris[uri] = uris.get(uri, False) or not source.startswith(GENERATED_PREFIX)
        return {text: known[text] for text in sorted(known)}

    @cached_property
    def heads(self) -> list[str]:
        """Texts of the heads, sorted."""
        return list(self._uris_by_text)

    @cached_property
    def relations(self) -> list[str]:
        """Names of the relations between events, sorted, as :class:`EventTable` has them."""
        events = {relation for _, relation, _ in self._subjects}
        inverses = {INVERSES[relation] for relation in events & set(INVERSES)}
        actions = {RENAMED[relation] for _, relation, _ in self._store.nodes_by("Concept", RENAMED)}
        return sorted(events | inverses | actions)

    @cached_property
    def has_generated(self) -> bool:
        """Whether a model generated some of the tails."""
        return bool(self._generated)

    @cached_property
    def _generated(self) -> list[Assertion]:
        return self._store.tails_from(GENERATED_PREFIX)

    @cached_property
    def keys(self) -> list[str]:
        """Comparison keys of the heads."""
        return [comparison_key(text) for text in self.heads]

    def observed_heads(self) -> NDArray[np.int64]:
        """Return the numbers of the heads with assertions from datasets, ascending."""
        return np.array([number for number, uris in enumerate(self._uris_by_text.values()) if any(uris.values())], dtype=np.int64)

    def lookup(self, heads_and_relations: Sequence[_Head], /) -> TailLookup:
        """Return a function from a head and a relation to its tails; all of them are read together."""
        tails = self._cached.get_all(heads_and_relations, self._read)
        return lambda head, relation: tails[head, relation]

    def generated(self) -> Iterator[tuple[Query, EventTail]]:
        """Yield the tails that models generated, by head, relation and rank."""
        for head, entries in entries_of(self._generated):
            for entry in sorted(entries, key=lambda entry: (entry.relation, entry.rank)):
                yield Query(head, entry.relation), _tail(entry)

    def _read(self, heads_and_relations: list[_Head]) -> list[list[EventTail]]:
        """Return the tails of heads and relations, from three queries at most."""
        relations = {relation for _, relation in heads_and_relations}
        uris = [
            uri for head in dict.fromkeys(head for head, _ in heads_and_relations) for uri in self._uris_by_text[self.heads[head]]
        ]
        events, actions = ([uri for uri in uris if label_of(uri) == label] for label in ("Event", "Concept"))
        rows = [
            *self._store.tails_many(events, relations),
            *self._store.tails_many(actions, [name for name, renamed in RENAMED.items() if renamed in relations]),
            *self._store.heads_many(events, [name for name, inverse in INVERSES.items() if inverse in relations]),
        ]
        entries = dict(entries_of(rows))
        texts = ((self.heads[head], relation) for head, relation in heads_and_relations)
        return [[_tail(entry) for entry in entries.get(text, ()) if entry.relation == relation] for text, relation in texts]


def _tail(entry: Entry) -> EventTail:
    score = float(np.float32(entry.score))  # as precise as in the table
    return EventTail(entry.text, statement(entry.text, entry.relation), entry.source, entry.rank, score)
