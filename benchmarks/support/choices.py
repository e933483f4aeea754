"""Tables on choices of CICERO: its instances, the folds and intervals over dialogues that share turns, and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tacit.graph.questions import Instance, Question
from tacit.graph.storage import file_sha256
from tacit.loaders import read_cicero, read_dialogues
from tacit.loaders.dialogues import Dialogue
from tacit.reasoning.inference.choice_figures import MEASURES, choice_measures, interval
from tacit.reasoning.inference.judges import FORM, form_of
from tacit.reasoning.training.choice_head import CONTROL, FormSettings, without_dialogues
from tacit.reasoning.training.corpora import clusters

Floats = NDArray[np.float64]
EXACT, F1, AUC = (MEASURES.index(name) for name in ("exact", "f1", "auc"))
STRONGEST = FormSettings(least=3, dialogues=1)
"""The control reads all words that occur three times; the judge that ships reads fewer, so that no dialogue's text is in it."""

PAPER = (
    "single answer, version 1: RoBERTa-large .833, ELECTRA .868, T5 .955, UnifiedQA .957",
    "all answers, version 1: T5 .777, UnifiedQA .775",
)


def read_instances(file: Path, but: Path | None, dialogues: int | None) -> tuple[list[Instance], NDArray[np.int64]]:
    """Return the instances with right and wrong choices, with the number of the group of dialogues that each is of.

    Args:
        but: a file of dialogues; those that share a turn of six words or more with it are left out.
        dialogues: a random number of the dialogues, all without one.
    """
    print(f"{file_sha256(file)}  {file.name}")
    rows = [instance for instance in read_cicero(file, strict=True) if isinstance(instance, Instance)]
    instances = [instance for instance in rows if 0 < len(instance.correct) < len(instance.choices)]
    if but is not None:
        dialogues_before = len({instance.id for instance in instances})
        instances = without_dialogues(instances, [row.turns for row in read_dialogues(but) if isinstance(row, Dialogue)])
        print(
            f"{dialogues_before - len({instance.id for instance in instances})} dialogues share a turn with {but.name} "
            "and are left out"
        )
    if dialogues is not None:
        names = sorted({instance.id for instance in instances})
        names_drawn = {names[index] for index in np.random.default_rng(0).permutation(len(names))[:dialogues].tolist()}
        instances = [instance for instance in instances if instance.id in names_drawn]
    groups, number = clusters(instances), len({instance.id for instance in instances})
    print(
        f"{len(instances):,} instances of {number} dialogues, {groups.max() + 1} groups that share no turns; "
        f"an exact match by chance {chance(instances):.3f}",
        flush=True,
    )
    return instances, groups


def chance(instances: Sequence[Instance]) -> float:
    """Return the mean probability of an exact match by guessing, where the number of answers is known."""
    return float(np.mean([1 / comb(len(instance.choices), len(instance.correct)) for instance in instances]))


def without_fit(instances: Sequence[Instance]) -> dict[str, Floats]:
    """Return the figures of the controls that need no fit: the length, and words of negation."""
    tables = {}
    for name, feature, sign in (("length alone", "length", 1.0), ("words of negation alone", "denials", -1.0)):
        scores = [(sign * form_of(instance.choices)[:, FORM.index(feature)]).tolist() for instance in instances]
        tables[name] = choice_measures(instances, scores)
    return tables


def rows_of(judges: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of judges in the table: each alone, with the graph, with the control, with both, and all."""
    others = [judge for judge in judges if judge not in (CONTROL, "graph")]
    beside: list[tuple[str, ...]] = [(), *([("graph",)] if "graph" in judges else [])]
    groups: list[tuple[str, ...]] = [(CONTROL,), *beside[1:], *((judge,) for judge in others)]
    groups += [(*graph, judge) for graph in beside[1:] for judge in others]
    groups += [(CONTROL, *graph) for graph in beside[1:]]
    groups += [(CONTROL, *graph, judge) for graph in beside for judge in others]
    return list(dict.fromkeys([*groups, tuple(judges)]))


def print_tables(
    tables: Mapping[str, Floats],
    instances: Sequence[Instance],
    groups: NDArray[np.int64],
    control: Floats,
    resamples: int,
    shown: Sequence[str] = (),
) -> None:
    """Print the table with gains over the control, and the one by question, with intervals over groups.

    Args:
        tables: figures of each row, shape (instances, measures); shown: rows of the table by question, by default all.
    """
    names = [str(group) for group in groups.tolist()]

    def cell(values: Floats, of: Sequence[str], sign: str = "") -> str:
        mean = interval(values, of, resamples=resamples)
        return f"{mean.value:{sign}.3f} [{mean.low:{sign}.3f}, {mean.high:{sign}.3f}]"

    columns = ("judges", *MEASURES, "exact over control", "AUC over control")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, values in tables.items():
        cells = [f"{values[:, index].mean():.3f}" for index in range(len(MEASURES))]
        is_control = values is control
        cells += ["" if is_control else cell(values[:, index] - control[:, index], names, "+") for index in (EXACT, AUC)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for line in PAPER:
        print(f"| CICERO's paper, {line} |{' |' * (len(columns) - 1)}")
    questions = [question for question in Question if any(instance.question is question for instance in instances)]
    print(f"\n| exact, F1, AUC | {' | '.join(questions)} |\n|{'---|' * (len(questions) + 1)}")
    for name, values in tables.items():
        if shown and name not in shown:
            continue
        cells = []
        for question in questions:
            indices = [index for index, instance in enumerate(instances) if instance.question is question]
            names_of_question = [names[index] for index in indices]
            cells.append(", ".join(cell(values[indices, index], names_of_question) for index in (EXACT, F1, AUC)))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
