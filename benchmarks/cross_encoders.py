"""How well cross-encoders agree with people whose labels they have not read: tables 1 and 4 of ACCENT, with an encoder of yours.

    python benchmarks/cross_encoders.py DATA_DIR --model ID|FOLDER [--epochs N N] [--seeds N] [--folds N] [--resamples N] [--json]

DATA_DIR holds judgements/deco-train.json.gz and judgements/cskb-dev.csv.gz. The paper trains on DECO's and CSKB's training parts;
here each label is predicted by a model trained on the other folds of the same file. Three tables:

- responses: the metric ``cross-encoder`` on DECO's responses, in folds over conversations, against their event commonsense.
- triples: the tuple scorer ``cross-encoder`` on CSKB's judged triples, in folds over heads; AUC as in accent_table.py.
- human tuples: the scorer trained on all of CSKB; its mean over DECO's human tuples against the event commonsense.

Predictions are averaged over the seeds in a last row of each table.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from accent_table import Rows, _within, area, correlated, history_of, judged, percentiles, show
from numpy.typing import NDArray
from tacit.api.terminal.progress import Meter
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.metrics.accent.scorers.kgbert import pair_of
from tacit.reasoning.metrics.baselines.cross_encoder import texts_of
from tacit.reasoning.models.cross_encoder import open_cross_encoder
from tacit.reasoning.training.cross_encoder import Example, train_cross_encoder
from tacit.reasoning.training.recipe import RatingRecipe

Floats = NDArray[np.float64]
Pair = tuple[str, str]
FACTS = {"command": "python benchmarks/cross_encoders.py", "use": "in a fold", "files": []}
"""For the cards of the models, which are deleted with them."""


def predicted(train: Sequence[Example], pairs: Sequence[Pair], model: str, recipe: RatingRecipe) -> Floats:
    """Return the ratings that a model trained on ``train`` predicts."""
    with tempfile.TemporaryDirectory() as folder:
        train_cross_encoder(train, model, Path(folder) / "model", recipe, facts=FACTS)
        return open_cross_encoder(Path(folder) / "model").predict(pairs)


def across_folds(
    pairs: Sequence[Pair], ratings: Floats, groups: Sequence[str], model: str, recipe: RatingRecipe, folds: int, meter: Meter
) -> Floats:
    """Return the rating of each pair, predicted by the model of the folds without its group."""
    names = sorted(set(groups))
    order = np.random.default_rng(0).permutation(len(names)).tolist()
    fold_of = {names[index]: rank % folds for rank, index in enumerate(order)}
    fold = np.array([fold_of[group] for group in groups])
    scores = np.full(len(pairs), np.nan)
    for number in range(folds):
        train = [
            Example(*pairs[index], float(ratings[index]), "all", groups[index])
            for index in np.flatnonzero(fold != number).tolist()
        ]
        test = np.flatnonzero(fold == number)
        scores[test] = predicted(train, [pairs[index] for index in test.tolist()], model, recipe)
        meter.add(1)
    return scores


def rows_by_seed(seeds: Sequence[Floats]) -> list[tuple[str, Floats]]:
    """Return the scores of each seed, and their mean."""
    named = [(f"seed {seed}", scores) for seed, scores in enumerate(seeds)]
    return [*named, ("mean of the seeds", np.mean(seeds, 0))] if len(seeds) > 1 else named


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--epochs", nargs=2, type=float, default=(10.0, 3.0), help="over responses, and over triples")
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.data is None or given.model is None:
        print("nothing is measured: name the folder of the data, and an encoder with --model")
        return
    with gzip.open(given.data / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        dialogues: Rows = json.load(file)
    triples = judged(given.data / "judgements" / "cskb-dev.csv.gz")
    items = [(history_of(row), row["response"]) for row in dialogues]
    texts = [texts_of(history, response) for history, response in items]
    ratings, talks = np.array([float(row["event_cs"]) for row in dialogues]), conversations(items)
    pairs = [pair_of((row["head"], row["relation"], row["tail"])) for row in triples]
    labels, relations = np.array([int(row["label"]) for row in triples]), np.array([row["relation"] for row in triples])
    heads = [row["head"] for row in triples]
    with_tuples = [index for index, row in enumerate(dialogues) if row["tuples_single"] or row["tuples_pair"]]
    human = [
        [pair_of(one) for one in (*dialogues[index]["tuples_single"], *dialogues[index]["tuples_pair"])] for index in with_tuples
    ]
    responses, plausible, tuples = [], [], []
    with Meter("training", total=given.seeds * (2 * given.folds + 1), noun="models") as meter:
        for seed in range(given.seeds):
            of_responses, of_triples = (
                RatingRecipe(epochs=epochs, rate=given.rate, held_out=0, checkpoint_every=0, seed=seed) for epochs in given.epochs
            )
            talk_names = [str(talk) for talk in talks.tolist()]
            responses.append(across_folds(texts, ratings, talk_names, given.model, of_responses, given.folds, meter))
            plausible.append(across_folds(pairs, labels.astype(float), heads, given.model, of_triples, given.folds, meter))
            train = [Example(*pair, float(label), "all", head) for pair, label, head in zip(pairs, labels, heads, strict=True)]
            flat = predicted(train, [pair for group in human for pair in group], given.model, of_triples)
            means = iter(flat.tolist())
            tuples.append(np.array([np.mean([next(means) for _ in group]) for group in human]))
            meter.add(1)
    draws = _within(relations, given.resamples)
    tables: dict[str, Rows] = {
        "responses": [
            {"model": name, **correlated(scores, ratings, talks, given.resamples)} for name, scores in rows_by_seed(responses)
        ],
        "triples": [
            {
                "model": name, "auc": round(area(labels, relations, scores), 4),
                "interval": percentiles([area(labels[draw], relations[draw], scores[draw]) for draw in draws]),
            }
            for name, scores in rows_by_seed(plausible)
        ],
        "human tuples": [
            {"model": name, **correlated(scores, ratings[with_tuples], talks[with_tuples], given.resamples)}
            for name, scores in rows_by_seed(tuples)
        ],
    }  # fmt: skip
    if given.json:
        print(json.dumps(tables))
        return
    for name, table in tables.items():
        show(name, table)


if __name__ == "__main__":
    main()
