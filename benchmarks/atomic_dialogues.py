"""Short dialogues made by rule from ATOMIC-2020's tuples, with false responses, for ``tacit train judgement --weigh``.

    python benchmarks/atomic_dialogues.py TUPLES.tsv[.gz] --output FILE.jsonl [--number N] [--seed N]

One turn describes an event ("Imagine that I lose my wallet."), and the true response states what follows from it by a tuple
("Then you would want to cancel the cards."). The false responses have the same form with tails of other events: of one that
shares a word with the event, and of a random one. No tail of the event itself is used in them. Verbs are inflected
by rule, with errors.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FORMS = {
    "xWant": "Then you would want {}.",
    "xNeed": "Before that you would have needed {}.",
    "xIntent": "I guess you would do it {}.",
    "oWant": "Then Sam would want {}.",
}
_IRREGULAR = {"has": "have", "is": "am", "goes": "go", "does": "do"}
_COMMON = frozenset((
    "personx", "persony", "a", "an", "the", "to", "of", "in", "on", "at", "and", "with", "for", "from", "up", "out", "off", "my",
    "his", "her", "their", "into", "it", "is",
))  # fmt: skip


def first_person(event: str) -> str:
    """Return an event of PersonX as a clause in the first person; empty where it does not begin with PersonX and a verb."""
    words = event.split()
    if len(words) < 3 or words[0] != "PersonX" or "_" in event or "PersonZ" in event:
        return ""
    verb = words[1].lower()
    if verb not in _IRREGULAR and (not verb.endswith("s") or verb.endswith("ss")):
        return ""
    regular = (
        re.sub(r"(?<=[^aeiou])ies$", "y", verb) if verb.endswith("ies") else re.sub(r"((?<=ss|sh|ch|zz)|(?<=x))e?s$|s$", "", verb)
    )
    words[1] = _IRREGULAR.get(verb, regular)
    return _persons(" ".join(["I", *words[1:]]), "my", "me")


def _persons(text: str, possessive: str, pronoun: str) -> str:
    text = re.sub(r"\bPersonX'?s\b", possessive, text, flags=re.IGNORECASE)
    text = re.sub(r"\bPersonX\b", pronoun, text, flags=re.IGNORECASE)
    return re.sub(r"\bPersonY\b", "Sam", text, flags=re.IGNORECASE)


def spoken(relation: str, tail: str) -> str:
    """Return a tail as a response; empty where it does not fit the form of its relation."""
    tail = tail.strip().rstrip(".")
    if not tail or tail == "none" or "_" in tail or not tail.startswith("to "):
        return ""
    return FORMS[relation].format(_persons(tail, "your", "you"))


def dialogues(path: Path, number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield records with ``turns``, ``options`` and ``answer``, of distinct events."""
    tails: dict[tuple[str, str], set[str]] = defaultdict(set)
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            head, relation, tail = line.rstrip("\n").split("\t")
            if relation in FORMS and first_person(head) and spoken(relation, tail) and ("PersonY" in head or relation[0] == "x"):
                tails[head, relation].add(tail)
    keys = sorted(tails)
    words = {key: {word for word in re.findall(r"[a-z]+", key[0].lower()) if word not in _COMMON} for key in keys}
    random = np.random.default_rng(seed)
    used: set[str] = set()
    for index in random.permutation(len(keys)).tolist():
        head, relation = key = keys[index]
        if len(used) == number:
            return
        if head in used:
            continue
        true_texts = {spoken(relation, tail) for tail in tails[key]}
        others = [other for other in keys if other[1] == relation and other[0] != head]
        similar = sorted(
            (other for other in others if words[other] & words[key]), key=lambda other: -len(words[other] & words[key])
        )[:20]
        false = []
        for pool in (similar, others):
            drawn = [pool[position] for position in random.permutation(len(pool))[:20].tolist()]
            texts = [spoken(relation, tail) for other in drawn for tail in sorted(tails[other])]
            false += [text for text in texts if text not in true_texts and text not in false][:1]
        if len(false) == 2:
            used.add(head)
            true = spoken(relation, sorted(tails[key])[int(random.integers(len(tails[key])))])
            clause = first_person(head)
            yield {"id": f"atomic-{len(used)}", "turns": [f"Imagine that {clause}."], "options": [true, *false], "answer": 0}


def main() -> None:
    """Write the dialogues."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tuples", type=Path, nargs="?")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--number", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.tuples is None or arguments.output is None:
        print("not made: name a file of tuples and --output FILE")
        return
    rows = dialogues(arguments.tuples, arguments.number, arguments.seed)
    arguments.output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
