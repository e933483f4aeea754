"""Responses do not depend on what is sampled with them; perplexity by hand; ranks and edges; wrong input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError

pytest.importorskip("transformers")

from tacit.reasoning import Reasoner
from tacit.reasoning.response import open_responder, rerank
from tacit.reasoning.response.reranking import ranked
from tacit.reasoning.response.responder import Turn, encode_turns

from tests.reasoning.models.tiny_causal import save_tiny_causal
from tests.reasoning.training.tiny_dialogues import tiny_dialogues

HISTORIES = [dialogue[:length] for dialogue in tiny_dialogues(4) for length in (1, 2, 3)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_causal(tmp_path_factory.mktemp("responder") / "tiny", kind="llama", positions=96, initializer_range=0.1)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "gemma2"])
def test_samples_do_not_depend_on_the_batch(kind: str, tmp_path: Path) -> None:
    folder = save_tiny_causal(tmp_path / "tiny", kind=kind, initializer_range=0.1)
    together = list(open_responder(folder, batch_size=7, max_tokens=8).respond(HISTORIES, 2))
    alone = open_responder(folder, batch_size=1, max_tokens=8)
    assert [next(alone.respond([history], 1))[0] for history in HISTORIES] == [texts[0] for texts in together]
    assert list(open_responder(folder, batch_size=5, max_tokens=8).respond(HISTORIES[::-1], 2))[::-1] == together
    assert len({text for texts in together for text in texts}) > len(HISTORIES)
    assert list(open_responder(folder, max_tokens=8, seed=1).respond(HISTORIES[:2], 2)) != together[:2]


def test_tokens_are_drawn_from_the_nucleus_in_proportion(model: Path) -> None:
    responder = open_responder(model, p=0.75)
    logits = np.log(np.array([0.2, 0.5, 0.3, 1e-9]))
    random = np.random.default_rng(0)
    drawn = [responder._draw(logits, -np.log(random.standard_exponential(4)), 0.0) for _ in range(4_000)]
    shares = np.bincount([draw for draw in drawn if draw is not None], minlength=4) / 4_000
    assert shares.tolist() == pytest.approx([0.0, 0.625, 0.375, 0.0], abs=0.03)
    noise = np.array([0.0, 0.0, math.log(0.5 / 0.3), 0.0])
    assert responder._draw(logits, noise, 1e-3) is None  # a tie, which rounding could decide
    assert responder._draw(logits, noise + np.array([0.0, 0.1, 0.0, 0.0]), 1e-3) == 1


def test_perplexity_equals_that_of_each_turn_alone(model: Path) -> None:
    import torch

    responder = open_responder(model)
    turns = [Turn(dialogue[:2], dialogue[2]) for dialogue in tiny_dialogues(6)]
    perplexity = responder.perplexity(turns)
    for turn, nats, number in zip(turns, perplexity.nats.tolist(), perplexity.tokens.tolist(), strict=True):
        ((ids, start),) = encode_turns(responder.model, [turn])
        with torch.inference_mode():
            logits = responder.model.model(input_ids=torch.tensor([ids])).logits[0, :-1]
        losses = torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="sum" if start == 1 else "none")
        assert number == len(ids) - start
        assert nats == pytest.approx(float(losses[start - 1 :].sum()), rel=1e-4)
    assert perplexity.value == pytest.approx(math.exp(perplexity.nats.sum() / perplexity.tokens.sum()))
    low, high = perplexity.interval(range(len(turns)))
    assert low <= perplexity.value <= high


def test_long_histories_lose_their_beginning_and_long_turns_their_end(model: Path) -> None:
    responder = open_responder(model)
    ((ids, start),) = encode_turns(responder.model, [Turn(["dog " * 200, "sea " * 200], "beach " * 200)])
    assert len(ids) == responder.model.max_length == 96
    assert 96 - start == 47
    assert len(next(open_responder(model, max_tokens=30).respond([["sea " * 200]], 1))) == 1


def test_ties_share_ranks_and_unjudged_samples_come_last() -> None:
    assert ranked([0.5, math.nan, 0.9, 0.5]).tolist() == [2.5, 4.0, 1.0, 2.5]


def test_the_best_sample_has_its_evidence(sample_graph: Any) -> None:
    with Reasoner(sample_graph, ["grounding", "length"]) as reasoner:
        (reranked,) = rerank(
            reasoner, [(["My dog was alone all day."], ["Hello.", "Take him for a walk in the park!", "Hello."])]
        )
        assert reranked.best.number == 1
        assert [candidate.number for candidate in reranked.candidates] == [1, 0, 2]
        assert {(edge.head_text, edge.relation, edge.tail_text) for edge in reranked.edges} >= {("dog", "Desires", "walk")}
        with pytest.raises(InputError, match="there is no response to rank"):
            list(rerank(reasoner, [(["Hello."], [])]))


def test_rankings_do_not_depend_on_the_batch(sample_graph: Any) -> None:
    """By `coherence`, which reads texts in batches, and `grounding`."""
    rows = [
        (["My dog was alone all day."], ["The stock market fell.", "Take him for a walk in the park!"]),
        (["I cooked dinner for you.", "Thank you!"], ["You are welcome, enjoy the soup.", "Dogs bark.", "Dogs bark."]),
        (["Do you like music?"], ["Yes."]),
    ]
    with Reasoner(sample_graph, ["coherence", "grounding"]) as reasoner:
        together = list(rerank(reasoner, iter(rows)))
        assert [entry.best.text for entry in together[:2]] == [
            "Take him for a walk in the park!",
            "You are welcome, enjoy the soup.",
        ]
        assert [sorted(c.number for c in entry.candidates) for entry in together] == [[0, 1], [0, 1, 2], [0]]
        for row, entry in zip(rows, together, strict=True):
            (alone,) = rerank(reasoner, [row])
            assert [c.number for c in alone.candidates] == [c.number for c in entry.candidates]
            for mine, other in zip(alone.candidates, entry.candidates, strict=True):
                assert mine.rank == other.rank
                assert mine.values == pytest.approx(other.values, abs=1e-5)
        with pytest.raises(InputError, match="there is no response to rank"):
            list(rerank(reasoner, [*rows, (["Hello."], [])]))


def test_invalid_input_is_refused(model: Path, tmp_path: Path) -> None:
    responder = open_responder(model)
    for history in ([], ["  "]):
        with pytest.raises(InputError, match="the history is empty, so there is nothing to respond to"):
            list(responder.respond([history]))
    with pytest.raises(InputError, match="the history is one text"):
        list(responder.respond(["hello"]))
    with pytest.raises(InputError, match="number of samples must be >= 1"):
        list(responder.respond([["hello"]], 0))
    wrong = (({"p": 0.0}, "p must be > 0"), ({"max_tokens": 60}, "from 1 to 48"), ({"batch_size": 0}, "batch size"))
    for options, sentence in wrong:
        with pytest.raises(InputError, match=sentence):
            open_responder(model, **options)
    with pytest.raises(ModelError, match="no model folder"):
        open_responder(tmp_path / "none")
