"""The rows of a finished output, read back one by one beside the items that they are about.

So what was scored in another run, or on other machines, can be told of as if it had just been scored here.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.errors import InputError
from .plan import Form, Plan

if TYPE_CHECKING:
    from ...loaders.dialogues import Item, ItemError
    from ...reasoning.scoring import ItemScores

_AT_A_TIME = 10_000


def scored_before(plan: Plan, output: Path) -> Iterator[tuple[Item | None, ItemScores | ItemError]]:
    """Yield what :func:`tacit.api.scale.plan.scored` yielded when ``output`` was made of the plan's file, but for the evidence.

    A few rows at a time are in memory.

    Raises:
        InputError: the two do not go together, since one of them was changed meanwhile.
    """
    from ...loaders import ItemError, read_items

    rows = _of_parquet(output, plan.names) if plan.form is Form.PARQUET else _of_lines(output, plan.form)
    for item, row in zip_longest(read_items(plan.file), rows):
        if isinstance(item, ItemError) and isinstance(row, ItemError) and item.line == row.line:
            yield None, row
        elif item is None or row is None or isinstance(item, ItemError) or isinstance(row, ItemError) or row.id != item.id:
            raise InputError(f"{output} does not hold the scores of {plan.file} as it is now; score it again")
        else:
            yield item, row


def _of_lines(output: Path, form: Form) -> Iterator[ItemScores | ItemError]:
    """The rows of JSON lines, however long: evidence is read and forgotten."""
    import orjson

    with gzip.open(output) if form is Form.GZIP else output.open("rb") as file:
        for line in file:
            yield _row(orjson.loads(line))


def _of_parquet(output: Path, names: tuple[str, ...]) -> Iterator[ItemScores | ItemError]:
    """The rows of a Parquet file; see :mod:`tacit.api.scale.sheets`."""
    import pyarrow.parquet as pq

    kinds = ("score", "percentile", "note", "signature")
    columns = ["id", "line", "error", *(f"{kind}.{name}" for name in names for kind in kinds)]
    with pq.ParquetFile(output) as file:
        for batch in file.iter_batches(_AT_A_TIME, columns=columns):
            for sheet in batch.to_pylist():
                row = {name: sheet[name] for name in ("id", "line", "error") if sheet[name] is not None}
                row["scores"] = {name: sheet[f"score.{name}"] for name in names}
                row["percentiles"] = {name: sheet[f"percentile.{name}"] for name in names}
                row["notes"] = {name: note for name in names if (note := sheet[f"note.{name}"]) is not None}
                row["signature"] = {name: sheet[f"signature.{name}"] for name in names}
                yield _row(row)


def _row(row: dict[str, Any]) -> ItemScores | ItemError:
    """A row from its plain values."""
    from ...loaders import ItemError
    from ...reasoning.scoring import ItemScores

    if "line" in row:
        return ItemError(row["line"], row["error"], id=row.get("id"))
    row.pop("evidence", None)
    return ItemScores.from_dict(row)
