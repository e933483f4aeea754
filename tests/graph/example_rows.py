"""Rows for tests: a small world worked out by hand, texts that try to break out of a query, and random graphs."""

from __future__ import annotations

import random

from tacit.graph import Assertion

DOG, BONE, CAT, ANIMAL, MEAT, FOOD = (f"/c/en/{word}" for word in ("dog", "bone", "cat", "animal", "meat", "food"))

SMALL = [
    Assertion(DOG, "Desires", BONE, 2.0, "conceptnet", "/d/conceptnet/4/en", "cc:by-sa/4.0", "/s/contributor/a | /s/b"),
    Assertion(DOG, "RelatedTo", BONE, 1.0, "conceptnet"),
    Assertion(BONE, "AtLocation", DOG, 3.5, "conceptnet", head_sense="n"),
    Assertion(DOG, "IsA", ANIMAL, 4.0, "conceptnet", head_sense="n/wn/animal", tail_sense="n"),
    Assertion(CAT, "IsA", ANIMAL, 4.0, "conceptnet"),
    Assertion(CAT, "Desires", MEAT, 1.5, "conceptnet"),
    Assertion(BONE, "RelatedTo", MEAT, 1.0, "conceptnet"),
    Assertion(MEAT, "IsA", FOOD, 2.5, "conceptnet"),
    Assertion(DOG, "RelatedTo", DOG, 9.0, "conceptnet"),
    Assertion("/c/de/hund", "Synonym", "/c/en/hound", 1.0, "conceptnet"),
    Assertion(DOG, "HasSubevent", "/c/en/bark", 1.0, "conceptnet"),
    Assertion("/e/PersonX_eats_[]", "xWant", "/e/to_rest", 1.0, "atomic2020", "train.tsv", "CC BY 4.0"),
    Assertion("/e/PersonX_eats_[]", "xWant", "/e/to_drink", 2.0, "atomic2020", "train.tsv"),
    Assertion("/e/PersonX_eats_[]", "HasSubEvent", "/e/chews", 1.0, "comet:tiny", rank=0, score=-0.125),
    Assertion("/e/PersonX_eats_dinner", "xNeed", "/e/to_cook", 1.0, "atomic2020"),
]

NASTY_TEXTS = [
    "dog'}) DETACH DELETE n //",
    'dog"}) MATCH (n) DETACH DELETE n //',
    "`) MATCH (n) DETACH DELETE n //",
    "dog\\'}) DETACH DELETE n //",
    "$uri; DROP TABLE Concept; --",
    "dog\n}) MATCH (n) DELETE n /*",
    "dog\t\u2028\u00a0\ufeffbone",
    "\\u0027}) DETACH DELETE n //",
    "naïve 犬 😀 \U0001f469\u200d\U0001f52c",
    "",
]

NASTY_ROWS = [
    Assertion(
        f"/c/en/head_{number}_{text.replace('/', '|')}",
        "RelatedTo",
        f"/c/en/tail {number}",
        1.0,
        text,
        text,
        text,
        text,
        text,
        text,
    )
    for number, text in enumerate(
        [*NASTY_TEXTS, 'a "quoted" text', "a,b;c|d", "line\r\nbreak", "back\\slash", "' single", " spaces "]
    )
]


def random_rows(number: int, nodes: int, seed: int) -> list[Assertion]:
    """A graph with hubs: heads come from few nodes more often than from others; some rows are events', some repeat."""
    draw = random.Random(seed)
    rows = []
    for _ in range(number):
        head, tail = int(nodes * draw.random() ** 3), draw.randrange(nodes)
        weight = draw.choice([0.5, 1.0, 1.0, 2.0, 3.464])
        if draw.random() < 0.2:
            relation = draw.choice(["xWant", "HasSubEvent", "Causes"])
            rows.append(Assertion(f"/e/event_{head}", relation, f"/e/event_{tail}", weight, "atomic2020", "t.tsv"))
        else:
            relation = draw.choice(["IsA", "UsedFor", "RelatedTo", "HasSubevent", "dbpedia_genre"])
            rows.append(Assertion(f"/c/en/concept_{head}", relation, f"/c/en/concept_{tail}", weight, "conceptnet", "/d/x"))
    return rows
