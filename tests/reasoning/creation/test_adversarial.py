"""Adversarial filtering: it removes the easy choices of a constructed pool, is deterministic, and divides by dialogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.graph.questions import Answered, Question, answered
from tacit.reasoning.creation.adversarial import Filtered, Round, filter_choices, make_problem, record_of
from tacit.reasoning.creation.discriminators import Encoder, Lexical, Problem, Scorer
from tacit.reasoning.training.recipe import CiceroRecipe

VERBS = ("looked", "waited", "asked", "drove")
THINGS = ("dog", "cat", "sea", "car", "book", "song", "tree", "lake", "road", "lamp", "door", "boat")


def instance(number: int, *, right: tuple[str, ...] = (), wrong: tuple[str, ...] = ()) -> Answered:
    thing = THINGS[number % len(THINGS)]
    turns = (f"A: I bought a {thing} yesterday", f"B: How do you like the {thing} ?")
    answer = right or (f"The speaker {VERBS[number % 4]} for the {thing} in town.",)
    return Answered(number + 1, f"d{number // 2}", turns, turns[0][3:], Question.CAUSE, answer, wrong=wrong)


def easy_and_hard(number: int) -> tuple[str, ...]:
    """Return twenty candidates that deny and name nothing of the dialogue, and three or four like the right answer."""
    thing = THINGS[number % len(THINGS)]
    easy = (f"No moon {kind} ever." for kind in range(20))
    hard = (f"The speaker {verb} for the {thing} in town." for verb in VERBS)
    return (*easy, *hard)


INSTANCES = [instance(number) for number in range(24)]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return make_problem(INSTANCES, [easy_and_hard(number) for number in range(24)], wrong=2, elsewhere=0)


@pytest.fixture(scope="module")
def filtered(problem: Problem) -> Filtered:
    return filter_choices(problem, Lexical(problem), wrong=2, number_of_folds=4, rounds=6)


def test_easy_choices_are_replaced_by_hard_ones(problem: Problem, filtered: Filtered) -> None:
    def easy(wrong: Sequence[Sequence[int]]) -> int:
        return sum(problem.texts[number][choice].startswith("No ") for number, places in enumerate(wrong) for choice in places)

    assert filtered.before.value > 0.7
    assert filtered.after.value < 0.6
    assert filtered.rounds[0].accuracy > filtered.rounds[-1].accuracy
    assert filtered.rounds[-1].swapped == 0
    assert easy(filtered.wrong) <= 12, "of 48; about 40 were drawn"
    assert all(len(set(places)) == 2 and min(places) >= 1 for places in filtered.wrong)
    assert filtered.chance == pytest.approx(1 / 3)


def test_filtering_is_deterministic(problem: Problem, filtered: Filtered) -> None:
    again = filter_choices(problem, Lexical(problem), wrong=2, number_of_folds=4, rounds=6)
    assert again == filtered
    other = filter_choices(problem, Lexical(problem), wrong=2, number_of_folds=4, rounds=6, seed=1)
    assert other.wrong != filtered.wrong


class Fixed:
    """A discriminator that knows the scores of texts beforehand, and records which instances it learns from."""

    signature = "fixed"

    def __init__(self, instances: Sequence[Answered], scores: Mapping[int, Sequence[float]]) -> None:
        self.instances, self.scores, self.learnt = instances, scores, list[set[int]]()

    def fit(self, chosen: Mapping[int, Sequence[int]]) -> Scorer:
        learnt = set(chosen)
        self.learnt.append(learnt)

        def score(number: int, places: Sequence[int]) -> np.ndarray:
            assert number not in learnt, "a scorer judges only what it did not learn from"
            assert self.instances[number].id not in {self.instances[instance].id for instance in learnt}, (
                "nor another instance of the dialogue"
            )
            return np.array([self.scores[number][choice] for choice in places])

        return score


def test_rounds_by_hand() -> None:
    """Right answer 1.0; candidates 0, 0.5 and 2: each round swaps one, until both that are left score highest."""
    instances = [instance(number, wrong=("a moon", "a star", "a sky")) for number in (0, 2)]
    problem = make_problem(instances, wrong=1, elsewhere=0)
    scores = {0: [1.0, 0.0, 0.5, 2.0], 1: [1.0, 2.0, 3.0, 4.0]}
    fixed = Fixed(instances, scores)
    filtered = filter_choices(problem, fixed, wrong=1, number_of_folds=2, rounds=9, stable=0.0)
    assert filtered.wrong[0] == (3,)
    start = filtered.rounds[0].accuracy
    assert filtered.before.value == start
    assert filtered.after.value == 0.0
    assert filtered.stable
    assert [filter_round.accuracy for filter_round in filtered.rounds[-3:]] == [0.0, 0.0, 0.0]
    assert filtered.rounds[-1] == Round(len(filtered.rounds), 0.0, 0)
    short = filter_choices(
        problem, Fixed(instances, {0: [9.0, 0, 0, 0], 1: [9.0, 0, 0, 0]}), wrong=1, number_of_folds=2, rounds=1
    )
    assert short.rounds == (Round(1, 1.0, 0), Round(2, 1.0, 0)), "nothing is harder"
    assert not short.stable


def test_folds_never_share_a_dialogue(problem: Problem) -> None:
    fixed = Fixed(INSTANCES, {number: np.linspace(0, 1, 24)[::-1].tolist() for number in range(24)})
    filter_choices(problem, fixed, wrong=2, number_of_folds=5, rounds=2)
    assert len(fixed.learnt) == (3 + 2) * 5
    assert all(0 < len(fold) < 24 for fold in fixed.learnt)


def test_candidates() -> None:
    answered = instance(0, right=("yes !", "yes !", "of course"), wrong=("no", "NO .", "yes"))
    others = [instance(number, right=(f"answer {number}",)) for number in range(1, 6)]
    problem = make_problem([answered, *others], [["perhaps", "of course ."], *[[]] * 5], wrong=2, elsewhere=3)
    texts = problem.texts[0]
    assert texts[:4] == ("yes !", "of course", "no", "perhaps"), "without those that have the words of a right answer"
    assert len(texts) == 4 + 3
    assert "answer 1" not in texts, "it is about the same dialogue"
    assert problem.count_right(0) == 2
    with pytest.raises(InputError, match="the instance d0, record 1, cause, has 0 candidates for 1 wrong answers"):
        make_problem([instance(0), instance(1)], wrong=1)
    with pytest.raises(InputError, match="no instance"):
        make_problem([])
    with pytest.raises(InputError, match="3 conversations cannot be divided into 4 folds"):
        filter_choices(problem, Lexical(problem), wrong=2, number_of_folds=4)


def test_records_are_shuffled(problem: Problem, filtered: Filtered) -> None:
    records = [record_of(problem, filtered, number) for number in range(24)]
    places = set()
    for instance, record in zip(INSTANCES, records, strict=True):
        read = answered(record, 1)
        assert read.right == instance.right
        assert len(read.wrong) == 2
        right: Any = record["Correct Answers"]
        places.add(tuple(right))
    assert places == {(0,), (1,), (2,)}
    assert "Human Written Answer" not in records[0]


def test_records_with_answers() -> None:
    plain = {"ID": "d", "Dialogue": ["A: Hi", "B: Ho"], "Target": "Hi", "Question": "cause"}
    five = {"Choices": ["a", "b", "c", "d", "e"], "Human Written Answer": [2], "Correct Answers": [1, 2]}
    read = answered({**plain, **five}, 7)
    assert (read.line, read.right, read.human, read.wrong) == (7, ("b", "c"), ("c",), ("a", "d", "e"))
    assert answered({**plain, "Choices": ["a", "b"], "Human Written Answer": [1]}, 1).right == ("b",)
    assert answered({**plain, "Choices": ["a"], "Correct Answers": [0]}, 1).wrong == ()
    assert answered({**plain, "Answers": ["x", "y"]}, 1).right == ("x", "y")
    for wrong in ({}, {"Answers": []}, {"Choices": ["a", "b"]}, {"Choices": ["a", "b"], "Correct Answers": []}):
        with pytest.raises(InputError, match="there is no right answer; give Choices"):
            answered({**plain, **wrong}, 1)
    with pytest.raises(InputError, match="Target is missing"):
        answered({"ID": "d", "Dialogue": ["A: Hi"]}, 1)
    problem = make_problem([read], wrong=3)
    record: dict[str, Any] = record_of(problem, Filtered(((2, 3, 4),), (), None, None, 0.0, False), 0)  # type: ignore[arg-type]
    assert [record["Choices"][index] for index in record["Human Written Answer"]] == ["c"]
    assert [record["Choices"][index] for index in record["Correct Answers"]] in (["b", "c"], ["c", "b"])


def test_an_encoder_learns_and_its_kind_is_checked(problem: Problem, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from tests.reasoning.models.tiny_causal import save_tiny_causal
    from tests.reasoning.models.tiny_encoder import save_tiny_encoder

    model = save_tiny_encoder(tmp_path / "encoder", modes=("mean",), positions=128)
    encoder = Encoder(problem, model, CiceroRecipe(epochs=6, rate=1e-2, optimizer="adamw", checkpoint_every=0))
    score = encoder.fit(dict.fromkeys(range(12), (0, 1, 2)))
    won = [score(number, (0, 1, 2)) for number in range(12, 24)]
    assert np.mean([values[0] > values[1:].max() for values in won]) > 0.8
    assert score(12, (1,)) == pytest.approx(won[0][1:2], abs=1e-4)
    assert encoder.signature.startswith("encoder-1(")
    with pytest.raises(ModelError, match="is a causal model; give an encoder"):
        Encoder(problem, save_tiny_causal(tmp_path / "causal"))
    with pytest.raises(ModelError):
        Encoder(problem, tmp_path / "missing")
