"""How well the commonsense regressor agrees with people, by features and by data set: the rows of the paper's Table 4, and more.

    python benchmarks/commonsense_table.py GRAPH JUDGEMENTS... [--language-model FOLDER] [--model FOLDER] [--shipped-card]

Each file is one data set. Rows of a variant and a count are cross-validated on the data set itself: every response is predicted
by models that saw no response of its conversation. The other rows learnt nothing from these files: the number of words; a
monotone rule (log1p of both counts, standardised as in the shipped model, less that of the length); the model that ships with
tacit, and those named by ``--model``. In brackets 95% bootstrap intervals over conversations. Without a language model the rows
that read losses are named and left out. ``--shipped-card`` also rewrites the card of the shipped model with these results.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.correlating import agreement
from tacit.graph import KnowledgeGraph, open_graph, open_index
from tacit.graph.item import Item
from tacit.loaders import Judgement, read_judgements
from tacit.loaders.judgements import dataset_name
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.correlation import Correlation, formatted
from tacit.reasoning.metrics.commonsense.features import open_features
from tacit.reasoning.metrics.commonsense.metric import SHIPPED
from tacit.reasoning.metrics.commonsense.regressor import FEATURES, VARIANTS, Matrix, Regressor, load_regressor, transform
from tacit.reasoning.models.causal_lm import CausalModel, open_causal
from tacit.reasoning.training.card import commonsense_card as card
from tacit.reasoning.training.commonsense import divide, out_of_fold
from tacit.reasoning.training.recipe import CommonsenseRecipe, NetworkRecipe

FOLDS = 10
COUNTS = ("pairs", "triples")
Row = dict[str, Correlation] | None


@dataclass(frozen=True)
class Set:
    """One data set: what was rated, how, and the features under both counts."""

    name: str
    judgements: list[Judgement]
    ratings: Matrix
    values: dict[str, Matrix]


def read(path: str, graph: KnowledgeGraph, model: CausalModel | None) -> Set:
    """Read a judgement file and compute its features; those of a language model only with ``model``."""
    judgements = [row for row in read_judgements(path) if isinstance(row, Judgement)]
    items = [Item(judgement.history, judgement.response) for judgement in judgements]
    losses = np.empty((len(items), 0))
    if model is not None:
        losses = open_features(VARIANTS["neural"], None, language_model=model).values(items)
    values = {}
    for count in COUNTS:
        symbolic = open_features(VARIANTS["symbolic"], graph, count=count, cache_size=100_000).values(items)
        values[count] = np.concatenate([symbolic, losses], axis=1)
    return Set(dataset_name(path), judgements, np.array([judgement.rating for judgement in judgements]), values)


def rows(neural: bool) -> list[tuple[str, str, str]]:
    """Return the trained rows as (name, variant, count)."""
    result = [(f"symbolic, {count}", "symbolic", count) for count in COUNTS]
    if neural:
        result += [("neural", "neural", COUNTS[0]), *((f"all, {count}", "all", count) for count in COUNTS)]
    return result


def untrained(data: Set, models: Mapping[str, Regressor]) -> dict[str, Matrix]:
    """Return the scores of what learnt nothing from these files."""
    rule = load_regressor(SHIPPED)
    count = str(rule.facts["count"])
    values = (transform(data.values[count][:, :3], FEATURES[:3]) - rule.mean) / rule.scale
    scores = {"length": data.values[count][:, 2], f"monotone, {count}": values @ [1.0, 1.0, -1.0]}
    for name, model in models.items():
        columns = [FEATURES.index(feature) for feature in model.features]
        scores[name] = model.predict(data.values[str(model.facts["count"])][:, columns])
    return scores


def measure(data: Set, models: Mapping[str, Regressor], seed: int, resamples: int, neural: bool) -> dict[str, Row]:
    """Return the agreement of every row on one data set."""
    scores = untrained(data, models)
    items = [(judgement.history, judgement.response) for judgement in data.judgements]
    _, rounds = divide(items, CommonsenseRecipe(folds=FOLDS, seed=seed))
    for name, variant, count in rows(neural):
        columns = data.values[count][:, [FEATURES.index(feature) for feature in VARIANTS[variant]]]
        scores[name] = out_of_fold(columns, data.ratings, rounds, VARIANTS[variant], NetworkRecipe(), seed)
    talks = conversations(items)
    return {name: agreement(predictions, data.ratings, talks, resamples) for name, predictions in scores.items()}


def markdown(sets: list[Set], correlations: dict[str, dict[str, Row]], kind: str) -> str:
    """Return one table: a row for each model, a column for each data set."""
    names = list(next(iter(correlations.values())))
    columns = " | ".join(f"{data.name} ({len(data.ratings)})" for data in sets)
    lines = [f"| {kind.title()} | {columns} |", "|---" * (len(sets) + 1) + "|"]
    lines += [
        f"| {name} | {' | '.join(formatted(row[kind]) if (row := correlations[data.name][name]) else '–' for data in sets)} |"
        for name in names
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("judgements", nargs="+")
    parser.add_argument("--language-model", type=Path, help="folder of a causal language model")
    parser.add_argument("--model", type=Path, action="append", default=[], help="folder of another regressor; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--shipped-card", action="store_true", help="rewrite the card of the shipped model")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    start = time.perf_counter()
    model = open_causal(arguments.language_model) if arguments.language_model else None
    models = {"as shipped": load_regressor(SHIPPED), **{path.name: load_regressor(path) for path in arguments.model}}
    sets, correlations = [], {}
    with open_graph(arguments.graph) as store, open_index(store) as graph:
        digest = graph.manifest().digest
        for path in arguments.judgements:
            data = read(path, graph, model)
            sets.append(data)
            correlations[data.name] = measure(data, models, arguments.seed, arguments.resamples, model is not None)
            print(f"{data.name}: {len(data.ratings)} judgements, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    if arguments.json:
        plain = {
            name: {
                row: {kind: correlation.to_dict() for kind, correlation in by_kind.items()} if by_kind else None
                for row, by_kind in table.items()
            }
            for name, table in correlations.items()
        }
        print(json.dumps(plain))
    else:
        print(f"{FOLDS}-fold cross-validation, conversations kept together, seed {arguments.seed}; graph {digest};")
        print(f"language model: {model.signature if model else 'none, so the rows neural and all could not be run'}.\n")
        print("\n\n".join(markdown(sets, correlations, kind) for kind in ("spearman", "pearson")))
    if arguments.shipped_card:
        write_card(sets, correlations)


def write_card(sets: list[Set], correlations: dict[str, dict[str, Row]]) -> None:
    """Write the card of the shipped model with its agreement with people, which it has never learnt from."""
    lines = [
        "People's ratings, none of which the model has seen; `docs/commonsense.md` says how it was chosen:",
        "", "| data set | n | Pearson | Spearman |", "|---|---|---|---|",
    ]  # fmt: skip
    for data in sets:
        row = correlations[data.name]["as shipped"]
        cells = [formatted(row[kind]) if row else "–" for kind in ("pearson", "spearman")]
        lines.append(f"| {data.name} | {len(data.ratings):,} | {' | '.join(cells)} |")
    text = card(load_regressor(SHIPPED), path="")
    (SHIPPED / "README.md").write_text("\n".join([text, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
