"""Associations averaged over all pairs of terms: counts below chance, pairs without an edge, and the evidence of both."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph import ModelError
from tacit.graph.item import Item
from tacit.reasoning.metrics.coherence.associations import COUNTS, AssociationGraph, terms_of, words_of, write_graph
from tacit.reasoning.metrics.coherence.learned import Association
from tacit.reasoning.training.coherence import count_associations

TURNS = (
    "my dog is sick .",
    "where are my keys ?",
    "call the vet !",
    "i am sorry .",
    "are they on the table ?",
    "the vet , please .",
)
PAIRS = [
    pair
    for n in "abcdef"
    for pair in (
        (f"my dog is sick {n} .", f"call the vet {n} !"),
        (f"where are my keys {n} ?", f"are they on the table {n} ?"),
        (f"my dog ran {n} .", f"the vet has the dog {n} ."),
    )
]


def test_marks_are_words_where_they_are_asked_for() -> None:
    assert [word.text for word in words_of("Well, isn't it?", marks=True)] == ["well", ",", "isn't", "it", "?"]
    assert [word.text for word in words_of("Well, isn't it?")] == ["well", "isn't", "it"]
    assert [term.text for term in terms_of("Yes!", marks=True)] == ["yes", "!", "yes !"]


def written(folder: Path, pairs: list[tuple[str, str]], edges: int = 1_000) -> AssociationGraph:
    """A graph with counts of these pairs."""
    found = count_associations(pairs, terms=1_000, edges=edges, average=True)
    write_graph(folder, found.terms, found.edges, found.counts)
    return AssociationGraph(folder, counted=True)


def oracle(pairs: list[tuple[str, str]], last: str, response: str) -> float:
    """The value, worked out in the plainest way from all counts."""
    terms = {text: {term.text for term in terms_of(text, marks=True)} for pair in pairs for text in pair}
    often = Counter(term for of in terms.values() for term in of)
    known = {term for term, count in often.items() if count >= 3}
    before = Counter(term for one, _ in pairs for term in terms[one])
    after = Counter(term for _, two in pairs for term in terms[two])
    both = Counter(edge for one, two in pairs for edge in product(terms[one], terms[two]))
    callers, called = ([term.text for term in terms_of(text, marks=True) if term.text in known] for text in (last, response))
    total = weight = 0.0
    for b in called:
        rarity = math.log(len(pairs) / max(after[b], 1))
        weight += rarity
        for a in callers:
            chance = before[a] * after[b] / len(pairs)
            count = both[a, b] if both[a, b] >= 3 else min(chance, 2)
            total += rarity * math.log((count + 1) / (chance + 1)) / len(callers)
    return total / max(weight, 1e-9) if called and callers else 0.0


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(TURNS), st.sampled_from(TURNS)), min_size=1, max_size=60),
    st.sampled_from(TURNS),
    st.sampled_from(TURNS),
)
def test_the_value_is_the_mean_over_all_pairs_of_terms(pairs: list[tuple[str, str]], last: str, response: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        part = Association(written(Path(folder), [*pairs, *PAIRS]), "d")
        found, told = (part.measure([Item((last,), response)], explain)[0] for explain in (False, True))
    assert found.value == pytest.approx(oracle([*pairs, *PAIRS], last, response), abs=2e-3)  # weights are half floats
    assert told.value == found.value
    assert sum(piece.share for piece in told.pieces) == pytest.approx(told.value, abs=1e-9)


def test_the_evidence_is_edges_and_terms_that_no_edge_leads_to(tmp_path: Path) -> None:
    part = Association(written(tmp_path, PAIRS), "d")
    assert part.depends == (("associations", "d"), ("worth", "average"))
    (measure,) = part.measure([Item(("my dog is sick",), "call the vet , are they ?")], True)
    by_name = {piece.response.text: piece for piece in measure.pieces if piece.response}
    for_it, against = by_name["vet"], by_name["they"]
    assert for_it.share > 0 > against.share
    assert for_it.path is not None
    assert for_it.path.assertions[0].weight > 0
    assert not for_it.asserted
    assert against.path is None, "that no dog was followed by them is known from counts alone"
    assert against.turn is None


def test_the_edges_that_tell_most_are_kept(tmp_path: Path) -> None:
    found = count_associations(PAIRS, terms=1_000, edges=5, average=True)
    everything = count_associations(PAIRS, terms=1_000, average=True)
    assert len(found.edges[0]) == 5 < len(everything.edges[0])
    assert found.counts is not None
    assert found.counts[-1].tolist() == [18, 18]
    assert written(tmp_path, PAIRS, edges=5).edges == 5


def test_counts_that_are_gone_or_broken_are_named(tmp_path: Path) -> None:
    written(tmp_path, PAIRS)
    np.save(tmp_path / COUNTS, np.ones((3, 2), np.uint32))
    with pytest.raises(ModelError, match="do not fit together"):
        AssociationGraph(tmp_path, counted=True)
    (tmp_path / COUNTS).unlink()
    with pytest.raises(ModelError, match="associations in"):
        AssociationGraph(tmp_path, counted=True)
    assert not AssociationGraph(tmp_path).counted
