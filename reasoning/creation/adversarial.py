"""Adversarial filtering: wrong answers that a discriminator does not find easy (Zellers et al., "SWAG", EMNLP 2018; CICERO).

Each instance has candidates for its wrong answers. At first some are drawn at random. In each round the instances are divided
into folds by dialogue; a discriminator is trained on the other folds, and the easiest wrong choice of a held-out instance, if
it is scored below the best right answer, is swapped for a candidate that is scored higher. This ends when the accuracy is stable.
A candidate that is hard to tell from a right answer may be right: people have to check the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.questions import Answered, Question
from ..evaluation.resampling import k_folds
from ..inference.choice_figures import MeanInterval, interval
from .discriminators import Discriminator, Problem, Scorer
from .tfidf import words_of

STABLE_ROUNDS = 3


class Round(NamedTuple):
    """A round: its number from 1, the held-out accuracy of the choices at its beginning, the wrong choices swapped in it."""

    number: int
    accuracy: float
    swapped: int


@dataclass(frozen=True, slots=True)
class Filtered:
    """The result of adversarial filtering."""

    wrong: tuple[tuple[int, ...], ...]  # for each instance the numbers of the texts that are its wrong choices
    rounds: tuple[Round, ...]  # in order; the last has no swaps
    # before, after: cross-validated accuracy of a fresh discriminator, on folds that no round used, with the choices drawn at
    # random and with the final ones; 95% intervals over dialogues.
    before: MeanInterval
    after: MeanInterval
    chance: float  # accuracy of guessing
    stable: bool  # whether it ended because the accuracy was stable


def make_problem(
    instances: Sequence[Answered], extra: Sequence[Sequence[str]] = (), *, wrong: int = 4, elsewhere: int = 50, seed: int = 0
) -> Problem:
    """Return the instances with candidates: their own wrong answers, extra ones, and answers to the same question elsewhere.

    Candidates with the same words as a right answer of the instance, or as each other, are left out.

    Args:
        extra: for each instance candidates of the caller, all of which are used; empty: none for any.
        wrong: least number of candidates that an instance needs.
        elsewhere: largest number of right answers to the same question about other dialogues, drawn at random for each instance.

    Raises:
        InputError: an instance has fewer than ``wrong`` candidates, or there is no instance.
    """
    if not instances:
        raise InputError("there is no instance with a right answer; give some")
    instances = [replace(instance, right=tuple(dict.fromkeys(instance.right))) for instance in instances]
    known: dict[Question, list[tuple[str, str]]] = {}
    for instance in instances:
        known.setdefault(instance.question, []).extend((instance.id, text) for text in instance.right)
    texts = []
    for number, instance in enumerate(instances):
        keys = {_key(text) for text in instance.right}
        candidates: list[str] = []
        for text in (*instance.wrong, *(extra[number] if extra else ())):
            if _key(text) not in keys:
                keys.add(_key(text))
                candidates.append(text)
        answers = known[instance.question]
        drawn = 0
        for index in np.random.default_rng([seed, 0, number]).permutation(len(answers)).tolist():
            if drawn == elsewhere:
                break
            dialogue, text = answers[index]
            if dialogue != instance.id and _key(text) not in keys:
                keys.add(_key(text))
                candidates.append(text)
                drawn += 1
        if len(candidates) < wrong:
            raise InputError(
                f"the instance {instance.id}, record {instance.line}, {instance.question.value}, has {len(candidates)} "
                f"candidates for {wrong} wrong answers; give more instances, more candidates, or ask for fewer wrong answers"
            )
        texts.append((*instance.right, *candidates))
    return Problem(tuple(instances), tuple(texts))


def filter_choices(
    problem: Problem,
    discriminator: Discriminator,
    *,
    wrong: int = 4,
    number_of_folds: int = 5,
    rounds: int = 10,
    swaps: int = 1,
    stable: float = 0.02,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Filtered:
    """Filter wrong choices adversarially; the same arguments give the same choices.

    Args:
        wrong: wrong choices of each instance; number_of_folds: parts of the dialogues, drawn anew in each round.
        rounds: most rounds with swaps; swaps: most of an instance in a round. With many at once all choices change together, and
            the next discriminator learns the reverse.
        stable: filtering ends when the accuracies of three rounds in a row differ by at most this much.
        progress: called with the number of further trained discriminators.

    Raises:
        InputError: there are fewer dialogues than folds, or fewer than two folds.
    """
    ids = [instance.id for instance in problem.instances]
    dialogues = np.unique(ids, return_inverse=True)[1]

    def test_parts(seed: int) -> list[NDArray[np.int64]]:
        return [fold.test for fold in k_folds(dialogues, number_of_folds, seed)]

    fresh = test_parts(seed)
    state = [_drawn(problem, number, wrong, seed) for number in range(len(ids))]
    first = state
    finished: list[Round] = []
    ended = False
    while True:
        current = len(finished)
        won: list[float] = []
        following = list(state)
        swapped = 0
        for number, scorer in _held_out(problem, discriminator, state, test_parts(seed + 1 + current), progress):
            scores = scorer(number, range(len(problem.texts[number])))
            best = float(scores[: problem.count_right(number)].max())
            won.append(float(all(scores[index] < best for index in state[number])))
            rng = np.random.default_rng([seed, 3, current, number])
            following[number], own = _swapped(state[number], scores, problem.count_right(number), best, swaps, rng)
            swapped += own
        accuracy = float(np.mean(won))
        recent = [*(finished_round.accuracy for finished_round in finished[-(STABLE_ROUNDS - 1) :]), accuracy]
        ended = len(recent) == STABLE_ROUNDS and max(recent) - min(recent) <= stable
        if ended or current == rounds:
            finished.append(Round(current + 1, accuracy, 0))
            break
        finished.append(Round(current + 1, accuracy, swapped))
        state = following
    figures = []
    for choices in (first, state):
        accuracies = np.zeros(len(ids))
        for number, scorer in _held_out(problem, discriminator, choices, fresh, progress):
            scores = scorer(number, (*range(problem.count_right(number)), *choices[number]))
            known = problem.count_right(number)
            accuracies[number] = scores[:known].max() > scores[known:].max()
        figures.append(interval(accuracies, ids, seed=seed))
    guessing = float(np.mean([problem.count_right(number) / (problem.count_right(number) + wrong) for number in range(len(ids))]))
    return Filtered(tuple(tuple(indices) for indices in state), tuple(finished), figures[0], figures[1], guessing, ended)


def record_of(problem: Problem, filtered: Filtered, number: int, seed: int = 0) -> dict[str, object]:
    """Return an instance as CICERO's record, its right and wrong choices in random order."""
    instance, texts = problem.instances[number], problem.texts[number]
    indices = [*range(problem.count_right(number)), *filtered.wrong[number]]
    order = [indices[index] for index in np.random.default_rng([seed, 2, number]).permutation(len(indices)).tolist()]
    correct = [index for index, candidate in enumerate(order) if candidate < problem.count_right(number)]
    record: dict[str, object] = {
        "ID": instance.id, "Dialogue": instance.dialogue, "Target": instance.target, "Question": instance.question.text,
        "Choices": [texts[candidate] for candidate in order],
    }  # fmt: skip
    if instance.human:
        record["Human Written Answer"] = [index for index in correct if texts[order[index]] in instance.human]
    record["Correct Answers"] = correct
    return record


def _held_out(
    problem: Problem,
    discriminator: Discriminator,
    state: Sequence[Sequence[int]],
    parts: Sequence[NDArray[np.int64]],
    progress: Callable[[int], object] | None,
) -> Iterator[tuple[int, Scorer]]:
    """Yield each instance, fold by fold, with a scorer that learnt from the other folds."""
    for part in parts:
        held_out = set(part.tolist())
        chosen = {
            number: (*range(problem.count_right(number)), *indices)
            for number, indices in enumerate(state)
            if number not in held_out
        }
        scorer = discriminator.fit(chosen)
        if progress is not None:
            progress(1)
        yield from ((number, scorer) for number in sorted(held_out))


def _drawn(problem: Problem, number: int, wrong: int, seed: int) -> list[int]:
    """Return the numbers of candidates drawn at random."""
    candidates = range(problem.count_right(number), len(problem.texts[number]))
    order = np.random.default_rng([seed, 1, number]).permutation(len(candidates)).tolist()
    return sorted(candidates[index] for index in order[:wrong])


def _swapped(
    indices: Sequence[int], scores: NDArray[np.float64], right: int, best: float, limit: int, rng: np.random.Generator
) -> tuple[list[int], int]:
    """Return the wrong choices after swapping the easiest ones, each for a random harder candidate, and the number of swaps."""
    chosen = list(indices)
    swaps = 0
    for index in sorted(indices, key=lambda choice: (scores[choice], choice)):
        if scores[index] >= best or swaps == limit:
            break
        harder = [
            candidate for candidate in range(right, len(scores)) if candidate not in chosen and scores[candidate] > scores[index]
        ]
        if harder:
            chosen[chosen.index(index)] = harder[int(rng.integers(len(harder)))]
            swaps += 1
    return sorted(chosen), swaps


def _key(text: str) -> str:
    return " ".join(words_of(text)) or text.strip()
