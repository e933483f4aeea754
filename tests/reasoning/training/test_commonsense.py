"""Training the commonsense regressor: honest predictions for unseen responses, contrasted dialogues, cards, bad ratings."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError
from tacit.graph.item import Item
from tacit.reasoning.evaluation.resampling import TrainTestSplit
from tacit.reasoning.metrics.commonsense.features import FeatureExtractor
from tacit.reasoning.metrics.commonsense.regressor import Matrix, from_bytes, to_bytes
from tacit.reasoning.training.card import commonsense_card as card
from tacit.reasoning.training.commonsense import contrast, divide, evaluated, out_of_fold, train_commonsense
from tacit.reasoning.training.recipe import CommonsenseRecipe, NetworkRecipe

QUICK = NetworkRecipe(members=1, epochs=30)
LENGTH = ("length",)


@dataclass(frozen=True)
class RatedResponse:
    """A rated response."""

    history: tuple[str, ...]
    response: str
    rating: float
    dataset: str = "made-up"


class Lengths(FeatureExtractor):
    """Reads the length alone, which needs no graph."""

    def __init__(self) -> None:
        super().__init__(LENGTH)


def rated(number: int = 120, seed: int = 0, noise: float = 0.3) -> list[RatedResponse]:
    """Return responses that are rated the better the longer they are, three to a history."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, number)
    ratings = np.log1p(lengths) + rng.normal(0, noise, number)
    return [
        RatedResponse((f"history {index // 3}",), "la " * int(length), float(rating), "ab"[index % 2])
        for index, (length, rating) in enumerate(zip(lengths, ratings, strict=True))
    ]


def test_a_learnable_signal_is_measured_on_unseen_responses() -> None:
    progress_calls: list[tuple[str, int, int]] = []
    trained = train_commonsense(
        rated(),
        Lengths(),
        CommonsenseRecipe(folds=5, networks=QUICK, resamples=200),
        progress=lambda *call: progress_calls.append(call),
    )
    assert [row.dataset for row in trained.rows] == ["a", "b"]
    for row in trained.rows:
        assert row.n == 60
        assert row.pearson.value is not None
        assert row.pearson.low is not None
        assert row.pearson.high is not None
        assert 0.5 < row.pearson.low < row.pearson.value < row.pearson.high
    assert trained.conversations == 40
    assert np.isfinite(trained.predictions).all()
    facts = trained.model.facts
    assert facts["judgements"] == 120
    assert facts["plan"] == {"folds": 5}
    assert facts["scores"][0]["pearson"]["value"] == trained.rows[0].pearson.value
    assert facts["count"] is facts["graph"] is facts["language_model"] is None
    assert set(facts["versions"]) == {"tacit-kg", "scikit-learn", "numpy", "spacy"}
    stages = list(dict.fromkeys(stage for stage, _, _ in progress_calls))
    assert stages == ["features", "cross-validation", "resampling"]
    assert all(call[1] == call[2] for call in (next(s for s in reversed(progress_calls) if s[0] == stage) for stage in stages))


def test_without_a_signal_no_correlation_is_found() -> None:
    correlations = []
    recipe = CommonsenseRecipe(folds=5, networks=QUICK, resamples=1)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noise = [replace(row, rating=float(rng.normal()), dataset="x") for row in rated(200, seed)]
        correlations.append(train_commonsense(noise, Lengths(), recipe).rows[0].pearson.value or 0.0)
    assert abs(np.mean(correlations)) < 0.2


def test_equal_seeds_give_equal_models_and_figures() -> None:
    files = []
    for seed in (0, 0, 1):
        trained = train_commonsense(rated(60), Lengths(), CommonsenseRecipe(folds=3, networks=QUICK, resamples=50, seed=seed))
        files.append(to_bytes(trained.model))
    assert files[0] == files[1] != files[2]


@pytest.mark.parametrize(("stage", "step"), [("features", 60), ("cross-validation", 2), ("resampling", 1)])
def test_an_interrupted_training_continues_to_the_same_model(stage: str, step: int, tmp_path: Path) -> None:
    recipe = CommonsenseRecipe(folds=3, networks=QUICK, resamples=50)
    computed: list[int] = []

    class Counted(Lengths):
        def values(self, items: Sequence[Item]) -> Matrix:
            computed.append(len(items))
            return super().values(items)

    def interrupt(name: str, done: int, _total: int) -> None:
        if (name, done) == (stage, step) or name == "resampling" == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_commonsense(rated(60), Counted(), recipe, checkpoints=tmp_path, progress=interrupt)
    continued = train_commonsense(rated(60), Counted(), recipe, checkpoints=tmp_path)
    whole = train_commonsense(rated(60), Lengths(), recipe)
    assert to_bytes(continued.model) == to_bytes(whole.model)
    assert continued.predictions.tolist() == whole.predictions.tolist()
    assert sum(computed) == 60


def test_predictions_come_from_models_that_did_not_see_the_response() -> None:
    values = np.arange(60.0)[:, None]
    ratings = np.zeros(60)
    ratings[7] = 1000.0
    rounds = [TrainTestSplit(np.array([index for index in range(60) if index != left]), np.array([left])) for left in (7, 8)]
    predictions = out_of_fold(values, ratings, rounds, LENGTH, QUICK, 0)
    assert predictions[7] == 0.0  # all the others are rated 0
    assert 0.0 <= predictions[8] <= 1000.0
    assert np.isnan(np.delete(predictions, [7, 8])).all()


def test_random_splits_average_repeated_predictions() -> None:
    trained = train_commonsense(
        rated(), Lengths(), CommonsenseRecipe(folds=0, shares=(0.6, 0.2, 0.2), rounds=4, networks=QUICK, resamples=50)
    )
    tested = np.isfinite(trained.predictions)
    assert 24 <= tested.sum() < 120
    assert sum(row.n for row in trained.rows) == tested.sum()
    assert sum(row.unscored for row in trained.rows) == 120 - tested.sum()
    assert trained.model.facts["plan"] == {"shares": [0.6, 0.2, 0.2], "rounds": 4}
    for wrong in ((0.8, 0.1, 0.2), (0.9, 0.1, 0.0), (1.1, -0.05, -0.05)):
        with pytest.raises(InputError, match=r"shares(\[\d\])? is"):
            train_commonsense(rated(), Lengths(), CommonsenseRecipe(folds=0, shares=wrong, networks=QUICK))
    assert evaluated(CommonsenseRecipe(folds=0, networks=QUICK)).validation == pytest.approx(1 / 9)
    assert evaluated(CommonsenseRecipe(networks=QUICK)) is QUICK


def test_conversations_are_never_divided() -> None:
    items = [((row.history), row.response) for row in rated()]
    groups, rounds = divide(items, CommonsenseRecipe())
    assert not any(set(groups[train]) & set(groups[test]) for train, test in rounds)
    assert max(np.bincount(groups)) > 1


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([3.0] * 50, r"all ratings are 3; give judgements"),
        ([1.0] * 40 + [float("nan")], "the rating of judgement 41 is not a finite number"),
        ([1.0] * 40 + [float("-inf")], "the rating of judgement 41 is not a finite number"),
        ([1.0, 2.0] * 10, "20 judgements are too few"),
        ([], "0 judgements are too few"),
    ],
)
def test_constant_ratings_are_refused(ratings: list[float], message: str) -> None:
    items = [RatedResponse((f"h {index}",), "x", rating) for index, rating in enumerate(ratings)]
    with pytest.raises(InputError, match=message):
        train_commonsense(items, Lengths())


def test_nearly_constant_and_few_ratings_give_no_warning() -> None:
    items = [RatedResponse((f"h {index}",), "x " * index, float(index == 3)) for index in range(30)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained = train_commonsense(items, Lengths(), CommonsenseRecipe(folds=2, resamples=50))
    assert np.isfinite(trained.predictions).all()


def test_one_conversation_cannot_be_divided() -> None:
    items = [RatedResponse(("h",), "x " * index, float(index)) for index in range(40)]
    with pytest.raises(InputError, match="1 conversations cannot be divided into 10 folds"):
        train_commonsense(items, Lengths())


def test_false_responses_come_from_other_dialogues() -> None:
    items = [((f"a{index}", "b"), f"c{index}") for index in range(50)] + [
        ((f"a{index}", "b", f"c{index}"), "d") for index in range(50)
    ]
    contrasted = contrast([*items, ((), "alone"), (("x",), " ")], 0, "name")
    assert len(contrasted) == 200
    own, other = contrasted[::2], contrasted[1::2]
    assert [(row.history, row.response, row.rating) for row in own] == [(history, response, 1.0) for history, response in items]
    assert [row.history for row in other] == [history for history, _ in items]
    assert {row.rating for row in other} == {0.0}
    assert {row.dataset for row in contrasted} == {"name"}
    taken = dict(items)
    for row in other[:50]:
        assert row.response == "d" or row.response != taken[row.history]
    assert contrast(items, 0) == contrast(items, 0) != contrast(items, 1)
    with pytest.raises(InputError, match="at least two conversations"):
        contrast([(("a",), "b"), (("a", "b"), "c")], 0)
    with pytest.raises(InputError, match="at least two conversations"):
        contrast([], 0)


class Related(FeatureExtractor):
    """Counts the words that history and response share as one-hop triples, so that own responses can be told from others."""

    def __init__(self) -> None:
        super().__init__(LENGTH)
        self.features = ("one_hop",)

    def values(self, items: Sequence[Item]) -> Matrix:
        return np.array([[float(len({*item.history[-1].split()} & {*item.response.split()}))] for item in items])


def test_a_contrastive_model_prefers_own_responses() -> None:
    items = [((f"word{index} dog",), f"word{index} cat") for index in range(60)]
    trained = train_commonsense(contrast(items, 0), Related(), CommonsenseRecipe(folds=5, networks=QUICK, resamples=50))
    assert trained.rows[0].pearson.value == pytest.approx(1.0, abs=0.01)
    low, high = trained.model.predict(np.array([[0.0], [1.0]]))
    assert 0 <= low < 0.2 < 0.8 < high <= 1


def test_the_card_has_figures_and_sources() -> None:
    facts: dict[str, Any] = {
        "licence": "CC0", "command": "tacit train commonsense a",
        "data": [{"file": "a.jsonl", "judgements": 60, "sha256": "ab" * 32}],
    }  # fmt: skip
    trained = train_commonsense(rated(60), Lengths(), CommonsenseRecipe(folds=3, networks=QUICK, resamples=50), facts=facts)
    model = from_bytes(to_bytes(trained.model), "m")
    assert json.loads(json.dumps(dict(model.facts))) == json.loads(json.dumps(dict(trained.model.facts)))
    text = card(model, path="folder")
    pearson = trained.rows[0].pearson
    assert pearson.value is not None
    assert f"| a | 30 | {pearson.value:.3f}".replace("0.", ".") in text
    for part in ("CC0", "ab" * 32, model.digest, "3-fold cross-validation, conversations kept together", "a.jsonl", "60 ratings"):
        assert part in text
    contrasted = card(replace(model, facts={**model.facts, "contrast": True}), path="folder")
    assert "No ratings were used" in contrasted
    split = {**model.facts, "plan": {"shares": [0.8, 0.1, 0.1], "rounds": 3}}
    assert "3 random splits into 0.8/0.1/0.1" in card(replace(model, facts=split), path="folder")
