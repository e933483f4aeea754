"""Speed of the symbolic features of the commonsense regressor: responses a second on one core, compared with spaCy and networkx.

    python benchmarks/features.py GRAPH DIALOGUES.jsonl[.gz] [--limit N] [--rounds 5] [--cypher 60] [--json]

Every turn from the second on is a response; its features are the one-hop and two-hop pairs of concepts between all turns before
it and itself. "fresh" links every turn and counts; for "linking remembered" the mentions are cached; "counting alone" starts
from the concepts. They are compared with the bare spaCy pipeline over the distinct turns, as ``spacy.load`` gives it; networkx,
which compares the neighbourhoods of every pair; and queries of the embedded engine, on some of the responses. All engines must
give equal counts before anything is timed. One core, one thread, processor time (so that other work on the machine does not
count); each rate is the median of ``--rounds`` rounds.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import networkx as nx
import spacy
from support.engines import links
from support.rates import rate, responses
from tacit.graph import KnowledgeGraph, open_graph, open_index
from tacit.graph.index import IndexGraph
from tacit.graph.item import Item
from tacit.graph.path_search import count_triples_many
from tacit.reasoning.metrics.commonsense.features import TripleFeatures
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.text.spacy_pipeline import SHIPPED
from threadpoolctl import threadpool_limits

BATCH = 256
NEVER_NEEDED = ["parser", "senter", "ner", "tagger"]

Sides = tuple[tuple[str, ...], tuple[str, ...]]
Row = tuple[str, float, str, float | None]


def batched(items: Sequence[Item], features: TripleFeatures) -> list[list[float]]:
    """Count as a metric does, a batch at a time."""
    rows: list[list[float]] = []
    for start in range(0, len(items), BATCH):
        rows += features.counts(items[start : start + BATCH]).tolist()
    return rows


def counted(graph: KnowledgeGraph, sides: Sequence[Sides]) -> list[list[int]]:
    """One-hop and two-hop pairs by a graph's own count."""
    one_hop, two_hops = (count_triples_many(graph, sides, hops)[:, 0].tolist() for hops in (1, 2))
    return [list(pair) for pair in zip(one_hop, two_hops, strict=True)]


class Networkx:
    """The concept graph in networkx, its neighbourhoods as Python's own sets, which is the fastest that it can be asked."""

    def __init__(self, index: IndexGraph) -> None:
        names = index.uris()
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(names)
        owners, others = links(index)
        graph.add_edges_from(zip(map(names.__getitem__, owners.tolist()), map(names.__getitem__, others.tolist()), strict=True))
        self._around = {name: set(near) for name, near in nx.to_dict_of_lists(graph).items()}

    def counted(self, sides: Sequence[Sides]) -> list[list[int]]:
        """One-hop and two-hop pairs."""
        around = self._around
        rows = []
        for history, response in sides:
            one_hop = two_hops = 0
            for source, target in product(history, response):
                if source != target:
                    one_hop += target in around[source]
                    two_hops += not around[source].isdisjoint(around[target])
            rows.append([one_hop, two_hops])
        return rows


def measure(store: KnowledgeGraph, index: IndexGraph, items: list[Item], rounds: int, cypher: int) -> list[Row]:
    """Return the table: a name, responses a second, what it is compared with, and the ratio to it."""
    turns = list(dict.fromkeys(text for item in items for text in (*item.history, item.response)))
    plain = spacy.load(SHIPPED, exclude=NEVER_NEEDED)
    analyser = load_pipeline()

    def new_features() -> TripleFeatures:
        return TripleFeatures(index, analyser, cache_size=2 * len(turns))

    features = new_features()
    expected = batched(items, features)
    sides = features._concept_sets(items)
    networkx = Networkx(index)
    sample = sides[:: max(len(sides) // cypher, 1)][:cypher] if cypher else []
    for name, counts, expected_counts in (
        ("the index", counted(index, sides), expected),
        ("networkx", networkx.counted(sides), expected),
        ("the embedded engine", counted(store, sample), counted(index, sample)),
    ):
        if counts != expected_counts:
            raise SystemExit(f"{name} counts otherwise")

    def forget_counts() -> None:
        features._counts = type(features._counts)(2 * len(turns))

    number = len(items)
    pipeline_rate = rate(lambda _: sum(len(doc) for doc in plain.pipe(turns, batch_size=BATCH)), number, rounds)
    fresh_rate = rate(lambda fresh: batched(items, fresh), number, rounds, new_features)
    linked_rate = rate(lambda _: batched(items, features), number, rounds, forget_counts)
    cached_rate = rate(lambda _: batched(items, features), number, rounds)
    networkx_rate = rate(lambda _: networkx.counted(sides), number, rounds)
    index_rate = rate(lambda _: counted(index, sides), number, rounds)
    rows: list[Row] = [
        ("bare spaCy pipeline, no counting", pipeline_rate, "", None),
        ("fresh: linking and counting", fresh_rate, "bare spaCy", fresh_rate / pipeline_rate),
        ("linking remembered", linked_rate, "bare spaCy", linked_rate / pipeline_rate),
        ("all remembered", cached_rate, "bare spaCy", cached_rate / pipeline_rate),
        ("counting alone, networkx", networkx_rate, "", None),
        ("counting alone, index", index_rate, "networkx", index_rate / networkx_rate),
    ]
    if sample:
        engine_rate = rate(lambda _: counted(store, sample), len(sample), 1)
        rows.append(("counting alone, embedded engine's Cypher", engine_rate, "networkx", engine_rate / networkx_rate))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("dialogues", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cypher", type=int, default=60, help="responses that the embedded engine counts for; 0: none")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    items = responses(arguments.dialogues, arguments.limit)
    with threadpool_limits(1), open_graph(arguments.graph) as store, open_index(store) as index:
        rows = measure(store, index, items, arguments.rounds, arguments.cypher)
        counts = index.counts()
    if arguments.json:
        print(json.dumps([dict(zip(("name", "responses/s", "beside", "ratio"), row, strict=True)) for row in rows]))
        return
    print(f"{counts.concepts:,} concepts, {counts.assertions:,} assertions; {len(items):,} responses; one core")
    for name, value, beside, ratio in rows:
        print(f"{name:42}{value:12,.0f} responses/s" + (f"{ratio:10,.2f} x {beside}" if ratio is not None else ""))


if __name__ == "__main__":
    main()
