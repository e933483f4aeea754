"""Speed of the extraction of event tuples: responses a second on one core, compared with a bare parse.

    python benchmarks/extraction.py [DIALOGUES.jsonl[.gz]] [--graph GRAPH] [--limit 3000] [--rounds 3] [--json]

Every turn from the second on is a response to the turns before it. "fresh" parses every distinct turn; for "turns
remembered" the parses are cached; "one at a time" is without batches. The bare parse is the shipped pipeline as ``spacy.load``
gives it, over the same distinct turns. With a graph, the tails of every distinct head are looked up too, and the extractor
``cskb`` runs. One core, one thread, processor time; each rate is the median of ``--rounds`` rounds. Without
DIALOGUES it reads DailyDialog's test split in TACIT_TEST_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

import spacy
from support.rates import rate, responses
from tacit.graph import KnowledgeGraph, open_graph
from tacit.graph.item import Item
from tacit.reasoning.metrics.accent.events import EventTuple, Extractor, head_forms
from tacit.reasoning.metrics.accent.extractors.keywords import make as make_keywords
from tacit.reasoning.metrics.accent.extractors.rules import RuleExtractor
from tacit.reasoning.text.parsing import Parser, open_parser
from tacit.reasoning.text.spacy_pipeline import SHIPPED
from threadpoolctl import threadpool_limits

BATCH = 256
DATA = Path(os.environ.get("TACIT_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))

Row = tuple[str, float, float | None]


def extracted(extractor: Extractor, items: Sequence[Item], size: int = BATCH) -> list[list[EventTuple]]:
    """The tuples of all items, a batch at a time."""
    tuples = []
    for start in range(0, len(items), size):
        tuples += extractor.extract_batch(items[start : start + size])
    return tuples


def measure(items: list[Item], graph: KnowledgeGraph | None, rounds: int) -> list[Row]:
    """Return the table: what ran, responses a second, and the ratio to the rules one response at a time."""
    nlp, digest = open_parser().nlp, open_parser().digest

    def fresh() -> RuleExtractor:
        return RuleExtractor(Parser(nlp, digest, cache_size=10**6), cache_size=10**6)

    turns = list(dict.fromkeys(text for item in items for text in (*item.history[-1:], item.response)))
    plain = spacy.load(SHIPPED)
    warm = fresh()
    tuples = extracted(warm, items)
    if extracted(fresh(), items, 1) != tuples:
        raise SystemExit("one at a time gives other tuples")
    one_at_a_time = rate(lambda extractor: extracted(extractor, items, 1), len(items), 1, fresh)
    rows: list[Row] = [
        ("rules, one at a time", one_at_a_time, None),
        ("rules, fresh", rate(lambda extractor: extracted(extractor, items), len(items), rounds, fresh), one_at_a_time),
        ("rules, turns remembered", rate(lambda _: extracted(warm, items), len(items), rounds), one_at_a_time),
        ("bare parse by spaCy", rate(lambda _: sum(len(doc) for doc in plain.pipe(turns)), len(items), rounds), one_at_a_time),
    ]
    if graph is not None:

        def with_tails(extractor: RuleExtractor) -> None:
            heads = {tuple_.head for tuples_of_item in extracted(extractor, items) for tuple_ in tuples_of_item}
            for form in sorted({form for head in heads for form in head_forms(head)}):
                graph.tails(form)

        keywords = make_keywords(graph)
        extracted(keywords, items[:1])
        rows.append(("rules, fresh, and tails of the store", rate(with_tails, len(items), 1, fresh), one_at_a_time))
        rows.append(("cskb, graph read before", rate(lambda _: extracted(keywords, items), len(items), 1), one_at_a_time))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", nargs="?", type=Path, default=DATA / "dialogues" / "dailydialog-test.jsonl.gz")
    parser.add_argument("--graph")
    parser.add_argument("--limit", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.dialogues.exists():
        print(f"extraction is not measured: there is no {arguments.dialogues}; name a dialogue file")
        return
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    items = responses(arguments.dialogues, arguments.limit)
    with threadpool_limits(1):
        if arguments.graph:
            with open_graph(arguments.graph) as graph:
                rows = measure(items, graph, arguments.rounds)
        else:
            rows = measure(items, None, arguments.rounds)
    if arguments.json:
        print(
            json.dumps(
                [{"what": what, "responses_a_second": per_second, "against": against} for what, per_second, against in rows]
            )
        )
        return
    print(f"{len(items):,} responses of {arguments.dialogues.name}, one core\n")
    print(f"{'':38}{'responses/s':>12}{'ratio':>8}")
    for what, per_second, against in rows:
        print(f"{what:38}{per_second:12,.0f}" + ("" if against is None else f"{per_second / against:8.1f}"))


if __name__ == "__main__":
    main()
