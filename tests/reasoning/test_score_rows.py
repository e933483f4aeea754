"""Scores as rows and back: what was read equals what was written, whatever a metric put into it."""

from __future__ import annotations

import json
from itertools import pairwise
from math import isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.model import Assertion, Path
from tacit.reasoning.base import Evidence, Piece, Score, Signature
from tacit.reasoning.scorer import ItemScores
from tacit.reasoning.text.linking import Mention

words = st.text(max_size=12)
names = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
concepts = names.map("/c/en/{}".format)
mentions = st.builds(Mention, st.integers(0, 99), st.integers(0, 99), words, concepts, words, words)
places = st.none() | st.integers(0, 50)


@st.composite
def paths(draw: st.DrawFn) -> Path:
    nodes = draw(st.lists(concepts, min_size=1, max_size=4))
    provenance = st.tuples(names, names, numbers, words, words, words, words, words, words, places, st.none() | numbers)
    assertions = []
    for start, end in pairwise(nodes):
        relation, _, *extra = draw(provenance)
        head, tail = (start, end) if draw(st.booleans()) else (end, start)
        assertions.append(Assertion(head, str(relation), tail, *extra))  # type: ignore[arg-type]
    return Path(tuple(nodes), tuple(assertions))


def pieces(rests_on: st.SearchStrategy[tuple[Piece, ...]]) -> st.SearchStrategy[Piece]:
    mention, path = st.none() | mentions, st.none() | paths()
    return st.builds(Piece, words, numbers, numbers, mention, places, mention, places, path, words, rests_on)


some_pieces = st.recursive(
    pieces(st.just(())), lambda deeper: pieces(st.lists(deeper, max_size=2).map(tuple)), max_leaves=4
)  # fmt: skip
signs = st.text("ab|:\\v1 ", max_size=6) | words
signatures = st.builds(Signature, signs.filter(bool), st.lists(st.tuples(signs, signs), max_size=4).map(tuple), st.integers(0, 9))
scores = st.builds(Score, numbers, st.builds(Evidence, st.lists(some_pieces, max_size=3).map(tuple), words), signatures)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(scores)
def test_scores_round_trip(score: Score) -> None:
    assert Score.from_dict(through_json(score.to_dict())) == score


@given(paths())
def test_paths_round_trip_with_provenance(path: Path) -> None:
    assert Path.from_dict(through_json(path.to_dict())) == path


@given(st.dictionaries(names, scores, max_size=3), words | st.integers() | st.none())
def test_rows_round_trip(by_metric: dict[str, Score], identity: Any) -> None:
    row = ItemScores(identity, by_metric)
    assert ItemScores.from_dict(through_json(row.to_dict(explain=True))) == row
    bare = ItemScores.from_dict(through_json(row.to_dict()))
    assert bare.to_dict() == row.to_dict()
    assert not any(score.evidence.pieces for score in bare.scores.values())


def test_errors_round_trip() -> None:
    row = ItemScores("a", error="the response is of type int; give a text")
    assert ItemScores.from_dict(row.to_dict()) == row


def test_missing_scores_are_null_in_json_and_nan_in_python() -> None:
    score = Score(nan, Evidence(note="nothing to judge"), Signature("grounding", (), 1))
    row = ItemScores(1, {"grounding": score}).to_dict(explain=True)
    assert row["scores"] == {"grounding": None}
    back = ItemScores.from_dict(through_json(row)).scores["grounding"]
    assert isnan(back.value)
    assert back.evidence == score.evidence


@pytest.mark.parametrize("text", ["", "grounding", "grounding|v", "|v:1", "grounding|hops|v:1", "grounding|v:one"])
def test_malformed_signatures_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"signature|int\(\)"):
        Signature.from_text(text)


@given(signatures)
def test_signatures_round_trip(signature: Signature) -> None:
    assert Signature.from_text(str(signature)) == signature


def test_separators_in_values_are_kept_and_old_signatures_are_read() -> None:
    signature = Signature("accent", (("model", "a|b:c"), ("k", "1:2")), 3)
    assert str(signature) == r"accent|model:a\|b:c|k:1:2|v:3"
    assert Signature.from_text(str(signature)) == signature
    assert Signature.from_text("accent|model:a|b|k:1:2|v:1").parts == (
        ("model", "a|b"),
        ("k", "1:2"),
    )  # before there were escapes
    assert Signature.from_text(r"grade|folder:C:\models\new|v:1").parts == (("folder", r"C:\models\new"),)
