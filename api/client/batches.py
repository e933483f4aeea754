"""A stream of items cut into requests: what cannot be sent keeps its place as a row with an error, as in the library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...graph.errors import InputError
from ...reasoning.score import check_item
from ...reasoning.scoring import ItemScores, StreamItem

BATCH_SIZE = 128
LONGEST_BATCH = 500_000  # characters, about half a megabyte of JSON


@dataclass(slots=True)
class Batch:
    """Items for one request, among rows that are ready.

    Attributes:
        rows: in order, None where the service has to answer. ids: of those places, in order; items: what to send for them.
    """

    rows: list[ItemScores | None] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)

    def filled(self, answers: Sequence[ItemScores]) -> Iterator[ItemScores]:
        """Yield the rows, those of the service (one an item, in order) in their places and under their own ids."""
        rest = zip(self.ids, answers, strict=True)
        for row in self.rows:
            if row is None:
                identity, answer = next(rest)
                row = ItemScores(identity, answer.scores, answer.error)
            yield row


def batches(items: Iterable[StreamItem | ItemScores], size: int) -> Iterator[Batch]:
    """Yield the items in batches of ``size``, or fewer where they are long; a row among them is handed through in its place.

    Raises:
        InputError: ``size`` is below 1.
    """
    if size < 1:
        raise InputError(f"a batch of {size} items makes no sense; give 1 or more")
    return _cut(items, size)


def at_least_one(concurrency: int) -> int:
    """Return ``concurrency``.

    Raises:
        InputError: it is below 1.
    """
    if concurrency < 1:
        raise InputError(f"{concurrency} requests at a time make no sense; give 1 or more")
    return concurrency


def _cut(items: Iterable[StreamItem | ItemScores], size: int) -> Iterator[Batch]:
    batch, length = Batch(), 0
    for item in items:
        if isinstance(item, ItemScores):
            batch.rows.append(item)
        else:
            identity, *parts = item
            try:
                body = body_of(*parts)
            except InputError as error:
                batch.rows.append(ItemScores(identity, error=str(error)))
            else:
                long = len(body["response"]) + sum(map(len, body["history"])) + sum(map(len, body.get("references", ())))
                if batch.items and length + long > LONGEST_BATCH:
                    yield batch
                    batch, length = Batch(), 0
                length += long
                batch.rows.append(None)
                batch.ids.append(identity)
                batch.items.append(body)
        if len(batch.rows) >= size:
            yield batch
            batch, length = Batch(), 0
    if batch.rows:
        yield batch


def body_of(history: Any, response: Any, references: Any = ()) -> dict[str, Any]:
    """Return one item as the service reads it.

    Raises:
        InputError: see :func:`tacit.reasoning.score.check_item`.
    """
    item = check_item(history, response, references)
    body: dict[str, Any] = {"history": item.history, "response": item.response}
    return {**body, "references": item.references} if item.references else body


def items_of(path: str | os.PathLike[str], strict: bool) -> Iterator[StreamItem | ItemScores]:
    """Yield the items of a dialogue file; a record that holds none is a row whose error names its line.

    Raises:
        InputError: see :func:`tacit.loaders.read_items`.
    """
    from ...loaders import ItemError, read_items

    return (
        ItemScores(row.id, error=f"line {row.line}: {row.reason}")
        if isinstance(row, ItemError)
        else (row.id, row.history, row.response, row.references)
        for row in read_items(path, strict=strict)
    )
