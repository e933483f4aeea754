"""Shapley values: the axioms that define them, a judge that tries every order, and cases worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.reasoning.metrics.commonsense.regressor import FEATURES, Matrix, shapley_values

from .commonsense_models import feature_values, random_regressor


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
def test_every_order_of_arrival_gives_the_same(features: int, activation: str) -> None:
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
def test_a_feature_that_does_nothing_has_no_share(seed: int, dummy: int) -> None:
    model = random_regressor(seed)
    model.weights[0][:, dummy, :] = 0.0
    values, _ = shapley_values(model.predict, feature_values(seed + 1, 4), model.background)
    assert np.abs(values[:, dummy]).max() < 1e-12
    assert np.abs(values).max() > 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000))
def test_features_that_do_the_same_have_the_same_share(seed: int) -> None:
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
    one, two = random_regressor(seed), random_regressor(seed + 1)
    items, background = feature_values(seed, 3), feature_values(seed + 2, 7)
    both, _ = shapley_values(lambda rows: one.predict(rows) + two.predict(rows), items, background)
    apart = sum(shapley_values(model.predict, items, background)[0] for model in (one, two))
    assert both == pytest.approx(apart, abs=1e-12)


def test_many_items_are_done_in_parts_and_none_is_none() -> None:
    model = random_regressor(2, background=100)
    items = feature_values(3, 150)
    values, base = shapley_values(model.predict, items, model.background)
    one, _ = shapley_values(model.predict, items[149:], model.background)
    assert values[149] == pytest.approx(one[0], abs=1e-12)
    assert shapley_values(model.predict, items[:0], model.background)[0].shape == (0, 5)
    assert base == pytest.approx(model.predict(model.background).mean())
