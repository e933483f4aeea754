"""Rows of the tables on choices of CICERO, beside the judge that reads the choices alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tacit.graph.questions import Instance
from tacit.reasoning.inference.choice_figures import MEASURES, by_question, interval

Floats = NDArray[np.float64]
CONTROL = "answers"
AUC, EXACT = MEASURES.index("auc"), MEASURES.index("exact")


def row(name: str, instances: Sequence[Instance], found: Floats, control: Floats, resamples: int) -> str:
    """Return one line of the table: the means of ``found``, shape (instances, measures), and gains over ``control``."""
    dialogues = [one.id for one in instances]
    cells = [f"{found[:, place].mean():.3f}" for place in range(len(MEASURES))]
    for place in (EXACT, AUC):
        gain = interval(found[:, place] - control[:, place], dialogues, resamples=resamples)
        cells.append(f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
    return f"| {name} | {' | '.join(cells)} |"


def questions(name: str, instances: Sequence[Instance], found: Floats) -> str:
    """Return one line of the table by question."""
    auc, exact = by_question(instances, found[:, AUC]), by_question(instances, found[:, EXACT])
    return f"| {name} | " + " | ".join(f"{auc[question]:.3f}, {exact[question]:.3f}" for question in auc) + " |"


def print_tables(tables: dict[str, Floats], instances: Sequence[Instance], control: Floats, resamples: int) -> None:
    """Print both tables, with a row for each of ``tables``."""
    columns = ("judges", *MEASURES, "exact over control", "AUC over control")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, found in tables.items():
        print(row(name, instances, found, control, resamples))
    asked = list(by_question(instances, control[:, AUC]))
    print(f"\n| AUC, exact by question | {' | '.join(asked)} |\n|{'---|' * (len(asked) + 1)}")
    for name, found in tables.items():
        print(questions(name, instances, found))


def joined(parts: dict[str, list[Floats]], names: Sequence[str]) -> list[Floats]:
    """Return the features of several judges side by side, for each instance."""
    return [np.concatenate(each, axis=1) for each in zip(*(parts[name] for name in names), strict=True)]
