"""How often a metric scores a real response above a copy of it that a rule made worse.

    python benchmarks/robustness.py DIALOGUES... [--graph GRAPH] [--metrics NAME,...] [--rules NAME,...] [--responses N]
        [--seed N] [-O METRIC.NAME=VALUE]...

DIALOGUES are files that ``tacit score`` reads; one reply is drawn from each of N dialogues, with the four turns before it. Each
rule below changes the replies that it applies to; since few replies have a name of their history, those of "swapped names" are
sought in all dialogues, at most N of them. The table has the share of pairs in which the real reply scores higher (ties
count half, .500 is chance), with a 95% interval; pairs are of different dialogues, so they are resampled one by one. A pair in
which a metric cannot judge one of the two is left out for this metric. A metric of which lower is better is reversed.

| rule | the changed response |
|---|---|
| negated | the first negation is taken out, else the first finite verb is negated |
| speakers turned | first and second person change places: I and you, my and your, am and are |
| repeated turn | the last turn of the history again |
| dull reply | one of six replies that fit anywhere, such as "I don't know." |
| shuffled words | the words in random order |
| swapped names | names that the history mentions too become names of another dialogue |
| question for a question | after a question, a question of another dialogue |
| random | a reply of another dialogue |
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tacit.api.cli.options import metric_options, open_reasoner
from tacit.api.opening import Address
from tacit.api.terminal.progress import Meter
from tacit.graph.item import ItemError
from tacit.loaders import read_items
from tacit.reasoning.describing import describe_metrics
from tacit.reasoning.evaluation.correlation import decimal
from tacit.reasoning.registry import KINDS
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.text.perturbing import AFFIRMED, exchange_persons, first_change
from tacit.reasoning.text.perturbing import Rule as Change

Pair = tuple[tuple[str, ...], str]

TURNS = 4
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
DULL = ("I don't know.", "Okay.", "That is nice.", "I see.", "Oh, really?", "Me too.")


@dataclass(frozen=True)
class Drawn:
    """A real reply, and what rules take from another dialogue: a reply, a question, and names."""

    history: tuple[str, ...]
    response: str
    other: str
    question: str
    names: tuple[str, ...]


Rule = Callable[[Drawn, Any, np.random.Generator], str | None]


_DENIED: tuple[Change, ...] = (
    (re.compile(r"(?<=can)not\b", re.IGNORECASE), lambda _: ""),
    (re.compile(r"n['’]t\b|\s+not\b", re.IGNORECASE), lambda _: ""),
    (re.compile(r"\bnever\s+", re.IGNORECASE), lambda _: ""),
)


def _verb_negated(text: str, nlp: Any) -> str:
    """Return ``text`` with its first finite verb negated; empty where it has none."""
    for token in nlp(text):
        end = token.idx + len(token.text)
        if "Fin" not in token.morph.get("VerbForm"):
            continue
        if token.pos_ == "AUX":
            return f"{text[:end]} not{text[end:]}"
        if token.pos_ == "VERB":
            third = token.morph.get("Person") == ["3"] and token.morph.get("Number") == ["Sing"]
            helper = "did" if "Past" in token.morph.get("Tense") else "does" if third else "do"
            return f"{text[: token.idx]}{helper} not {token.lemma_.lower()}{text[end:]}"
    return ""


def clause_negated(drawn: Drawn, nlp: Any, _: np.random.Generator) -> str | None:
    """Return the response with its first clause negated, or without its negation; None when it has no verb."""
    return first_change(drawn.response, (AFFIRMED, *_DENIED)) or _verb_negated(drawn.response, nlp) or None


def speakers_turned(drawn: Drawn, _: Any, __: np.random.Generator) -> str | None:
    """Return the response with first and second person exchanged, its beginning in capitals; None when it has neither."""
    changed = exchange_persons(drawn.response)
    return changed[:1].upper() + changed[1:] or None


def repeated_turn(drawn: Drawn, _: Any, __: np.random.Generator) -> str | None:
    """Return the last turn of the history."""
    return drawn.history[-1]


def dull_reply(_: Drawn, __: Any, random: np.random.Generator) -> str | None:
    """Return a reply that fits anywhere."""
    return DULL[int(random.integers(len(DULL)))]


def shuffled_words(drawn: Drawn, _: Any, random: np.random.Generator) -> str | None:
    """Return the words of the response in random order; None below four words."""
    words = drawn.response.split()
    return " ".join(words[index] for index in random.permutation(len(words)).tolist()) if len(words) > 3 else None


def swapped_names(drawn: Drawn, nlp: Any, _: np.random.Generator) -> str | None:
    """Return the response with the names that the history has too replaced by names of another dialogue; None without any."""
    names = shared_names(drawn.response, drawn.history, nlp)
    if not names or not drawn.names:
        return None
    changed = drawn.response
    for index, name in enumerate(names):
        changed = re.sub(rf"\b{re.escape(name)}\b", drawn.names[index % len(drawn.names)], changed)
    return changed


def question_for_a_question(drawn: Drawn, _: Any, __: np.random.Generator) -> str | None:
    """Return a question of another dialogue; None unless the last turn asks one."""
    return drawn.question if drawn.history[-1].rstrip().endswith("?") and drawn.question else None


def random_reply(drawn: Drawn, _: Any, __: np.random.Generator) -> str | None:
    """Return a reply of another dialogue."""
    return drawn.other


RULES: dict[str, Rule] = {
    "negated": clause_negated, "speakers turned": speakers_turned, "repeated turn": repeated_turn, "dull reply": dull_reply,
    "shuffled words": shuffled_words, "swapped names": swapped_names, "question for a question": question_for_a_question,
    "random": random_reply,
}  # fmt: skip


def shared_names(response: str, history: Sequence[str], nlp: Any) -> list[str]:
    """Return the distinct names of a response that its history has too."""
    before = {word for turn in history for word in re.findall(r"\w+", turn)}
    return list(dict.fromkeys(name for name in names_in(nlp, response) if name in before))


def names_in(nlp: Any, text: str) -> list[str]:
    """Return the proper nouns of a text in its order."""
    return [token.text for token in nlp(text) if token.pos_ == "PROPN" and token.text[:1].isupper()]


def dialogues_of(files: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the distinct dialogues of three turns or more; of items with growing histories the longest."""
    found: dict[tuple[str, ...], None] = {}
    for file in files:
        last: tuple[str, ...] = ()
        for item in read_items(file):
            if isinstance(item, ItemError):
                continue
            if last and item.history != last:
                found[last] = None
            last = (*item.history, item.response)
        found[last] = None
    return [turns for turns in found if len(turns) > 2]


def draw(dialogues: Sequence[tuple[str, ...]], number: int, seed: int, nlp: Any) -> Iterator[Drawn]:
    """Yield a reply of each of ``number`` random dialogues; what is taken from another is of the next one drawn."""
    random = np.random.default_rng(seed)
    chosen = [dialogues[index] for index in random.permutation(len(dialogues))[: number + 1].tolist()]
    for turns, other in itertools.pairwise(chosen):
        index = int(random.integers(1, len(turns)))
        questions = [turn for turn in other if turn.rstrip().endswith("?")]
        names = [name for turn in other for name in names_in(nlp, turn)]
        yield Drawn(
            turns[max(index - TURNS, 0) : index], turns[index], other[int(random.integers(1, len(other)))],
            questions[0] if questions else "", tuple(dict.fromkeys(names)),
        )  # fmt: skip


def draw_named(dialogues: Sequence[tuple[str, ...]], number: int, seed: int, nlp: Any) -> Iterator[Drawn]:
    """Yield the first reply with a name of its history of each dialogue, in random order, at most ``number``.

    The names that replace it are those of the dialogue before that has one.
    """
    random = np.random.default_rng(seed)
    before: tuple[str, ...] = ()
    yielded = 0
    for turns in (dialogues[index] for index in random.permutation(len(dialogues)).tolist()):
        for index in range(1, len(turns)):
            history = turns[max(index - TURNS, 0) : index]
            if _CAPITAL.search(turns[index]) and (names := shared_names(turns[index], history, nlp)):
                if other := tuple(name for name in before if name not in names):
                    yield Drawn(history, turns[index], "", "", other)
                    yielded += 1
                before = tuple(names)
                break
        if yielded == number:
            break


def pairs_of(
    drawn: Sequence[Drawn], named: Sequence[Drawn], nlp: Any, seed: int, rules: Sequence[str] = tuple(RULES)
) -> dict[str, list[tuple[Pair, Pair]]]:
    """Return for each of ``rules`` the real replies that it changes, and the changed ones; names are swapped in ``named``."""
    pairs: dict[str, list[tuple[Pair, Pair]]] = {}
    for number, (name, rule) in enumerate(RULES.items()):
        if name not in rules:
            continue
        random = np.random.default_rng([seed, number])
        for reply in named if name == "swapped names" else drawn:
            changed = rule(reply, nlp, random)
            if changed is not None and changed.split() and changed.split() != reply.response.split():
                pairs.setdefault(name, []).append(((reply.history, reply.response), (reply.history, changed)))
    return pairs


def cell(wins: Sequence[float], seed: int) -> str:
    """Return the mean of ``wins`` with its bootstrap interval."""
    if not wins:
        return ""
    values = np.asarray(wins)
    drawn = np.random.default_rng(seed).integers(len(values), size=(10_000, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    return f"{decimal(float(values.mean()))} [{decimal(float(low), 2)}, {decimal(float(high), 2)}]"


def main() -> None:
    """Score all pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", nargs="*")
    parser.add_argument("--graph", default="")
    parser.add_argument("--metrics", default="")
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--responses", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-O", "--option", action="append", default=[])
    arguments = parser.parse_args()
    if not arguments.dialogues:
        print("not measured: name files of dialogues")
        return
    nlp = load_pipeline().nlp
    dialogues = dialogues_of(arguments.dialogues)
    if not dialogues:
        parser.error(f"{', '.join(arguments.dialogues)}: no dialogue of three turns or more")
    rules = arguments.rules.split(",")
    drawn = list(draw(dialogues, arguments.responses, arguments.seed, nlp))
    wanted = arguments.responses if "swapped names" in rules else 0
    named = list(draw_named(dialogues, wanted, arguments.seed, nlp)) if wanted else []
    pairs = pairs_of(drawn, named, nlp, arguments.seed, rules)
    if not pairs:
        parser.error(f"no reply is changed by the rules {', '.join(rules)}; choose from {', '.join(RULES)}")
    texts = list(dict.fromkeys(text for rows in pairs.values() for pair in rows for text in pair))
    asked = [name for name in arguments.metrics.split(",") if name]
    ready = [
        metric.name
        for metric in describe_metrics()
        if "references" not in metric.needs and (metric.ready or metric.missing == "a graph")
    ]
    names = asked or [name for name in ready if arguments.graph or not KINDS[name].graph]
    print(f"| metric | {' | '.join(f'{rule} ({len(rows)})' for rule, rows in pairs.items())} |")
    print("|---" * (len(pairs) + 1) + "|")
    for name in names:
        options = metric_options([option for option in arguments.option if option.startswith(f"{name}.")], [name], None)
        address = Address(arguments.graph, None, None, None)
        with (
            open_reasoner([name], options, address, "auto", quiet=True) as reasoner,
            Meter(name, len(texts), noun="responses", quiet=not sys.stderr.isatty()) as meter,
        ):
            values: dict[Pair, float] = {}
            for start in range(0, len(texts), 128):
                part = texts[start : start + 128]
                values |= zip(part, (score.value for score in reasoner.metrics[0].score_batch(part)), strict=True)
                meter.add(len(part))
        sign = -1 if KINDS[name].better == "lower" else 1
        cells = []
        for rows in pairs.values():
            differences = [sign * (values[real] - values[changed]) for real, changed in rows]
            wins = [(np.sign(difference) + 1) / 2 for difference in differences if np.isfinite(difference)]
            cells.append(cell(wins, arguments.seed))
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
