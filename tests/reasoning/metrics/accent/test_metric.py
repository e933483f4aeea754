"""The metric ``accent``: the mean over tuples, what it is without any, its evidence in data and in words, its options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path

import pytest
from tacit.graph import WritableGraph, open_graph
from tacit.graph.errors import InputError, ModelError
from tacit.graph.item import Item
from tacit.graph.model import Assertion
from tacit.graph.names import event_uri, text_of
from tacit.reasoning import Score, explanation, load_metric
from tacit.reasoning.metrics.accent.events import EventTuple, Kind, Where
from tacit.reasoning.metrics.accent.metric import PAPER_ENCODER, Accent, make
from tacit.reasoning.metrics.accent.scorers.base import CloseTail, KnownTail, Origin, Triple, TupleScore
from tacit.reasoning.metrics.accent.scorers.retrieval_model import to_bytes

from tests.conftest import Stored
from tests.reasoning.metrics.accent.world import FixedComet, WordEncoder, world

FEED = EventTuple("PersonX buys a dog", "xWant", "PersonX wants to feed the dog", Kind.SINGLE)
HAPPY = EventTuple("PersonX buys a dog", "xReact", "PersonX is happy", Kind.PAIR, Where(0, 2, 11), Where(None, 0, 10))
FLY = EventTuple("PersonX flies", "xWant", "PersonX lands", Kind.SINGLE)


class FixedExtractor:
    """Finds the tuples that it was told of, by response."""

    signature = "fixed"

    def __init__(self, tuples: dict[str, list[EventTuple]]) -> None:
        self.tuples = tuples

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        return [self.tuples.get(item.response, []) for item in items]


class Fixed:
    """Scores by relation, and counts."""

    signature = "fixed"
    relations = None

    def __init__(self) -> None:
        self.scored: list[Triple] = []

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        self.scored += tuples
        tail = KnownTail("happy", "happy", Origin.GRAPH, "PersonX buys a dog", 1.0, "atomic2020")
        return [
            TupleScore(0.8, (CloseTail(tail, 0.8), CloseTail(tail._replace(text="glad"), 0.5)))
            if relation == "xReact"
            else TupleScore(0.2)
            for _, relation, _ in tuples
        ]


@pytest.fixture
def graph(stored: Stored, tmp_path: Path) -> Iterator[WritableGraph]:
    with open_graph(stored(world(), tmp_path / "graph")) as store:
        yield store


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compact model of the small world, over the encoder of words."""
    pytest.importorskip("torch")
    from tacit.reasoning.metrics.accent.events import RELATIONS
    from tacit.reasoning.training.recipe import RetrieverRecipe
    from tacit.reasoning.training.retriever import train_retriever

    triples = [("PersonX eats", relation, f"is {word}") for relation in RELATIONS for word in ("full", "glad", "tired", "late")]
    recipe = RetrieverRecipe(steps=5, batch_size=4, parts=16)
    trained = train_retriever(triples, RELATIONS, WordEncoder().encode, recipe, encoder=("words", "words"))
    path = tmp_path_factory.mktemp("model") / "retriever.safetensors"
    path.write_bytes(to_bytes(trained))
    return path


def accent_over(graph: WritableGraph, profile: str = "tacit") -> tuple[Accent, Fixed]:
    scorer = Fixed()
    extractor = FixedExtractor({"two": [FEED, HAPPY], "one": [HAPPY], "is happy so": [HAPPY]})
    return Accent(graph, extractor, scorer, profile=profile), scorer


def test_the_score_is_the_mean_over_tuples(graph: WritableGraph) -> None:
    metric, scorer = accent_over(graph)
    two, single = metric.score_batch([(["i bought a dog"], "two"), (["i bought a dog"], "one")])
    assert (two.value, single.value) == (pytest.approx(0.5), pytest.approx(0.8))
    assert len(scorer.scored) == 2  # each distinct tuple once
    for score in (two, single):
        assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value)
    assert metric.score(["i bought a dog"], "two").value == two.value


def test_a_response_without_tuples_gets_the_score_of_its_profile(graph: WritableGraph) -> None:
    for response in ("nothing happens", "", "asdf qwer zxcv"):
        default, paper = (accent_over(graph, profile)[0].score([], response) for profile in ("tacit", "paper"))
        assert isnan(default.value)
        assert (default.evidence.pieces, paper.value) == ((), 0.5)
        assert "the paper assigns 0.5" in paper.evidence.note
        assert default.signature != paper.signature
    assert accent_over(graph)[0].score([], "nothing happens").evidence.note == "no event tuple was found in the response"
    with pytest.raises(InputError, match="no profile 'mine'; choose from tacit, paper"):
        accent_over(graph, "mine")


def test_single_or_pair_tuples_can_be_excluded(graph: WritableGraph) -> None:
    alone = HAPPY._replace(kind=Kind.PAIR)
    extractor = FixedExtractor({"both": [FEED._replace(kind=Kind.SINGLE), alone]})
    values = {
        tuples: Accent(graph, extractor, Fixed(), tuples=tuples).score(["i bought a dog"], "both")
        for tuples in ("all", "single", "pair")
    }
    assert values["all"].value == pytest.approx((values["single"].value + values["pair"].value) / 2)
    assert [len(score.evidence.pieces) for score in values.values()] == [2, 1, 1]
    assert "tuples" not in str(values["all"].signature)
    assert "|tuples:pair|" in str(values["pair"].signature)


def test_the_paper_profile_uses_comet_tails_only(graph: WritableGraph) -> None:
    comet = FixedComet({("PersonX buys a dog", "xReact"): ["excited", "happy"]})
    extractor = FixedExtractor({"two": [HAPPY], "one": [EventTuple("PersonX buys a dog", "xWant", "PersonX sings", Kind.SINGLE)]})
    metric = load_metric("accent", graph, profile="paper", extractor=extractor, encoder=WordEncoder(), comet=comet)
    two, single, none = metric.score_batch([(["i bought a dog"], response) for response in ("two", "one", "nothing")])
    assert two.value == pytest.approx(1.0, abs=1e-4)
    assert two.evidence.pieces[0].rests_on[0].kind == "comet-tail"
    assert single.value == 0  # the graph knows tails of this head, and the paper asks the model alone
    assert none.value == 0.5


def test_the_paper_profile_requests_the_published_models(graph: WritableGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def find(model: object, *_: object, **__: object) -> object:
        requests.append(str(model))
        raise ModelError(f"there is no model {model}")

    for module in ("extractors.t5", "tails.comet"):
        monkeypatch.setattr(f"tacit.reasoning.metrics.accent.{module}.find_model", find)
    with pytest.raises(ModelError, match="there is no model EchoShao8899/t5_event_relation_extractor"):
        load_metric("accent", graph, profile="paper")
    with pytest.raises(ModelError, match="there is no model mismayil/comet-bart-ai2"):
        load_metric("accent", graph, profile="paper", extractor=FixedExtractor({}))
    metric = load_metric(
        "accent", graph, profile="paper", extractor=FixedExtractor({}), comet=FixedComet({}), encoder=WordEncoder()
    )
    assert "scorer:compatibility" in str(metric.signature)
    assert PAPER_ENCODER == "sentence-transformers/paraphrase-MiniLM-L6-v2"


def test_evidence_has_a_piece_for_each_tuple_with_its_closest_tails(graph: WritableGraph) -> None:
    metric, _ = accent_over(graph)
    score = metric.score(["i bought a dog today"], "is happy so")
    (piece,) = score.evidence.pieces
    assert (piece.kind, piece.turn) == ("tuple", 0)
    assert piece.history is not None
    assert piece.response is not None
    assert (piece.history.text, piece.response.text) == ("bought a ", "is happy s")
    assert [(part.kind, part.name, part.share) for part in piece.rests_on] == [
        ("graph-tail", "happy", pytest.approx(0.8)), ("graph-tail", "glad", 0.0),
    ]  # fmt: skip
    (step,) = score.to_dict()["evidence"]["pieces"][0]["rests_on"][0]["path"]["steps"]
    assert (step["head"], step["relation"], step["source"]) == ("/e/PersonX_buys_a_dog", "xReact", "atomic2020")


def test_the_evidence_in_words(graph: WritableGraph) -> None:
    metric, _ = accent_over(graph)
    assert explanation.explain(metric.score(["i bought a dog today"], "is happy so")).splitlines()[:4] == [
        "accent 0.800",
        "  +0.800 PersonX buys a dog -xReact-> PersonX is happy (0.80)",
        '    +0.800 like "happy" (0.80), which atomic2020 says of "PersonX buys a dog"',
        '    +0.000 like "glad" (0.50), which atomic2020 says of "PersonX buys a dog"',
    ]


def test_the_signature_names_what_a_score_depends_on(graph: WritableGraph) -> None:
    class Parted(Fixed):
        def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
            return [TupleScore(0.7, parts=(("chance of yes", 0.9), ("share of surprise saved", 0.2))) for _ in tuples]

    metric = Accent(graph, FixedExtractor({"is happy so": [HAPPY]}), Parted())
    assert explanation.explain(metric.score(["i bought a dog today"], "is happy so")).splitlines()[1:4] == [
        "  +0.700 PersonX buys a dog -xReact-> PersonX is happy (0.70)",
        "    chance of yes 0.9",
        "    share of surprise saved 0.2",
    ]


def scored(graph: WritableGraph, model: Path, tuples: list[EventTuple], **options: object) -> Score:
    metric = make(graph, extractor=FixedExtractor({"it": tuples}), encoder=WordEncoder(), model=model, **options)  # type: ignore[arg-type]
    return metric.score(["i bought a dog"], "it")


def test_the_graph_answers_first_and_the_model_for_unknown_heads(graph: WritableGraph, model: Path) -> None:
    known = scored(graph, model, [HAPPY], scorer="compatibility")
    assert known.value == pytest.approx(1.0, abs=1e-3)
    assert known.evidence.pieces[0].rests_on[0].kind == "graph-tail"
    unknown = scored(graph, model, [FLY], scorer="compatibility")
    assert {part.kind for part in unknown.evidence.pieces[0].rests_on} == {"model-tail"}
    assert scored(graph, model, [HAPPY]).value > 0.6  # the default, a blend


def test_a_comet_answers_before_the_model_and_is_queried_once(graph: WritableGraph, model: Path) -> None:
    comet = FixedComet({("PersonX flies", "xWant"): ["to land", "to sleep"]})
    first = scored(graph, model, [HAPPY, FLY], comet=comet, scorer="compatibility")
    assert comet.calls == 1
    assert [piece.rests_on[0].kind for piece in first.evidence.pieces] == ["graph-tail", "comet-tail"]
    assert first.value == pytest.approx(1.0, abs=1e-3)
    assert scored(graph, model, [HAPPY, FLY], comet=comet, scorer="compatibility") == first
    assert comet.calls == 1
    comet.fails = "no more memory"
    swims = EventTuple("PersonX swims", "xWant", "PersonX dries", Kind.SINGLE)
    assert "no more memory" in scored(graph, model, [swims], comet=comet).evidence.note


def test_an_unreadable_comet_is_an_error(graph: WritableGraph, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ModelError, match="there is no model folder"):
        scored(graph, model, [FLY], comet=tmp_path / "none")


def test_similar_heads_are_used_if_enabled(graph: WritableGraph, model: Path) -> None:
    cat = EventTuple("PersonX buys a cat", "xReact", "PersonX is happy", Kind.SINGLE)
    score = scored(graph, model, [cat], scorer="compatibility", nearest=1, threshold=0.3)
    best = score.evidence.pieces[0].rests_on[0]
    assert (best.kind, best.name) == ("nearest-tail", "happy")
    assert 'of "PersonX buys a dog", an event like it' in explanation.explain(score)


def test_support_of_a_tuple_is_an_edge_of_the_graph(graph: WritableGraph, tmp_path: Path) -> None:
    """The model words triples in its own way; the evidence is the graph's edge where there is one, else the model's word."""
    pytest.importorskip("torch")
    from tacit.reasoning.metrics.accent.events import RELATIONS
    from tacit.reasoning.metrics.accent.tails.event_table import open_table
    from tacit.reasoning.training.recipe import RetrieverRecipe
    from tacit.reasoning.training.retriever import train_retriever

    wakes, eats = event_uri("PersonX wakes up"), event_uri("PersonX eats dinner")
    graph.load([Assertion(wakes, "isBefore", eats, 1.0, "atomic2020", "test.tsv", "cc:by/4.0")])
    known = [*open_table(graph).triples(RELATIONS), ("PersonX buys a cat", "xWant", "to pet the cat")]
    trained = train_retriever(
        known, RELATIONS, WordEncoder().encode, RetrieverRecipe(steps=2, batch_size=4, parts=16), encoder=("words", "words")
    )
    (tmp_path / "retriever.safetensors").write_bytes(to_bytes(trained))
    fed = EventTuple("PersonX buys a puppy", "xWant", "PersonX feeds the puppy", Kind.SINGLE)
    late = EventTuple("PersonX eats supper", "isAfter", "PersonX wakes up late", Kind.SINGLE)
    metric = make(graph, extractor=FixedExtractor({"fed": [fed, late]}), encoder=WordEncoder(), model=tmp_path)
    supports = {}
    for support in (
        support for piece in metric.score(["i bought a puppy"], "fed", explain=True).evidence.pieces for support in piece.rests_on
    ):
        assert support.path is not None
        (edge,) = support.path.assertions
        supports[text_of(edge.head), text_of(edge.tail)] = (support.kind, support.asserted, edge.source)
    assert supports["PersonX buys a dog", "to feed the dog"] == ("nearest-tail", True, "atomic2020")
    assert supports["PersonX wakes up", "PersonX eats dinner"] == ("nearest-tail", True, "atomic2020")  # as it stands, isBefore
    assert supports["PersonX buys a cat", "PersonX pets the cat"] == ("nearest-tail", False, f"retriever:{trained.digest}")


def test_each_distinct_text_is_embedded_once(graph: WritableGraph, model: Path) -> None:
    encoder = WordEncoder()
    tuples = {"a": [HAPPY, FEED], "b": [HAPPY, FLY], "c": [FLY]}
    metric = make(graph, extractor=FixedExtractor(tuples), encoder=encoder, model=model)
    metric.score_batch([(["i bought a dog"], name) for name in "abcabc"])
    assert len(encoder.seen) == len(set(encoder.seen))


def test_scores_do_not_depend_on_batch_or_order(graph: WritableGraph, model: Path) -> None:
    tuples = {"a": [HAPPY, FEED], "b": [HAPPY, FLY], "c": [FLY]}
    metric = make(graph, extractor=FixedExtractor(tuples), encoder=WordEncoder(), model=model)
    items = [(["i bought a dog"], name) for name in "abcd"]
    together = metric.score_batch(items)
    backwards = make(graph, extractor=FixedExtractor(tuples), encoder=WordEncoder(), model=model).score_batch(items[::-1])[::-1]
    for item, first, second in zip(items, together, backwards, strict=True):
        assert metric.score(*item).value == pytest.approx(first.value, abs=1e-6, nan_ok=True)
        assert second.value == pytest.approx(first.value, abs=1e-6, nan_ok=True)
        assert second.signature == first.signature


def test_accent_is_loaded_by_name_and_reads_real_text(graph: WritableGraph, model: Path) -> None:
    metric = load_metric("accent", graph, encoder=WordEncoder(), model=model)
    responses = ["I bought a dog because I was lonely.", "", "???", "Köpeğim bugün çok mutlu", "😀" * 20]
    score, *others = metric.score_batch([(["What did you do?"], response) for response in responses])
    assert 0 <= score.value <= 1
    assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value)
    assert all(isnan(other.value) and other.evidence.note for other in others)
    assert str(metric.signature).startswith(f"accent|graph:{graph.manifest().digest}|extractor:rules")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"profile": "mine"}, "no profile 'mine'"),
        ({"tuples": "triple"}, "no kind of tuples 'triple'; choose from all, single, pair"),
        ({"scorer": "best"}, "unknown tuple scorer 'best'"),
        ({"extractor": "guess"}, "unknown extractor 'guess'"),
        ({"nearest": 3, "threshold": 2.0}, "nearest must be >= 1"),
        ({"extractor_model": "x"}, "the extractor rules has no model"),
    ],
)
def test_invalid_options_are_refused(graph: WritableGraph, model: Path, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make(graph, encoder=WordEncoder(), model=model, **options)  # type: ignore[arg-type]
