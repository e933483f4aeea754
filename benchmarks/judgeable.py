"""How often the check of what can be judged refuses what people say, and how often what it should refuse.

    python benchmarks/judgeable.py DATA_DIR [--seen N] [--json]

DATA_DIR holds ``dialogues/*.jsonl.gz`` and ``judgements/*.jsonl.gz``. First table: distinct turns of each corpus (of judgement
files the responses, of which systems wrote many) that are refused, with Wilson's 95% interval. The limits of the check were
chosen after looking at N turns of each corpus, drawn with seed 0; these are left out, so what is counted was not seen. Second
table: texts that should be refused. Those of ``tests/reasoning/text/unjudgeable.json`` are written by hand, the "confirming" ones
after the limits were chosen; keywords are the nouns, verbs, adjectives and names of real turns, five or more, in the order of the
turn or shuffled; shuffles are all words of real turns in another order. Third table: time of the check, as a share of a metric's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from tacit.reasoning import load_metric
from tacit.reasoning.filtering import wilson
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.text.text_check import unreadable

CASES = Path(__file__).parents[1] / "tests" / "reasoning" / "text" / "unjudgeable.json"
CONTENT = ("NOUN", "VERB", "ADJ", "PROPN")
LEAST_CONTENT = 5
MADE = 1_000
Rows = list[dict[str, Any]]


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines, or of a JSON list."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        if path.name.endswith(".json.gz"):
            yield from json.load(lines)
        else:
            yield from map(json.loads, lines)


def corpora(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the distinct turns of each corpus in an order drawn with seed 0."""
    for path in sorted(folder.glob("dialogues/*.jsonl.gz")) + sorted(folder.glob("judgements/*.json*.gz")):
        turns: set[str] = set()
        for row in rows_of(path):
            turns.update(row["turns"] if "turns" in row else [row["response"]])
        shuffled = sorted(turns)
        random.Random(0).shuffle(shuffled)
        yield path.name.partition(".")[0], shuffled


def counted(name: str, texts: Iterable[str]) -> dict[str, Any]:
    """Return how many of ``texts`` are refused, with an interval, and why."""
    reasons = Counter(unreadable.__wrapped__(text) for text in texts)
    n = reasons.total()
    refused = n - reasons.pop("", 0)
    low, high = wilson(refused, n)
    why = ", ".join(f"{reason.removeprefix('it ')} {number}" for reason, number in reasons.most_common())
    share = refused / n if n else 0.0
    return {"texts": name, "n": n, "refused": refused, "%": f"{share:.2%}", "95%": f"{low:.2%} to {high:.2%}", "why": why}


def made(turns: list[str]) -> dict[str, list[str]]:
    """Return texts that should be refused, made of real turns by rule."""
    generator = random.Random(1)
    texts_by_rule: dict[str, list[str]] = {"keywords, in order": [], "keywords, shuffled": [], "words, shuffled": []}
    for tokens in load_pipeline().analyse(turns):
        content = list(dict.fromkeys(token.text.lower() for token in tokens if token.pos in CONTENT and not token.stop))
        if len(content) >= LEAST_CONTENT:
            texts_by_rule["keywords, in order"].append(" ".join(content))
            texts_by_rule["keywords, shuffled"].append(" ".join(generator.sample(content, len(content))))
        words = [token.text.lower() for token in tokens if token.text[0].isalnum()]
        if len(words) >= LEAST_CONTENT:
            texts_by_rule["words, shuffled"].append(" ".join(generator.sample(words, len(words))))
    return {name: texts[:MADE] for name, texts in texts_by_rule.items()}


def times(turns: list[str]) -> Rows:
    """Seconds of processor time of the check and of metrics that need no graph, a thousand responses."""
    items = [((before,), response) for before, response in pairwise(turns)]
    unreadable.cache_clear()
    unreadable("warm")
    start = time.process_time()
    for (before,), response in items:
        unreadable(before)
        unreadable(response)
    check = time.process_time() - start
    rows: Rows = [{"what": "check", "ms for 1,000 responses": round(check * 1e6 / len(items), 1), "check's share": ""}]
    analyser = load_pipeline()
    association = load_metric("association")
    association.score(["hello there"], "hello")
    for name, run in (
        ("the pipeline's analysis", lambda: analyser.analyse(turns)),
        ("association, the cheapest metric", lambda: association.score_batch(items)),
    ):
        start = time.process_time()
        run()
        seconds = time.process_time() - start
        rows.append(
            {
                "what": name,
                "ms for 1,000 responses": round(seconds * 1e6 / len(items), 1),
                "check's share": f"{check / seconds:.1%}",
            }
        )
    return rows


def table(rows: Rows) -> str:
    """Return rows as a Markdown table."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(str(row[name]) for name in names)} |" for row in rows)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--seen", type=int, default=1_500, metavar="N")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.data is None:
        print("nothing is measured: name the folder of the data")
        return
    real: Rows = []
    unseen: list[str] = []
    for name, turns in corpora(arguments.data):
        # of a set no larger than what was looked at, there is nothing else to count
        counted_turns = turns[arguments.seen :] if len(turns) > 2 * arguments.seen else turns
        unseen += counted_turns[:400]
        real.append(counted(name if counted_turns is not turns else f"{name} (all seen)", counted_turns))
    unseen_rows = [row for row in real if "all seen" not in row["texts"]]
    total, refused = (sum(row[name] for row in unseen_rows) for name in ("n", "refused"))
    low, high = wilson(refused, total)
    real.append({"texts": "not seen, together", "n": total, "refused": refused, "%": f"{refused / total:.2%}",
                 "95%": f"{low:.2%} to {high:.2%}", "why": ""})  # fmt: skip
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    to_refuse = [
        counted("other languages, by hand", [text for texts in cases["foreign"].values() for text in texts]),
        counted("other languages, confirming", [text for texts in cases["foreign, confirming"].values() for text in texts]),
    ]
    to_refuse += [
        counted(name, cases[key])
        for name, key in (
            ("typed keys, by hand", "mash"),
            ("typed keys, confirming", "mash, confirming"),
            ("blank, by hand", "silent"),
        )
    ]
    random.Random(2).shuffle(unseen)
    to_refuse += [counted(name, texts) for name, texts in made(unseen[:3_000]).items()]
    rows = {"real turns": real, "what should be refused": to_refuse, "time": times(unseen[:2_000])}
    if arguments.json:
        print(json.dumps(rows))
        return
    print("\n\n".join(f"{name}\n\n{table(table_rows)}" for name, table_rows in rows.items()))


if __name__ == "__main__":
    main()
