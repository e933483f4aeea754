"""Responses of dialogue files, and how many of them a program answers a second."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from tacit.graph.item import Item


def responses(path: Path, limit: int | None) -> list[Item]:
    """Return every turn from the second on of a file's dialogues with its history, at most ``limit`` of them."""
    items = []
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            turns = json.loads(line)["turns"]
            items += [Item(turns[:number], turns[number]) for number in range(1, len(turns))]
    return items[:limit]


def rate(work: Callable[[Any], object], answers: int, rounds: int, prepare: Callable[[], Any] = lambda: None) -> float:
    """Return answers a second of processor time, the median of ``rounds`` rounds.

    Each round calls ``work`` with what ``prepare``, which is not timed, returns.
    """
    rates = []
    for _ in range(rounds):
        prepared = prepare()
        started = time.process_time()
        work(prepared)
        rates.append(answers / (time.process_time() - started))
    return median(rates)
