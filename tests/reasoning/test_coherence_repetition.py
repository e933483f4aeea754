"""How much of a recent turn a response says again, worked out by hand."""

from __future__ import annotations

import pytest
from tacit.reasoning.metrics.coherence.parts import PartMetric, Repetition


@pytest.mark.parametrize(
    ("history", "response", "expected"),
    [
        (["a b c d e"], "a b c d e", 1.0),
        (["A b , c d e !"], "a B c d e", 1.0),
        (["a b c d e f g h i j"], "a b c d e f g h i k", 1.0),
        (["a b c d"], "a b c x", 0.5),
        (["a b c d e"], "a b c x y", 0.0),
        (["bye now"], "bye now", 0.0),
        (["a b c d", "x", "y", "z"], "a b c d", 1.0),
        (["a b c d", "w", "x", "y", "z"], "a b c d", 0.0),
        (["a b c d", "", "x", "y", "z"], "a b c d", 1.0),
        (["a a a b"], "a b b b", 0.0),
    ],
)
def test_repetition_by_hand(history: list[str], response: str, expected: float) -> None:
    assert PartMetric(Repetition()).score(history, response).value == pytest.approx(expected)
