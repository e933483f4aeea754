"""The metric ``commonsense``: values from its features, explanations that add up, options, bad input, any batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError, ModelError
from tacit.graph.item import Item
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning import load_metric
from tacit.reasoning.base import Piece, Score
from tacit.reasoning.explanation import explain
from tacit.reasoning.metrics.commonsense.features import FeatureExtractor, TripleFeatures, open_features
from tacit.reasoning.metrics.commonsense.metric import NO_TRIPLE, NO_WORD, SHIPPED, Commonsense
from tacit.reasoning.metrics.commonsense.regressor import FEATURES, VARIANTS, load_regressor, to_bytes, variant_features
from tacit.reasoning.models.causal_lm import CausalModel, open_causal
from tacit.reasoning.text.language import SpacyAnalyser
from tacit.reasoning.text.text_check import BLANK, FOREIGN, KEYWORDS
from tacit.reasoning.text.turns import count_words

from tests.networkx_oracle import OracleGraph
from tests.reasoning.metrics.commonsense.small_regressors import random_regressor
from tests.reasoning.models.tiny_causal import save_tiny_causal

ITEMS: list[tuple[list[str], str]] = [
    (["i have a dog"], "give it a bone"),
    (["the puppy is hungry", "my cat too"], "there is food in the refrigerator"),
    (["my cat likes hot dogs"], "put the dessert in the refrigerator , the food too"),
    (["i have a dog"], "i have a dog too"),
    (["a bike"], "the moon"),
    ([], "give the dog a bone"),
    (["i have a dog"], ""),
    ([], ""),
    (["  "], " \n"),
    (["i have a dog"], "bone " * 10_000),
    (["¿tienes un perro?", "ja, einen Hund"], "是的，我有一只狗"),
    (["🐶🦴"], "😀 👍🏽"),
    (["a dog ?!"], "... !!! ???"),
]


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    return open_causal(save_tiny_causal(tmp_path_factory.mktemp("lm")))


def metric_over(
    graph: KnowledgeGraph, analyser: SpacyAnalyser, language_model: CausalModel | None, variant: str = "all", count: str = "pairs"
) -> Commonsense:
    """Return the metric with random weights."""
    features = variant_features(variant)
    extractor = open_features(features, graph, pipeline=analyser, count=count, language_model=language_model)
    return Commonsense(random_regressor(5, features), extractor)


def shares(score: Score) -> float:
    return sum(piece.share for piece in score.evidence.pieces)


@pytest.mark.parametrize(
    ("variant", "count"), [("symbolic", "pairs"), ("neural", "pairs"), ("all", "triples"), ("symbolic", "triples")]
)
def test_the_score_is_the_prediction_from_the_features(
    oracle: OracleGraph, analyser: SpacyAnalyser, language_model: CausalModel, variant: str, count: str
) -> None:
    metric = metric_over(oracle, analyser, language_model, variant, count)
    items = [Item(tuple(history), response) for history, response in ITEMS]
    columns = {
        **dict(zip(FEATURES, TripleFeatures(oracle, analyser, count=count).counts(items).T, strict=False)),  # type: ignore[arg-type]
        "length": np.array([float(count_words(item.response)) for item in items]),
        "response_loss": language_model.losses([[item.response] for item in items]),
        "dialogue_loss": language_model.losses([[*item.history, item.response] for item in items]),
    }
    values = np.stack([columns[name] for name in metric.model.features], axis=1)
    scores = np.array([score.value for score in metric.score_batch(ITEMS)])
    np.testing.assert_allclose(scores[:6], metric.model.predict(values)[:6], rtol=0, atol=1e-6)
    assert np.isnan(scores[6:]).all()  # not English, not a sentence, or not a word


def test_features_by_hand(graph: KnowledgeGraph, analyser: SpacyAnalyser) -> None:
    metric = metric_over(graph, analyser, None, "symbolic")
    rows = metric.features.values([Item(tuple(history), response) for history, response in ITEMS[:4]])
    # dog -Desires-> bone; puppy -IsA-> dog -Desires-> food; dog -Desires-> food, and over it dessert and refrigerator; dog is dog
    assert rows.tolist() == [[1, 0, 4], [0, 1, 6], [1, 2, 9], [0, 0, 5]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_do_not_depend_on_batch_or_cache(
    oracle: OracleGraph, analyser: SpacyAnalyser, language_model: CausalModel, variant: str
) -> None:
    together = metric_over(oracle, analyser, language_model, variant).score_batch(ITEMS, explain=True)
    second = metric_over(oracle, analyser, language_model, variant)
    alone = [second.score(*item, explain=True) for item in reversed(ITEMS)][::-1]
    again = second.score_batch(ITEMS)
    assert [score.value for score in alone] == pytest.approx([score.value for score in together], abs=1e-6, nan_ok=True)
    assert [score.value for score in again] == pytest.approx([score.value for score in alone], abs=1e-12, nan_ok=True)
    for first, two in zip(together, alone, strict=True):
        assert [piece.name for piece in first.evidence.pieces] == [piece.name for piece in two.evidence.pieces]
        assert [p.share for p in first.evidence.pieces] == pytest.approx([p.share for p in two.evidence.pieces], abs=1e-5)


vocabulary = "dog puppy cat bone food pet home dessert refrigerator moon likes my the a , 😀 狗 saw"
words = st.lists(st.sampled_from(vocabulary.split()), max_size=9).map(" ".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(words, max_size=3), response=words, seed=st.integers(0, 50), count=st.sampled_from(["pairs", "triples"]))
def test_shares_add_up_to_the_score_at_every_level(
    oracle: OracleGraph, analyser: SpacyAnalyser, history: list[str], response: str, seed: int, count: str
) -> None:
    features = open_features(VARIANTS["symbolic"], oracle, pipeline=analyser, count=count)
    score = Commonsense(random_regressor(seed, VARIANTS["symbolic"]), features, evidence=2).score(history, response, explain=True)
    assert shares(score) == pytest.approx(score.value, abs=1e-6) or (np.isnan(score.value) and score.evidence.note)
    for piece in score.evidence.pieces[1:3]:
        assert sum(part.value for part in piece.rests_on) == piece.value
        assert sum(part.share for part in piece.rests_on) == pytest.approx(piece.share if piece.value else 0.0, abs=1e-9)
        assert len(piece.rests_on) <= 3


def test_an_explanation_names_the_features_and_their_triples(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    metric = metric_over(oracle, analyser, None, "symbolic", "triples")
    score = metric.score(["my puppy is hungry", "my dog too"], "the cat has bones and food", explain=True)
    base, one_hop, two_hop, length = score.evidence.pieces
    assert (base.kind, base.name) == ("base", "mean of 12 responses")
    assert base.share == base.value == pytest.approx(metric.model.predict(metric.model.background).mean())
    assert [piece.kind for piece in (one_hop, two_hop, length)] == ["feature"] * 3
    assert (one_hop.name, two_hop.name, length.name) == ("one-hop triples", "two-hop triples", "words")
    assert (one_hop.value, two_hop.value, length.value) == (2, 3, 6)
    assert [part.path.text() for part in one_hop.rests_on if part.path] == ["dog -Desires-> bone", "dog -Desires-> food"]
    assert all(part.share == pytest.approx(one_hop.share / 2) for part in one_hop.rests_on)
    texts = {part.path.text() for part in two_hop.rests_on if part.path}
    assert texts == {
        "dog -IsA-> pet <-IsA- cat",
        "puppy -IsA-> dog -Desires-> bone",
        "puppy -IsA-> dog -Desires-> food",
    }
    assert {(part.hops, part.turn) for part in two_hop.rests_on} == {(2, 0), (2, 1)}
    assert not length.rests_on
    json.dumps(score.to_dict())
    lines = explain(score).split("\n")
    assert lines[0] == f"commonsense {score.value:.3f}"
    assert any(line.endswith('"bones" (bone) rests on "dog" (turn 2), 1 hop: dog -Desires-> bone') for line in lines)
    assert lines[2].endswith(" one-hop triples 2")


def test_omitted_triples_are_summed(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    features = open_features(VARIANTS["symbolic"], oracle, pipeline=analyser, count="triples")
    item = (["my puppy is hungry", "my dog too"], "the cat has bones and food")
    for evidence, named in ((0, 0), (1, 1), (2, 2), (9, 3)):
        metric = Commonsense(random_regressor(1, VARIANTS["symbolic"]), features, evidence=evidence)
        two_hop = metric.score(*item, explain=True).evidence.pieces[2]
        assert sum(part.path is not None for part in two_hop.rests_on) == named
        unnamed = [part for part in two_hop.rests_on if part.path is None]
        assert [(part.kind, part.name, part.value) for part in unnamed] == [("triple", "further triples", 3 - named)] * (
            named < 3
        )
    with pytest.raises(InputError, match="evidence must be >= 0, not -1"):
        Commonsense(random_regressor(1, VARIANTS["symbolic"]), features, evidence=-1)


def test_every_engine_gives_the_same_scores(graph: KnowledgeGraph, oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    items = [item for item in ITEMS if len(item[1]) < 1000]
    first, second = (metric_over(engine, analyser, None, "symbolic", "triples") for engine in (graph, oracle))
    assert first.score_batch(items, explain=True) == second.score_batch(items, explain=True)


def test_without_explain_there_are_no_pieces(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    assert metric_over(oracle, analyser, None, "symbolic").score(["a dog"], "a bone").evidence.pieces == ()


def test_unjudged_items_have_no_score_and_a_note(
    oracle: OracleGraph, analyser: SpacyAnalyser, language_model: CausalModel
) -> None:
    metric = metric_over(oracle, analyser, language_model)
    scores = metric.score_batch(ITEMS, explain=True)
    for score in scores[:6]:
        assert metric.model.lowest <= score.value <= metric.model.highest
        assert shares(score) == pytest.approx(score.value, abs=1e-6)
    notes = [score.evidence.note.removeprefix("the response cannot be judged: ") for score in scores]
    assert notes == ["", "", "", *[NO_TRIPLE] * 3, BLANK, BLANK, BLANK, KEYWORDS, FOREIGN, NO_WORD, BLANK]
    assert all(np.isnan(score.value) and not score.evidence.pieces for score in scores[6:])
    endless = metric_over(oracle, analyser, None, "symbolic")
    longest = int(np.expm1(endless.model.high[2]))
    assert endless.score([], "la " * 10_000).value == pytest.approx(endless.score([], "la " * longest).value, abs=1e-9)
    for history, response in (("one text", "x"), ([1], "x"), (["x"], None), (["x"], "\ud800"), (["x"], "y" * 200_001)):
        with pytest.raises(InputError):
            metric.score(history, response)  # type: ignore[arg-type]
    assert metric.score_batch([]) == []


def test_a_nan_feature_gives_no_score(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    class Broken(FeatureExtractor):
        def values(self, items: Sequence[Item]) -> np.ndarray:
            numbers = super().values(items)
            numbers[0, 2] = np.nan
            return numbers

    triples = TripleFeatures(oracle, analyser)
    metric = Commonsense(random_regressor(1, VARIANTS["symbolic"]), Broken(VARIANTS["symbolic"], triples=triples))
    bad, good = metric.score_batch([(["a dog"], "a bone"), (["a dog"], "a bone")], explain=True)
    assert np.isnan(bad.value)
    assert bad.evidence.pieces == ()
    assert bad.evidence.note == "a feature of the response is not a number"
    assert shares(good) == pytest.approx(good.value)


def test_signatures_distinguish_models_counts_and_language_models(
    oracle: OracleGraph, analyser: SpacyAnalyser, language_model: CausalModel
) -> None:
    features = open_features(FEATURES, oracle, pipeline=analyser, language_model=language_model)
    signature = str(Commonsense(replace(random_regressor(1), digest="0123456789ab"), features).signature)
    assert signature == (
        f"commonsense|graph:{oracle.manifest().digest}|pipeline:{analyser.signature}|count:pairs|max_words:1"
        f"|pos:ADJ+NOUN+PROPN+VERB|language_model:{language_model.signature}|features:all|model:0123456789ab|v:2"
    )
    only = open_features(VARIANTS["neural"], None, language_model=language_model)
    neural = str(Commonsense(random_regressor(1, VARIANTS["neural"]), only).signature)
    assert neural == f"commonsense|language_model:{language_model.signature}|features:neural|model:|v:2"


def test_load_metric_takes_the_count_from_the_file(oracle: OracleGraph, analyser: SpacyAnalyser, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(to_bytes(replace(random_regressor(1, VARIANTS["symbolic"]), facts={"count": "triples", "graph": "another"})))
    metric = load_metric("commonsense", oracle, model=str(path), pipeline=analyser)
    assert "|count:triples|" in str(metric.signature)
    assert f"graph:{oracle.manifest().digest}|" in str(metric.signature)


def test_unreadable_models_are_one_sentence(
    oracle: OracleGraph, tmp_path: Path, language_model: CausalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="there is no commonsense regressor at"):
        load_metric("commonsense", oracle, model=tmp_path)
    with pytest.raises(InputError, match="needs a graph"):
        load_metric("commonsense")
    trained = random_regressor(1, VARIANTS["neural"])
    with pytest.raises(ModelError, match="reads losses of a causal language model; name it"):
        load_metric("commonsense", oracle, model=trained)
    named = replace(trained, facts={"language_model": {"signature": "mine@abc", "id": None}})
    with pytest.raises(ModelError, match=r"language model \(trained with mine@abc\); name it"):
        load_metric("commonsense", oracle, model=named)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="no model folder"):
        load_metric("commonsense", oracle, model=trained, language_model=str(tmp_path / "none" / "there"))
    opened = load_metric("commonsense", oracle, model=trained, language_model=language_model)
    assert np.isfinite(opened.score(["a dog"], "a bone").value)


def test_features_without_their_graph_or_model_are_refused() -> None:
    with pytest.raises(InputError, match="give one"):
        open_features(VARIANTS["symbolic"], None)
    with pytest.raises(ModelError, match="need a causal language model, and none is named"):
        open_features(VARIANTS["neural"], None)
    with pytest.raises(InputError, match="without a graph"):
        FeatureExtractor(("one_hop",))
    with pytest.raises(InputError, match="without a language model"):
        FeatureExtractor(("response_loss",))
    for wrong in ((), ("length", "one_hop"), ("length", "length"), ("weight",)):
        with pytest.raises(InputError, match="are not some of"):
            FeatureExtractor(wrong)


def test_losses_are_computed_once(language_model: CausalModel) -> None:
    requests: list[int] = []

    class Counting:
        signature = "x"

        def losses(self, dialogues: Sequence[Sequence[str]]) -> np.ndarray:
            requests.append(len(dialogues))
            return language_model.losses(dialogues)

    extractor = FeatureExtractor(VARIANTS["neural"], language_model=Counting())  # type: ignore[arg-type]
    items = [Item((), "hello"), Item(("hi",), "hello"), Item(("hi",), "bye")]
    first = extractor.values(items)
    assert (extractor.values(items[::-1])[::-1] == first).all()
    assert requests == [4]  # hello, hi + hello, bye, hi + bye; the first item's two losses are one
    assert first[0, 0] == first[0, 1]


def test_the_shipped_model_is_small_symbolic_and_has_its_sources(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    model = load_regressor(SHIPPED)
    assert (model.variant, model.lowest, model.highest, len(model.background)) == ("symbolic", 0, 1, 100)
    assert "CDLA-Sharing 1.0" in model.facts["licence"]
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 50_000
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert model.digest in card
    assert all(file["sha256"] in card for file in model.facts["data"])
    for fact in (card, json.dumps(dict(model.facts))):
        assert "/work" not in fact
        assert "/tmp" not in fact
    metric = load_metric("commonsense", oracle, pipeline=analyser)
    assert 0 <= metric.score(["i have a dog"], "give it a bone").value <= 1


def test_the_shipped_model_prefers_more_triples_at_equal_length() -> None:
    model = load_regressor(SHIPPED)
    values = np.array([[count, 20.0, 10.0] for count in (0.0, 1, 3, 8, 20, 50)])
    assert all(two > count for count, two in pairwise(model.predict(values)))


def test_evidence_uses_the_common_pieces(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    score = load_metric("commonsense", oracle, pipeline=analyser).score(["i have a dog"], "give it a bone", explain=True)
    assert all(isinstance(piece, Piece) for piece in score.evidence.pieces)
    assert shares(score) == pytest.approx(score.value, abs=1e-6)
