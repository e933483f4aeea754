"""A stream of items cut into requests, whose size follows the pace and the limits of the service.

An item that cannot be sent keeps its place as a row with an error, as in the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...graph.errors import InputError
from ...graph.item import Item
from ...reasoning.scorer import ItemScores, StreamItem, checked

LARGEST_BATCH = 1_000
LONGEST_BATCH = 500_000  # characters, about half a megabyte of JSON

_FIRST = 8
_SECONDS = 5.0
_NEW = 0.5  # the weight of the last answer in the average


class Pace:
    """How many items to send in a request, so that each is answered in about five seconds.

    Metrics differ in speed by a factor of a thousand, and a service may be busy. The first request holds few items; each answer
    gives the seconds an item, and the next request holds as many as fit, at most twice as many as before.

    Args:
        most: items a request at most; None: what the service takes.
        timeout: seconds that a request may go without an answer; one of many items may go longer.

    Attributes:
        size: items for the next request. characters: of a request at most.

    Raises:
        InputError: ``most`` is below 1.
    """

    def __init__(self, most: int | None = None, timeout: float = 60.0) -> None:
        if most is not None and most < 1:
            raise InputError(f"batch_size must be >= 1, not {most}")
        self._most = most or LARGEST_BATCH
        self._timeout = timeout
        self._aim = min(_SECONDS, timeout / 6)
        self._each = 0.0
        self.size = min(_FIRST, self._most)
        self.characters = LONGEST_BATCH

    def keep_within(self, limits: Mapping[str, Any], requests: int = 1) -> None:
        """Keep within the ``limits`` of ``/v1/info``, with ``requests`` on their way at a time; limits may be missing."""
        largest = [self._most, limits.get("items", LARGEST_BATCH), limits.get("waiting_items", 1 << 30) // (2 * requests)]
        self._most = max(1, min(largest))
        self._aim = min(self._aim, limits.get("request_seconds", 60.0) / 6)
        self.characters = max(1, min(LONGEST_BATCH, limits.get("body_bytes", 1 << 30) // 8))
        self.size = min(self.size, self._most)

    def answered(self, items: int, seconds: float) -> None:
        """Learn from a request of ``items`` that was answered within ``seconds``."""
        each = max(seconds, 1e-6) / items
        self._each = each if not self._each else _NEW * each + (1 - _NEW) * self._each
        self.size = max(1, min(self._most, 2 * items, 2 * self.size, int(self._aim / self._each)))

    def refused(self) -> None:
        """Send fewer: the service is busy, or cannot take so many."""
        self.size = max(1, self.size // 2)

    def timeout(self, items: int) -> float:
        """Return the seconds that a request of ``items`` may go without an answer: three times what it should take, and more."""
        return self._timeout + 3 * items * self._each


@dataclass(slots=True)
class Batch:
    """Items for one request, among rows that are ready.

    Attributes:
        rows: in order, None where the service has to answer.
        asked: the items of those places, in order; items: what to send for them.
    """

    rows: list[ItemScores | None] = field(default_factory=list)
    asked: list[Item] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)

    def filled(self, answers: Sequence[ItemScores]) -> Iterator[ItemScores]:
        """Yield the rows, those of the service (one an item, in order) in their places and under their own ids."""
        rest = zip(self.asked, answers, strict=True)
        for row in self.rows:
            if row is None:
                item, answer = next(rest)
                row = ItemScores(item.id, answer.scores, answer.error, item=item)
            yield row


def at_least_one(concurrency: int) -> int:
    """Return ``concurrency``.

    Raises:
        InputError: it is below 1.
    """
    if concurrency < 1:
        raise InputError(f"concurrency must be >= 1, not {concurrency}")
    return concurrency


def batches(items: Iterable[StreamItem], pace: Pace) -> Iterator[Batch]:
    """Yield the items in batches of ``pace.size``, or fewer where they are long; one that cannot be scored keeps its place."""
    batch, length = Batch(), 0
    for given in items:
        item = checked(given)
        if isinstance(item, ItemScores):
            batch.rows.append(item)
        else:
            long = len(item.response) + sum(map(len, item.history)) + sum(map(len, item.references))
            if batch.items and length + long > pace.characters:
                yield batch
                batch, length = Batch(), 0
            length += long
            batch.rows.append(None)
            batch.asked.append(item)
            batch.items.append(body_of(item))
        if len(batch.rows) >= pace.size:
            yield batch
            batch, length = Batch(), 0
    if batch.rows:
        yield batch


def body_of(item: Item) -> dict[str, Any]:
    """Return one item as the service reads it."""
    body: dict[str, Any] = {"history": item.history, "response": item.response}
    return {**body, "references": item.references} if item.references else body
