"""The regressor of ``commonsense``: equal to scikit-learn's, within its range, and whole in its file or refused."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning.metrics.commonsense.regressor import (
    FEATURES,
    FILE,
    VARIANTS,
    Matrix,
    Regressor,
    from_bytes,
    load_regressor,
    shapley_values,
    to_bytes,
    transform,
    variant_features,
    variant_of,
)
from tacit.reasoning.training.commonsense import BACKGROUND, Fitted, fit, to_regressor
from tacit.reasoning.training.recipe import NetworkRecipe

from tests.reasoning.metrics.commonsense.small_regressors import feature_values, made_up_ratings, random_regressor

QUICK = NetworkRecipe(members=2, epochs=30)


def fitted(features: tuple[str, ...] = FEATURES, recipe: NetworkRecipe = QUICK, rows: int = 200) -> tuple[Fitted, Regressor]:
    values = feature_values(0, rows, features)
    ratings = made_up_ratings(values, 1)
    networks = fit(values, ratings, features, 0, recipe)
    return networks, to_regressor(networks, values, ratings, features, 0)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "recipe", [QUICK, NetworkRecipe(hidden=(5, 4), activation="relu", members=1, epochs=10), NetworkRecipe((), epochs=10)]
)
def test_predictions_equal_scikit_learn(variant: str, recipe: NetworkRecipe) -> None:
    features = variant_features(variant)
    networks, model = fitted(features, recipe)
    values = 3 * feature_values(7, 1000, features)  # some lie far outside what was seen
    assert model.predict_unbounded(values) == pytest.approx(networks.predict(values), abs=1e-9)
    assert model.predict(values) == pytest.approx(np.clip(networks.predict(values), model.lowest, model.highest), abs=1e-9)
    assert model.variant == variant_of(features) == variant


def test_a_network_by_hand() -> None:
    model = Regressor(
        ("one_hop", "response_loss"),
        np.array([0.0, 1.0]), np.array([np.log(4), 5.0]), np.array([0.0, 3.0]), np.array([1.0, 2.0]),
        (np.array([[[2.0], [-1.0]]]), np.array([[[0.5]]])), (np.array([[1.0]]), np.array([[-0.25]])), "relu",
        np.array([[0.0, 1.0]]), -1.0, 1.5,
    )  # fmt: skip
    # log1p(1) = log 2; (4 - 3) / 2 = 0.5; relu(2 log 2 - 0.5 + 1) / 2 - 0.25
    assert model.predict(np.array([[1.0, 4.0]])) == pytest.approx([(2 * np.log(2) + 0.5) / 2 - 0.25], abs=1e-15)
    # 3 triples are the most that was seen, a loss of 5 the highest; (5 - 3) / 2 = 1; relu(2 log 4 - 1 + 1) / 2 - 0.25
    assert model.predict(np.array([[99.0, 9.0]])) == pytest.approx([np.log(4) - 0.25], abs=1e-15)
    assert model.predict(np.array([[3.0, 1.0]])) == pytest.approx([1.5])  # relu(2 log 4 + 1 + 1) / 2 - 0.25 is above the range
    assert np.isnan(model.predict(np.array([[1.0, np.nan]]))).all()


def test_rows_do_not_depend_on_each_other() -> None:
    model = random_regressor(3)
    values = feature_values(4, 500)
    together = model.predict(values)
    assert [float(model.predict(values[row : row + 1])[0]) for row in range(500)] == pytest.approx(together, abs=1e-12)


def test_training_is_repeatable_and_seeds_differ() -> None:
    values = feature_values(0, 120)
    ratings = made_up_ratings(values, 1)
    files = [
        to_bytes(to_regressor(fit(values, ratings, FEATURES, seed, QUICK), values, ratings, FEATURES, seed)) for seed in (0, 0, 1)
    ]
    assert files[0] == files[1] != files[2]


def test_a_linear_relation_is_learnt() -> None:
    values = feature_values(0, 600)
    ratings = made_up_ratings(values, 1, noise=0.2)
    model = to_regressor(fit(values, ratings, FEATURES, 0, NetworkRecipe(alpha=0.01)), values, ratings, FEATURES, 0)
    unseen = feature_values(9, 600)
    assert np.corrcoef(model.predict(unseen), made_up_ratings(unseen, 2, noise=0.0))[0, 1] > 0.9


def test_constant_features_are_ignored() -> None:
    values = feature_values(0, 100)
    values[:, 3] = 4.0
    model = to_regressor(
        fit(values, made_up_ratings(values, 1), FEATURES, 0, QUICK), values, made_up_ratings(values, 1), FEATURES, 0
    )
    changed = values.copy()
    changed[:, 3] = 100.0
    assert (model.predict(changed) == model.predict(values)).all()


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (np.full(50, 3.0), "all ratings are 3"),
        (np.r_[np.nan, np.arange(49.0)], "not a finite number"),
        (np.r_[np.inf, np.arange(49.0)], "not a finite number"),
        (np.arange(5.0), "5 judgements are too few"),
    ],
)
def test_constant_ratings_are_refused(ratings: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(feature_values(0, len(ratings)), ratings, FEATURES, 0, QUICK)


def test_transform_takes_the_logarithm_of_counts_and_length_only() -> None:
    values = np.array([[0.0, 1.0, 9.0, 2.5, -1.0]])
    assert transform(values, FEATURES) == pytest.approx(np.array([[0.0, np.log(2), np.log(10), 2.5, -1.0]]))
    assert values.tolist() == [[0.0, 1.0, 9.0, 2.5, -1.0]]


def test_unknown_variant() -> None:
    with pytest.raises(InputError, match=r"unknown variant 'neuro'.*symbolic, neural, all"):
        variant_features("neuro")


def test_models_round_trip_through_files(tmp_path: Path) -> None:
    model = replace(random_regressor(5, background=30), facts={"data": ["ü"], "scores": {"pearson": 0.1}})
    data = to_bytes(model)
    assert to_bytes(model) == data
    (tmp_path / FILE).write_bytes(data)
    values = feature_values(1, 50)
    for path in (tmp_path, tmp_path / FILE, str(tmp_path / FILE)):
        regressor = load_regressor(path)
        assert (regressor.predict(values) == model.predict(values)).all()
        assert (regressor.features, regressor.facts, regressor.lowest, regressor.highest) == (
            model.features,
            model.facts,
            -2.0,
            2.0,
        )
        assert (regressor.background == model.background).all()
        assert len(regressor.digest) == 12
    other = from_bytes(to_bytes(random_regressor(6)), "x")
    assert other.digest != regressor.digest


def test_a_background_of_at_most_a_hundred_items_of_the_training_data() -> None:
    _, small = fitted(rows=40)
    _, large = fitted(rows=300)
    assert (small.background == feature_values(0, 40)).all()
    assert len(large.background) == BACKGROUND
    assert {tuple(row) for row in large.background} <= {tuple(row) for row in feature_values(0, 300)}


def with_head(data: bytes, **changes: object) -> bytes:
    """Return a model file whose description is changed; None takes a part out of it."""
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + size])
    inner = json.loads(head["__metadata__"]["tacit"]) | changes
    head["__metadata__"]["tacit"] = json.dumps({name: value for name, value in inner.items() if value is not None})
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


@pytest.mark.parametrize(
    "changes",
    [
        {"format": None}, {"format": "other"}, {"version": 2}, {"version": None}, {"features": []}, {"features": None},
        {"features": ["two_hop", "one_hop", "length"]}, {"features": ["one_hop"]}, {"features": ["x"]}, {"layers": 0},
        {"layers": 1},
        {"layers": 3}, {"layers": "2"}, {"activation": "exp"}, {"ratings": [5, 1]}, {"ratings": None}, {"ratings": [1]},
        {"ratings": ["1", "5"]}, {"facts": None}, {"facts": []},
    ],
)  # fmt: skip
def test_inconsistent_metadata_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ModelError, match=r"^m is not a commonsense regressor \(.*\); give one that tacit train .* wrote$"):
        from_bytes(with_head(to_bytes(random_regressor(1, FEATURES[:3])), **changes), "m")


@pytest.mark.parametrize("name", ["low", "scale", "weights.0", "weights.1", "biases.1", "background"])
@pytest.mark.parametrize("fault", ["missing", "nan", "shape", "kind"])
def test_inconsistent_arrays_are_refused(name: str, fault: str) -> None:
    from safetensors.numpy import load

    data = to_bytes(random_regressor(1))
    head = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]
    arrays = load(data)
    if fault == "missing":
        del arrays[name]
    else:
        arrays[name] = {
            "nan": np.full_like(arrays[name], np.nan), "shape": arrays[name][..., None], "kind": arrays[name].astype(np.float32)
        }[fault]  # fmt: skip
    with pytest.raises(ModelError, match="is not a commonsense regressor"):
        from_bytes(save(arrays, head), "m")


def test_files_of_another_format_are_refused() -> None:
    data = to_bytes(random_regressor(1))
    foreign = save({"weights.0": np.zeros((2, 2))}, {"format": "pt"})
    rng = random.Random(0)
    broken = [b"", b"{}", b"\x80\x04K\x01.", foreign, data[:40], data[:-8], data + b"x", b"\xff" * 100, data[:8] + b"\xff" * 200]
    broken += [data[: rng.randrange(len(data))] for _ in range(40)]
    broken.append(struct.pack("<Q", 60_000) + b"[" * 60_000)
    for wrong in broken:
        with pytest.raises(ModelError, match="is not a commonsense regressor"):
            from_bytes(wrong, "m")


def test_missing_model_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no commonsense regressor at"):
        load_regressor(tmp_path)
    with pytest.raises(ModelError, match="there is no commonsense regressor at"):
        load_regressor(tmp_path / "missing.safetensors")
    with pytest.raises(ModelError, match="cannot be read"):
        load_regressor("a\0b")
    with (tmp_path / "large.safetensors").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(ModelError, match="larger than any"):
        load_regressor(tmp_path / "large.safetensors")


# Shapley values: the axioms that define them, a judge that tries every order, and cases worked out by hand.


def by_all_orders(predict: Callable[[Matrix], Matrix], item: Matrix, background: Matrix) -> Matrix:
    """Return what each feature adds when it comes after those before it, in the mean over all orders of arrival."""
    features = len(item)
    added = np.zeros(features)
    orders = list(permutations(range(features)))
    for order in orders:
        rows = background.copy()
        worth = predict(rows).mean()
        for feature in order:
            rows[:, feature] = item[feature]
            added[feature] += predict(rows).mean() - worth
            worth = predict(rows).mean()
    return added / len(orders)


def test_a_product_by_hand() -> None:
    # f = a * b, one background row (1, 2), item (3, 5): f() = 2, f(a) = 6, f(b) = 5, f(ab) = 15
    values, base = shapley_values(lambda rows: rows[:, 0] * rows[:, 1], np.array([[3.0, 5.0]]), np.array([[1.0, 2.0]]))
    assert base == 2.0
    assert values == pytest.approx(np.array([[((6 - 2) + (15 - 5)) / 2, ((5 - 2) + (15 - 6)) / 2]]))


@pytest.mark.parametrize("features", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_shapley_values_equal_the_mean_over_all_orders(features: int, activation: str) -> None:
    model = random_regressor(features, FEATURES[:features], activation=activation)
    items = feature_values(20, 6, FEATURES[:features])
    values, base = shapley_values(model.predict, items, model.background)
    assert base == pytest.approx(model.predict(model.background).mean(), abs=1e-12)
    for item, row in zip(items, values, strict=True):
        assert row == pytest.approx(by_all_orders(model.predict, item, model.background), abs=1e-12)


counts = st.floats(0, 1e6)
losses = st.floats(-1e3, 1e3)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    items=st.lists(st.tuples(counts, counts, counts, losses, losses), min_size=1, max_size=5),
    hidden=st.sampled_from([0, 4]),
)
def test_shares_add_up_to_the_score(seed: int, items: list[tuple[float, ...]], hidden: int) -> None:
    model = random_regressor(seed, hidden=hidden)
    rows = np.array(items)
    values, base = shapley_values(model.predict, rows, model.background)
    assert base + values.sum(axis=1) == pytest.approx(model.predict(rows), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), dummy=st.integers(0, 4))
def test_unused_features_have_no_share(seed: int, dummy: int) -> None:
    model = random_regressor(seed)
    model.weights[0][:, dummy, :] = 0.0
    values, _ = shapley_values(model.predict, feature_values(seed + 1, 4), model.background)
    assert np.abs(values[:, dummy]).max() < 1e-12
    assert np.abs(values).max() > 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000))
def test_equivalent_features_have_equal_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    item, background = rng.normal(size=(1, 4)), rng.normal(size=(9, 4))
    item[:, 1], background[:, 1] = item[:, 0], background[:, 0]
    values, _ = shapley_values(
        lambda rows: np.tanh(rows[:, 0] + rows[:, 1] + rows[:, 0] * rows[:, 1] * rows[:, 2]), item, background
    )
    assert values[0, 0] == pytest.approx(values[0, 1], abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_shares_of_a_sum_are_the_sums_of_the_shares(seed: int) -> None:
    first, second = random_regressor(seed), random_regressor(seed + 1)
    items, background = feature_values(seed, 3), feature_values(seed + 2, 7)
    both, _ = shapley_values(lambda rows: first.predict(rows) + second.predict(rows), items, background)
    apart = sum(shapley_values(model.predict, items, background)[0] for model in (first, second))
    assert both == pytest.approx(apart, abs=1e-12)


def test_many_items_are_explained_in_chunks() -> None:
    model = random_regressor(2, background=100)
    items = feature_values(3, 150)
    values, base = shapley_values(model.predict, items, model.background)
    first, _ = shapley_values(model.predict, items[149:], model.background)
    assert values[149] == pytest.approx(first[0], abs=1e-12)
    assert shapley_values(model.predict, items[:0], model.background)[0].shape == (0, 5)
    assert base == pytest.approx(model.predict(model.background).mean())
