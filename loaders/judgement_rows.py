"""One row of a judgement file, in any of the forms that such files have, as judgements; or the reason why it holds none.

A row is a mapping as JSON or CSV gives it. What it holds tells its form: ``turn_ratings`` a rated dialogue, ``rating`` or
``ratings`` a rated response, ``event_cs`` and ``general_cs`` a row of DECO.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from .dialogues import ItemError

DECO_RATINGS = ("event_cs", "general_cs")

#: Topical-Chat's words for the quality of a message, from worst to best, as 1 to 5.
TURN_RATINGS: Mapping[str, float] = {"poor": 1.0, "not good": 2.0, "passable": 3.0, "good": 4.0, "excellent": 5.0}

_DECO_END = "</UTT>"
_TEXTS = "a list of texts"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What people said of one response in its context.

    Attributes:
        id: the row's own ``id`` (DECO: ``GUID``), else its number in the file; for a rated dialogue with ``/<number of the
            turn, from 1>`` after it.
        history: the utterances before the response, oldest first; may be empty.
        response: the utterance that was rated.
        rating: on the file's own scale, finite; the mean where there are several raters.
        references: responses that people gave at this place; often none.
        dataset: the row's own name of its data set, else the file's name without extensions.
        system: who gave the response; None when the row does not say.
        ratings: of the single raters, where the row has them.
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
    """A row that holds no judgement: its number from 1, why, and the data set that it belongs to as far as it says."""

    dataset: str = ""


class _Broken(Exception):
    """Why a row holds no judgement, in a few words."""


def judgements_in(data: Any, number: int, dataset: str, deco_rating: str) -> list[Judgement] | JudgementError:
    """Return the judgements in row ``number``, whose data set is ``dataset`` unless it names its own."""
    if not isinstance(data, dict):
        return JudgementError(number, "not a JSON object; expected history, response and rating", dataset)
    dataset = _name(data, "dataset") or dataset
    try:
        name = _name(data, "id", "GUID") or str(number)
        if "turn_ratings" in data:
            return _dialogue(data, name, dataset)
        rating, ratings = _rating(data, deco_rating)
        response = data.get("response")
        if not isinstance(response, str):
            raise _Broken("response is missing" if response is None else "response is not a text")
        history, references, system = _history(data.get("history")), _references(data), _name(data, "system", "model")
        text = response.strip() if _is_deco(data) else response
        return [Judgement(name, history, text, rating, references, dataset, system, ratings)]
    except _Broken as reason:
        return JudgementError(number, str(reason), dataset)


def _is_deco(data: dict[str, Any]) -> bool:
    return any(key in data for key in DECO_RATINGS)


def _name(data: dict[str, Any], *keys: str) -> str | None:
    """Return the first name under one of ``keys``, None when there is none."""
    for key in keys:
        value = data.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return None


def _rating(data: dict[str, Any], deco_rating: str) -> tuple[float, tuple[float, ...]]:
    """Return the rating of a response and those of the single raters."""
    if "rating" in data:
        several = _several(data["ratings"], "ratings") if isinstance(data.get("ratings"), list) else ()
        return _number(data["rating"], "rating"), several
    if "ratings" in data:
        several = _several(data["ratings"], "ratings")
        if not several:
            raise _Broken("ratings is empty")
        return math.fsum(several) / len(several), several
    if _is_deco(data):
        raw = data.get(f"{deco_rating}_raw")
        return _number(data.get(deco_rating), deco_rating), _several(raw, f"{deco_rating}_raw") if isinstance(raw, list) else ()
    if "turns" in data:
        raise _Broken("turns without turn_ratings are a dialogue that nobody rated")
    raise _Broken("no rating; expected rating, ratings, event_cs or turn_ratings")


def _several(values: Any, key: str) -> tuple[float, ...]:
    if not isinstance(values, list):
        raise _Broken(f"{key} is not a list of numbers")
    return tuple(_number(value, f"an entry of {key}") for value in values)


def _number(value: Any, key: str) -> float:
    """Return a finite number, also from a text as CSV has it."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise _Broken(f"{key} is missing")
    if isinstance(value, bool) or not isinstance(value, str | int | float) or (isinstance(value, str) and "_" in value):
        raise _Broken(f"{key} is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _Broken(f"{key} is not a number") from None
    if not math.isfinite(number):
        raise _Broken(f"{key} is {number}, which is no rating")
    return number


def _history(value: Any) -> tuple[str, ...]:
    """Return the turns of a list, of a JSON list in a text, or of a text with ``</UTT>`` or newlines between them."""
    if isinstance(value, str):
        if value.lstrip().startswith("[") and (listed := _json_texts(value)) is not None:
            return listed
        if _DECO_END in value:
            return tuple(turn.strip() for turn in value.split(_DECO_END) if turn.strip())
        return tuple(turn for turn in value.replace("\r\n", "\n").split("\n") if turn.strip())
    if value is None:
        raise _Broken("history is missing")
    if not _texts(value):
        raise _Broken(f"history is neither {_TEXTS} nor one newline-separated text")
    return tuple(value)


def _references(data: dict[str, Any]) -> tuple[str, ...]:
    """Return the texts of ``references`` (a list, in CSV as JSON) and ``reference`` (one text, or a list)."""
    found: tuple[str, ...] = ()
    for key in ("references", "reference"):
        value = data.get(key)
        if isinstance(value, str):
            listed = _json_texts(value) if value.lstrip().startswith("[") else None
            value = list(listed) if listed is not None else [value] if value.strip() else []
        if value is not None and not _texts(value):
            raise _Broken(f"{key} is neither a text nor {_TEXTS}")
        found += tuple(value or ())
    return found


def _dialogue(data: dict[str, Any], name: str, dataset: str) -> list[Judgement]:
    """Return every rated turn from the second on, judged against what was said before it."""
    turns, ratings = data.get("turns"), data["turn_ratings"]
    if not _texts(turns):
        raise _Broken(f"turns is not {_TEXTS}")
    if not isinstance(ratings, list) or len(ratings) != len(turns):
        raise _Broken("turn_ratings is not a list with one rating a turn")
    system = _name(data, "system", "model")
    return [
        Judgement(f"{name}/{place + 1}", tuple(turns[:place]), turns[place], _turn_rating(rating), (), dataset, system)
        for place, rating in enumerate(ratings)
        if place and rating not in ("", None)
    ]


def _turn_rating(rating: Any) -> float:
    if isinstance(rating, str) and (number := TURN_RATINGS.get(rating.strip().lower())) is not None:
        return number
    try:
        return _number(rating, "an entry of turn_ratings")
    except _Broken as reason:
        raise _Broken(f"{reason}, nor one of Poor, Not Good, Passable, Good, Excellent") from None


def _json_texts(value: str) -> tuple[str, ...] | None:
    """Return the texts of a JSON list, None when ``value`` is none."""
    try:
        listed = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return None
    return tuple(listed) if _texts(listed) else None


def _texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
