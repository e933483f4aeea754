"""Judgement files: items with human ratings, in the formats in which such data is published.

The formats are DECO, GRADE's human ratings, ``{"history", "response", "rating"}``, and dialogues with ``turn_ratings`` as in
Topical-Chat; as JSON lines, a JSON list, CSV or Parquet, plain or gzip. The format is recognised by the content, not by the name.
A record without a judgement gives a :class:`JudgementError` in its place.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..graph.errors import InputError
from ..graph.item import ItemError
from .dialogues import (
    BrokenRecord,
    history_of,
    list_in,
    own_id,
    parsed_rows,
    references_of,
    response_of,
    texts_of,
    turns_of,
)
from .io import ByteSource
from .records import Columns

DECO_RATINGS = ("event_cs", "general_cs")

TURN_RATINGS: Mapping[str, float] = {"poor": 1.0, "not good": 2.0, "passable": 3.0, "good": 4.0, "excellent": 5.0}
"""Topical-Chat's words for the quality of a message, as 1 to 5."""

_EXTENSIONS = (".gz", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet", ".conllu")
_WANTED = "history (or context), response and rating"
_RATINGS = ("rating", "ratings", "turn_ratings")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Human rating of a response.

    Attributes:
        id: the row's ``id`` (in DECO ``GUID``), or its number in the file; for a dialogue followed by ``/<number of the turn,
            from 1>``.
        history: the turns before the response, oldest first; may be empty.
        response: the turn that was rated.
        rating: on the file's own scale, finite; the mean where there are several raters.
        references: human responses to the same history; often empty.
        dataset: the row's own data set, or the file's name without extensions.
        system: the system that gave the response; None when it is unknown.
        ratings: of the individual raters, where the row has them.
    """

    id: str
    history: tuple[str, ...]
    response: str
    rating: float
    references: tuple[str, ...] = ()
    dataset: str = ""
    system: str | None = None
    ratings: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgementError(ItemError):
    """A row without a judgement: its number from 1, the reason, and its data set as far as it is known."""

    dataset: str = ""


def read_judgements(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    rating: str = "event_cs",
    dataset: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Judgement | ItemError]:
    """Yield the judgements of a file (gzip or plain; ``-`` reads standard input) in its order.

    The formats, as described by their publishers:

    * DECO (Ghazarian et al., ACL 2023): a JSON list; ``</UTT>`` after every turn of ``history``; ``event_cs`` and ``general_cs``
      from 1 to 5, each the mean of three raters. It counts as one data set, as in the paper, whatever corpora ``source`` names.
    * GRADE (Huang et al., EMNLP 2020): the released ``human_judgement.json`` with its ConvAI2, DailyDialog and Empathetic items
      (``Dataset``, ``DialogModel``, ``Context`` with ``|||`` between turns, ``Response``, ``HumanScores``), or ``dataset``,
      ``model``, ``ratings``, of 8 to 11 people from 1 to 5; the rating is the mean.
    * ``{"history", "response", "rating"}``; history (or ``context``) is a list, or a text with one turn per line; optionally
      ``id``, ``dataset``, ``system``, ``reference`` or ``references``, ``ratings``; without a ``rating`` it is the mean of
      ``ratings``. In CSV, a list is JSON in its cell. Ratings that are null or empty count as not given.
    * ``{"messages", "rating"}``; the last message is the response that was rated.
    * Topical-Chat (Gopalakrishnan et al., Interspeech 2019): ``turns`` and ``turn_ratings``. The rating at an index is the
      partner's, of the message at the same index; every rated turn from the second on is a judgement, Poor = 1 to Excellent = 5.
      Turns without a rating (an empty text) are not judgements.

    Args:
        path: the file.
        strict: end at the first row without a judgement.
        rating: the rating of DECO to use, ``event_cs`` or ``general_cs``; other formats have one.
        dataset: the data set of rows that do not name one; by default the file's name without extensions.
        columns: for fields of a row the columns (of JSON: the keys) that have them, where they have other names. If
            ``rating``, ``ratings`` or ``turn_ratings`` is among them, a row's own fields of these names are ignored.

    Raises:
        InputError: the file cannot be opened, or ``rating`` is neither of the two; while iterating, when the file has none of
            these formats, and under ``strict`` for the first row without a judgement.
    """
    if rating not in DECO_RATINGS:
        raise InputError(f"unknown DECO rating {rating!r}; choose from {', '.join(DECO_RATINGS)}")
    return _judgements(ByteSource(path), strict, rating, dataset_name(path) if dataset is None else dataset, columns or {})


def dataset_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without its folder and extensions, e.g. ``fed-turn`` for ``data/fed-turn.jsonl.gz``."""
    if os.fspath(path) == "-":
        return "stdin"
    name = os.path.basename(os.fspath(path))  # noqa: PTH119 (the path may be any text)
    while extension := next((end for end in _EXTENSIONS if name.lower().endswith(end) and len(name) > len(end)), None):
        name = name[: -len(extension)]
    return name


def _judgements(
    source: ByteSource, strict: bool, rating: str, dataset: str, columns: Mapping[str, str]
) -> Iterator[Judgement | ItemError]:
    forms = Columns(_has_judgements, _WANTED, "judgements", columns)
    ignored = () if columns.keys().isdisjoint(_RATINGS) else [name for name in _RATINGS if name not in columns]

    def parse(data: Any, number: int) -> list[Judgement | JudgementError]:
        if isinstance(data, dict):
            data = {key: value for key, value in data.items() if key not in ignored}
        return judgements_in(data, number, dataset, rating)

    for rows in parsed_rows(source, forms, parse, strict=False):
        if isinstance(rows, ItemError):
            rows = [JudgementError(rows.line, rows.reason, dataset, damage=rows.damage)]
        for row in rows:
            if strict and isinstance(row, JudgementError):
                raise InputError(f"{source.path}, row {row.line}: {row.reason}")
            yield row


def _has_judgements(names: set[str]) -> bool:
    if "turn_ratings" in names:
        return "turns" in names
    rated = names & {"rating", "ratings", *DECO_RATINGS}
    texts = ("response" in names and names & {"history", "context"}) or "messages" in names
    return bool(rated and texts)


def judgements_in(data: Any, number: int, dataset: str, deco_rating: str) -> list[Judgement | JudgementError]:
    """Return the judgements in row ``number``, whose data set is ``dataset`` unless it has its own."""
    if not isinstance(data, dict):
        return [JudgementError(number, "not a JSON object; expected history, response and rating", dataset)]
    try:
        if _has(data, "HumanScores"):
            data = _released_by_grade(data)
        dataset = _name(data, "dataset") or dataset
        row_id = _name(data, "id", "GUID") or str(number)
        if _has(data, "turn_ratings"):
            return _dialogue(data, number, row_id, dataset)
        rating, ratings = _rating(data, deco_rating)
        history, response = _history_and_response(data)
        references, system = references_of(data), _name(data, "system", "model")
        text = response.strip() if _is_deco(data) else response
        return [Judgement(row_id, history, text, rating, references, dataset, system, ratings)]
    except BrokenRecord as error:
        return [JudgementError(number, str(error), dataset, id=own_id(data))]


def _history_and_response(data: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return the history and the response that was rated; the last of ``messages`` without a ``response``."""
    if "messages" in data and "response" not in data:
        turns, _ = turns_of(data)
        return tuple(turns[:-1]), turns[-1]
    response = response_of(data)
    return history_of(data), response


def _released_by_grade(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record of GRADE's ``human_judgement.json`` under the names of the other formats."""
    context = data.get("Context")
    if not isinstance(context, str):
        raise BrokenRecord("Context is not a text")
    return {
        "id": data.get("ID"), "dataset": data.get("Dataset"), "model": data.get("DialogModel"),
        "history": context.split("|||") if context.strip() else [], "response": data.get("Response"),
        "ratings": list(_numbers(_list(data["HumanScores"]), "HumanScores")),
    }  # fmt: skip


def _is_deco(data: dict[str, Any]) -> bool:
    return any(key in data for key in DECO_RATINGS)


def _name(data: dict[str, Any], *keys: str) -> str | None:
    """Return the first text or number under one of ``keys``, None when there is none."""
    names = (own_id(data, key) for key in keys)
    return next((name.strip() for name in names if name is not None), None)


def _has(data: dict[str, Any], key: str) -> bool:
    return not _is_absent(data.get(key))


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _rating(data: dict[str, Any], deco_rating: str) -> tuple[float, tuple[float, ...]]:
    """Return the rating of a response and those of the individual raters."""
    values = _list(data.get("ratings"))
    ratings = () if values is None else _numbers(values, "ratings")
    if _list(data.get("rating")) is not None:
        raise BrokenRecord("rating is a list; the list of several people's ratings is ratings")
    if _has(data, "rating"):
        return _number(data["rating"], "rating"), ratings
    if ratings:
        return math.fsum(ratings) / len(ratings), ratings
    if _is_deco(data):
        values = _list(data.get(f"{deco_rating}_raw"))
        ratings = () if values is None else _numbers(values, f"{deco_rating}_raw")
        return _number(data.get(deco_rating), deco_rating), ratings
    if _has(data, "ratings"):
        raise BrokenRecord("ratings is not a list of numbers" if values is None else "ratings is empty")
    if "rating" in data or "ratings" in data:
        raise BrokenRecord(f"{'rating' if 'rating' in data else 'ratings'} is missing")
    if "turns" in data:
        raise BrokenRecord("turns without turn_ratings are a dialogue without ratings")
    raise BrokenRecord("no rating; expected rating, ratings, event_cs or turn_ratings")


def _list(value: Any) -> list[Any] | None:
    """Return a list, in CSV of the text in its cell; None where there is none."""
    return list_in(value) if isinstance(value, str) else value if isinstance(value, list) else None


def _numbers(values: list[Any] | None, key: str) -> tuple[float, ...]:
    """Return the numbers of a list, without entries that are null or empty."""
    if values is None:
        raise BrokenRecord(f"{key} is not a list of numbers")
    return tuple(_number(value, f"an entry of {key}") for value in values if not _is_absent(value))


def _number(value: Any, key: str) -> float:
    """Return a finite number, also from a text as in CSV."""
    if _is_absent(value):
        raise BrokenRecord(f"{key} is missing")
    if isinstance(value, bool) or not isinstance(value, str | int | float) or (isinstance(value, str) and "_" in value):
        raise BrokenRecord(f"{key} is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise BrokenRecord(f"{key} is not a number") from None
    if not math.isfinite(number):
        raise BrokenRecord(f"{key} is {number}, which is not a rating")
    return number


def _dialogue(data: dict[str, Any], number: int, row_id: str, dataset: str) -> list[Judgement | JudgementError]:
    """Return a judgement of every rated turn from the second on, with the turns before it as history."""
    turns, ratings = texts_of(data.get("turns"), "turns"), _list(data["turn_ratings"])
    if ratings is None or len(ratings) != len(turns):
        raise BrokenRecord("turn_ratings is not a list with one rating per turn")
    system = _name(data, "system", "model")
    judgements: list[Judgement | JudgementError] = []
    for index, rating in enumerate(ratings):
        if index and not _is_absent(rating):
            turn_id = f"{row_id}/{index + 1}"
            try:
                value = _turn_rating(rating)
            except BrokenRecord as error:
                judgements.append(JudgementError(number, str(error), dataset, id=turn_id))
            else:
                judgements.append(Judgement(turn_id, tuple(turns[:index]), turns[index], value, (), dataset, system))
    return judgements


def _turn_rating(rating: Any) -> float:
    if isinstance(rating, str) and (number := TURN_RATINGS.get(rating.strip().lower())) is not None:
        return number
    try:
        return _number(rating, "an entry of turn_ratings")
    except BrokenRecord as error:
        raise BrokenRecord(f"{error}, nor one of Poor, Not Good, Passable, Good, Excellent") from None
