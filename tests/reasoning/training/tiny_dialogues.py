"""Dialogues of two small worlds, made by the tests: what follows what is plain, so that little training learns it."""

from __future__ import annotations

import random

TOPICS = {
    "pets": [
        ("i have a dog", "give it a bone"), ("the puppy is hungry", "give it food"), ("a dog wants a bone", "give the dog food"),
    ],
    "sea": [
        ("we went to the beach", "that makes sense , we swam in the sea"),
        ("what did you do at the weekend ?", "we swam in the sea"),
    ],
    "talk": [
        ("i don't understand what you are saying", "tell me more"),
        ("that makes sense !", "tell me more , what are you saying"),
    ],
}  # fmt: skip


def tiny_dialogues(number: int, *, seed: int = 0, only: str = "") -> list[tuple[str, ...]]:
    """Distinct dialogues of four turns each, of one topic or of any."""
    chance = random.Random(seed)
    topics = [only] if only else list(TOPICS)
    dialogues = []
    for count in range(number):
        pairs = [chance.choice(TOPICS[chance.choice(topics)]) for _ in range(2)]
        dialogues.append(tuple(f"{turn} {count}" if index == 0 else turn for index, turn in enumerate(sum(pairs, ()))))
    return dialogues
