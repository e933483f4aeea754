"""Batches of a stream of items as requests, whose size adapts to the speed and the limits of the service.

An item that cannot be sent keeps its place as a row with an error, as in the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...graph.errors import InputError
from ...graph.item import Item
from ...reasoning.scorer import ItemScores, StreamItem, checked

MAX_BATCH_ITEMS = 1_000
MAX_BATCH_CHARACTERS = 500_000  # characters, about half a megabyte of JSON

_FIRST_SIZE = 8
_TARGET_SECONDS = 5.0
_NEWEST_WEIGHT = 0.5  # the weight of the last answer in the average


class BatchSizer:
    """Adaptive batch size, such that each request takes about five seconds.

    Metrics differ in speed by a factor of a thousand, and a service may be busy. The first request has few items; the response
    time gives the seconds per item, and the next request has as many items as fit, but at most twice as many as before.

    Args:
        largest: maximum number of items per request; None: the service's limit.
        timeout: base timeout of a request in seconds; larger batches get more.

    Attributes:
        size: number of items of the next request; characters: maximum number of characters of a request.
    """

    def __init__(self, largest: int | None = None, timeout: float = 60.0) -> None:
        if largest is not None and largest < 1:
            raise InputError(f"batch_size must be >= 1, not {largest}")
        self._largest = largest or MAX_BATCH_ITEMS
        self._timeout = timeout
        self._target_seconds = min(_TARGET_SECONDS, timeout / 6)
        self._seconds_per_item = 0.0
        self.size = min(_FIRST_SIZE, self._largest)
        self.characters = MAX_BATCH_CHARACTERS

    def keep_within(self, limits: Mapping[str, Any], requests: int = 1) -> None:
        """Apply the ``limits`` of ``/v1/info`` (any may be missing) for ``requests`` concurrent requests."""
        bounds = [self._largest, limits.get("items", MAX_BATCH_ITEMS), limits.get("waiting_items", 1 << 30) // (2 * requests)]
        self._largest = max(1, min(bounds))
        self._target_seconds = min(self._target_seconds, limits.get("request_seconds", 60.0) / 6)
        self.characters = max(1, min(MAX_BATCH_CHARACTERS, limits.get("body_bytes", 1 << 30) // 8))
        self.size = min(self.size, self._largest)

    def succeeded(self, items: int, seconds: float) -> None:
        """Adapt the size after a request of ``items`` that took ``seconds``."""
        seconds_per_item = max(seconds, 1e-6) / items
        mean = self._seconds_per_item or seconds_per_item
        self._seconds_per_item = _NEWEST_WEIGHT * seconds_per_item + (1 - _NEWEST_WEIGHT) * mean
        self.size = max(1, min(self._largest, 2 * items, 2 * self.size, int(self._target_seconds / self._seconds_per_item)))

    def reduce(self) -> None:
        """Halve the size, after the service was busy or refused a batch."""
        self.size = max(1, self.size // 2)

    def timeout(self, items: int) -> float:
        """Return the timeout of a request of ``items``: the base timeout plus three times the expected duration, in seconds."""
        return self._timeout + 3 * items * self._seconds_per_item


@dataclass(slots=True)
class Batch:
    """The items of one request, and the rows of items that are not sent."""

    rows: list[ItemScores | None] = field(default_factory=list)  # in order; None for an item that is sent
    scored: list[Item] = field(default_factory=list)  # the items that are sent, in order
    items: list[dict[str, Any]] = field(default_factory=list)  # their request bodies

    def filled(self, answers: Sequence[ItemScores]) -> Iterator[ItemScores]:
        """Yield all rows in order, with those of the service (one per item) in their places and with the items' own IDs."""
        sent = zip(self.scored, answers, strict=True)
        for row in self.rows:
            if row is None:
                item, answer = next(sent)
                row = ItemScores(item.id, answer.scores, answer.error, item=item)
            yield row


def check_concurrency(concurrency: int) -> int:
    """Return ``concurrency``, which must be >= 1."""
    if concurrency < 1:
        raise InputError(f"concurrency must be >= 1, not {concurrency}")
    return concurrency


def batches(items: Iterable[StreamItem], sizer: BatchSizer) -> Iterator[Batch]:
    """Yield the items in batches of ``sizer.size``, or fewer if they are long; an item that cannot be scored keeps its place."""
    batch, length = Batch(), 0
    for entry in items:
        item = checked(entry)
        if isinstance(item, ItemScores):
            batch.rows.append(item)
        else:
            characters = len(item.response) + sum(map(len, item.history)) + sum(map(len, item.references))
            if batch.items and length + characters > sizer.characters:
                yield batch
                batch, length = Batch(), 0
            length += characters
            batch.rows.append(None)
            batch.scored.append(item)
            batch.items.append(body_of(item))
        if len(batch.rows) >= sizer.size:
            yield batch
            batch, length = Batch(), 0
    if batch.rows:
        yield batch


def body_of(item: Item) -> dict[str, Any]:
    """Return the request body of one item."""
    body: dict[str, Any] = {"history": item.history, "response": item.response}
    return {**body, "references": item.references} if item.references else body
