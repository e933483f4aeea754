"""How well cross-encoders agree with people whose labels they have not read: tables 1 and 4 of ACCENT, with an encoder of yours.

    python benchmarks/cross_encoders.py DATA_DIR --model ID|FOLDER [--epochs N N] [--seeds N] [--folds N] [--resamples N] [--json]

DATA_DIR holds judgements/deco-train.json.gz and judgements/cskb-dev.csv.gz. The paper trains on DECO's and CSKB's training parts;
here each label is predicted by a model trained on the other folds of the same file. Three tables, one row a seed:

- responses: the metric ``cross-encoder`` on DECO's responses, in folds over conversations, against their event commonsense.
- triples: the tuple scorer ``cross-encoder`` on CSKB's judged triples, in folds over heads; AUC as in accent_table.py.
- human tuples: the scorer trained on all of CSKB; its mean over DECO's human tuples against the event commonsense.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from accent_table import Rows, correlated, deco, history_of, judged, percentiles, show, within_relations
from numpy.typing import NDArray
from tacit.api.terminal.progress import Meter
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.resampling import k_folds
from tacit.reasoning.metrics.accent.scorers.kgbert import TuplePlausibility, pair_of
from tacit.reasoning.metrics.baselines.cross_encoder import texts_of
from tacit.reasoning.models.cross_encoder import RatingEncoder, open_cross_encoder
from tacit.reasoning.training.cross_encoder import Example, train_cross_encoder
from tacit.reasoning.training.llm_probe import agreement as area
from tacit.reasoning.training.recipe import RatingRecipe

Floats = NDArray[np.float64]


@contextmanager
def trained(examples: Sequence[Example], model: str, recipe: RatingRecipe) -> Iterator[RatingEncoder]:
    """Train a cross-encoder and open it; it is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        train_cross_encoder(examples, model, Path(folder) / "model", recipe)
        yield open_cross_encoder(Path(folder) / "model")


def across_folds(examples: Sequence[Example], model: str, recipe: RatingRecipe, folds: int, meter: Meter) -> Floats:
    """Return the rating of each example, predicted by the model of the folds without its group."""
    groups = np.unique([example.group for example in examples], return_inverse=True)[1]
    scores = np.full(len(examples), np.nan)
    for fold in k_folds(groups, folds, seed=0):
        with trained([examples[index] for index in fold.train.tolist()], model, recipe) as encoder:
            tested = [examples[index] for index in fold.test.tolist()]
            scores[fold.test] = encoder.predict([(example.first, example.second) for example in tested])
        meter.add(1)
    return scores


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
    arguments = parser.parse_args()
    if arguments.data is None or arguments.model is None:
        print("nothing is measured: name the folder of the data, and an encoder with --model")
        return
    with gzip.open(arguments.data / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        dialogues: Rows = json.load(file)
    triples = judged(arguments.data / "judgements" / "cskb-dev.csv.gz")
    items = [(history_of(row), row["response"]) for row in dialogues]
    ratings, talks = np.array([float(row["event_cs"]) for row in dialogues]), conversations(items)
    labels, relations = np.array([int(row["label"]) for row in triples]), np.array([row["relation"] for row in triples])
    draws = within_relations(relations, arguments.resamples)
    of_responses = [
        Example(*texts_of(*item), rating, "deco", str(talk))
        for item, rating, talk in zip(items, ratings.tolist(), talks.tolist(), strict=True)
    ]
    of_triples = [
        Example(*pair_of((row["head"], row["relation"], row["tail"])), float(row["label"]), "cskb", row["head"])
        for row in triples
    ]
    tables: dict[str, Rows] = {"responses": [], "triples": [], "human tuples": []}
    with Meter("training", total=arguments.seeds * (2 * arguments.folds + 1), noun="models") as meter:
        for seed in range(arguments.seeds):
            name = f"seed {seed}"
            for_responses, for_triples = (
                RatingRecipe(epochs=epochs, rate=arguments.rate, held_out=0, checkpoint_every=0, seed=seed)
                for epochs in arguments.epochs
            )
            scores = across_folds(of_responses, arguments.model, for_responses, arguments.folds, meter)
            tables["responses"].append({"scorer": name, **correlated(scores, ratings, talks, arguments.resamples)})
            scores = across_folds(of_triples, arguments.model, for_triples, arguments.folds, meter).clip(
                0, 1
            )  # as the scorer does
            interval = percentiles([area(labels[draw], relations[draw], scores[draw]) for draw in draws])
            tables["triples"].append(
                {"scorer": name, "auc": round(area(labels, relations, scores), 4), "interval": interval, "n": len(scores)}
            )
            with trained(of_triples, arguments.model, for_triples) as encoder:
                tables["human tuples"] += deco({name: TuplePlausibility(encoder)}, dialogues, arguments.resamples)
            meter.add(1)
    if arguments.json:
        print(json.dumps(tables))
        return
    for name, table in tables.items():
        show(name, table)


if __name__ == "__main__":
    main()
