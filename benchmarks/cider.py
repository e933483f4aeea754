"""Whether the graph, and the evidence of grounding, connect the spans that people connected in CIDER's dialogues.

    python benchmarks/cider.py GRAPH FILE [--json FILE] [--resamples N] [--seed N]

For each marked triplet with both spans in a turn, random pairs of spans of the same dialogue are drawn with as many tokens, the
same class of part of speech of the last content word, and in one turn or in two as the marked ones are; pairs that overlap both
spans of a marked triplet are not drawn. A test says whether it joins two spans. *Recall* is the share of marked pairs that it
joins, *random* the share of random pairs, *precision* = recall / (recall + random): the share of marked pairs among the joined
ones where there are as many random pairs as marked ones, so that chance is .5. Intervals are 95% of a bootstrap over dialogues.
The dialogues are halved by a hash of their first turn; what is tuned on CIDER may look at the first half only.

Grounding explains the later of the two turns with all turns before it as history, so its tests are for spans of two turns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path as FilePath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tacit.graph import open_graph, open_index
from tacit.graph.model import Path
from tacit.graph.protocol import KnowledgeGraph
from tacit.graph.storage import file_sha256
from tacit.loaders import MarkedDialogue, Span, read_cider
from tacit.reasoning.base import Piece
from tacit.reasoning.metrics.grounding import Grounding
from tacit.reasoning.text.language import Token, load_pipeline
from tacit.reasoning.text.linking import Mention

DRAWS = 3  # random pairs for each marked triplet
TRIES = 60  # draws that may overlap a marked triplet, before a triplet is left out
HALVES = ("first", "second")

# CIDER's relations with those of the graph that say the same of head and tail; "<" before a relation reads it from tail to head.
# "Should" and "SocialRule" are about norms and "Simutaneous" about time, for which the graph has no relation.
RELATIONS: Mapping[str, str] = {
    "Causes": "Causes CausesDesire HasSubevent HasLastSubevent Entails <HasPrerequisite <MotivatedByGoal",
    "ResultIn": "Causes CausesDesire HasSubevent HasLastSubevent Entails <HasPrerequisite <MotivatedByGoal",
    "CausesDesire": "CausesDesire Causes <MotivatedByGoal",
    "MotivatedByGoal": "MotivatedByGoal UsedFor HasLastSubevent <CausesDesire",
    "AchievedBy": "HasPrerequisite <MotivatedByGoal <UsedFor <Causes",
    "Implies": "Entails Causes HasSubevent IsA MannerOf HasProperty",
    "HasPrerequisite": "HasPrerequisite HasFirstSubevent <Causes <UsedFor",
    "DependsOn": "HasPrerequisite HasFirstSubevent <Causes <UsedFor",
    "Before": "Causes CausesDesire <HasPrerequisite isBefore <isAfter",
    "ObstructedBy": "ObstructedBy HinderedBy",
    "HasSubevent": "HasSubevent HasFirstSubevent HasLastSubevent HasSubEvent HasPrerequisite",
    "HasProperty": "HasProperty",
    "IsA": "IsA InstanceOf MannerOf",
    "MannerOf": "MannerOf IsA",
    "DefinedAs": "DefinedAs IsA Synonym",
    "UsedFor": "UsedFor CapableOf MotivatedByGoal <HasPrerequisite",
    "CapableOf": "CapableOf UsedFor <ReceivesAction",
    "ReceivesAction": "ReceivesAction <UsedFor",
    "AtLocation": "AtLocation LocatedNear <HasA",
    "LocatedNear": "LocatedNear AtLocation <LocatedNear <AtLocation",
    "HappensIn": "AtLocation LocationOfAction HasContext <HasSubevent",
    "LocationOfAction": "<LocationOfAction <AtLocation UsedFor",  # CIDER's head is the place
    "HasA": "HasA <PartOf <AtLocation",
    "MadeOf": "MadeOf",
    "CreatedBy": "CreatedBy",
    "SymbolOf": "SymbolOf",
    "HasContext": "HasContext",
    "Desires": "Desires <DesireOf CausesDesire",
    "RelatedTo": "RelatedTo Synonym SimilarTo <RelatedTo <Synonym <SimilarTo",
    "SimilarTo": "SimilarTo Synonym <SimilarTo <Synonym",
    "Synonym": "Synonym SimilarTo <Synonym <SimilarTo",
    "Antonym": "Antonym DistinctFrom <Antonym <DistinctFrom",
    "DistinctFrom": "DistinctFrom Antonym <DistinctFrom <Antonym",
    "NotIsA": "NotIsA DistinctFrom Antonym <DistinctFrom <Antonym",
    "NotHasA": "NotHasA",
    "NotHasProperty": "NotHasProperty",
    "NotCapableOf": "NotCapableOf",
    "NotUsedFor": "NotUsedFor",
    "NotCauses": "NotCauses ObstructedBy <ObstructedBy",
    "NotResultIn": "NotCauses ObstructedBy <ObstructedBy",
}
KEEPING = frozenset((
    "RelatedTo", "Synonym", "SimilarTo", "FormOf", "IsA", "InstanceOf", "MannerOf", "<RelatedTo", "<Synonym", "<SimilarTo",
    "<FormOf",
))  # fmt: skip
"""Relations that may stand beside the agreeing one in a path of two hops, since they keep what is spoken about."""

TESTS = {
    "linked": "both spans mention a concept",
    "shared": "a concept is in both spans",
    "one hop": "two concepts at one hop",
    "two hops": "two concepts at most at two hops",
    "relation, one hop": "an edge whose relation agrees",
    "relation, two hops": "a path of at most two hops whose relation agrees",
    "evidence": "a piece of grounding's evidence joins them",
    "path": "the same, and the path between them is shown",
    "path, relation": "the same, and a relation of the path, or of an assertion shown beside it, agrees",
}
ABOUT_RELATIONS = ("relation, one hop", "relation, two hops")


class Pair(NamedTuple):
    """Two spans, the relation that is asked about, and whether people marked them."""

    head: Span
    relation: str
    tail: Span
    marked: bool


def half_of(dialogue: MarkedDialogue) -> int:
    """Return 0 or 1; dialogues with one first turn, of which CIDER has a few, are in one half."""
    return hashlib.sha256(dialogue.turns[0].lower().encode()).digest()[0] % 2


def kind_of(tokens: Sequence[Token]) -> str:
    """Return the class of the last content word: nominal, verbal, describing, or other."""
    kinds = {"NOUN": "nominal", "PROPN": "nominal", "VERB": "verbal", "ADJ": "describing", "ADV": "describing"}
    return next((kinds[token.pos] for token in reversed(tokens) if token.pos in kinds), "other")


class Spans:
    """All runs of tokens of a dialogue that begin and end with a word, by their number of tokens and class."""

    def __init__(self, turns: Sequence[str], tokens: Sequence[Sequence[Token]]) -> None:
        self._turns = turns
        self._tokens = tokens
        self._spans: dict[tuple[int, str], list[Span]] = {}

    def like(self, span: Span) -> list[Span]:
        """Return the spans with as many tokens as ``span`` and its class, by turn and place."""
        assert span.turn is not None
        tokens = [token for token in self._tokens[span.turn] if token.start < span.end and token.end > span.start]
        key = len(tokens), kind_of(tokens)
        if key not in self._spans:
            self._spans[key] = list(self._runs(*key))
        return self._spans[key]

    def _runs(self, length: int, kind: str) -> Iterator[Span]:
        for turn, tokens in enumerate(self._tokens):
            for index in range(len(tokens) - length + 1):
                run = tokens[index : index + length]
                if "PUNCT" not in (run[0].pos, run[-1].pos) and kind_of(run) == kind:
                    start, end = run[0].start, run[-1].end
                    yield Span(self._turns[turn][start:end], turn, start, end)


def overlap(first: Span, second: Span) -> bool:
    """Return whether two spans share a character."""
    return first.turn == second.turn and first.start < second.end and second.start < first.end


def pairs_of(dialogue: MarkedDialogue, spans: Spans, rng: np.random.Generator) -> list[Pair]:
    """Return the marked pairs of a dialogue, each followed by its random ones; none where too few random ones can be drawn."""
    marked = [triplet for triplet in dialogue.triplets if triplet.head.turn is not None and triplet.tail.turn is not None]
    marked_ends = [ends for triplet in marked for ends in ((triplet.head, triplet.tail), (triplet.tail, triplet.head))]
    pairs: list[Pair] = []
    for triplet in marked:
        heads, tails = spans.like(triplet.head), spans.like(triplet.tail)
        drawn: list[Pair] = []
        for _ in range(TRIES if heads and tails else 0):
            head, tail = heads[int(rng.integers(len(heads)))], tails[int(rng.integers(len(tails)))]
            comparable = (head.turn == tail.turn) == (triplet.head.turn == triplet.tail.turn) and not overlap(head, tail)
            if comparable and not any(overlap(head, first) and overlap(tail, second) for first, second in marked_ends):
                drawn.append(Pair(head, triplet.relation, tail, False))
            if len(drawn) == DRAWS:
                pairs += [Pair(triplet.head, triplet.relation, triplet.tail, True), *drawn]
                break
    return pairs


class Edges:
    """The graph's relations between concepts, read from either end (``<`` before a relation: from its tail)."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._around: dict[str, dict[str, set[str]]] = {}
        for edge in graph.assertions():
            if edge.head.startswith("/c/"):
                self._around.setdefault(edge.head, {}).setdefault(edge.tail, set()).add(edge.relation)
                self._around.setdefault(edge.tail, {}).setdefault(edge.head, set()).add(f"<{edge.relation}")
        self.agree = cache(self._agree)

    def _agree(self, head: str, tail: str, relation: str, hops: int) -> bool:
        """Return whether a path of at most ``hops`` (1 or 2) from head to tail agrees with a relation of CIDER."""
        agreeing = set(RELATIONS[relation].split())
        neighbours_of_head, neighbours_of_tail = self._around.get(head, {}), self._around.get(tail, {})
        if agreeing & neighbours_of_head.get(tail, set()):
            return True
        if hops == 1:
            return False
        for middle in neighbours_of_head.keys() & neighbours_of_tail.keys():
            first, second = neighbours_of_head[middle], self._around[middle][tail]
            if (agreeing & first and (agreeing | KEEPING) & second) or (KEEPING & first and agreeing & second):
                return True
        return False


Steps = tuple[str, ...]
"""The relations along a path from the first of two concepts to the second, ``<`` before a relation that is read from its tail."""

Named = Mapping[tuple[str, str], Sequence[Steps]]
"""Concepts of the history and of a response that evidence joins, with the paths that it shows between them, which may be none."""


def named_by(pieces: Iterable[Piece]) -> dict[tuple[str, str], list[Steps]]:
    """Return what the pieces of :class:`Grounding` name."""
    paths_by_ends: dict[tuple[str, str], list[Steps]] = {}
    for piece in pieces:
        if piece.history is not None and piece.response is not None:
            paths = paths_by_ends.setdefault((piece.history.concept, piece.response.concept), [])
            paths += [
                steps_of(shown.path) for shown in (piece, *piece.rests_on) if shown.path is not None and shown.path.assertions
            ]
    return paths_by_ends


def steps_of(path: Path) -> Steps:
    """Return the relations along a path."""
    return tuple(
        assertion.relation if assertion.head == start else f"<{assertion.relation}"
        for start, assertion in zip(path.nodes, path.assertions, strict=False)
    )  # fmt: skip


def back(steps: Steps) -> Steps:
    """Return the steps read from the other end."""
    return tuple(step[1:] if step.startswith("<") else f"<{step}" for step in reversed(steps))


def say(steps: Steps, relation: str) -> bool:
    """Return whether steps from head to tail agree with a relation of CIDER: one does, the others do or keep the subject."""
    agreeing = set(RELATIONS[relation].split())
    return any(step in agreeing for step in steps) and all(step in agreeing or step in KEEPING for step in steps)


@dataclass(frozen=True)
class Row:
    """The figures of a test on a half; each number with its interval, 0..1."""

    test: str
    half: str
    pairs: int
    dialogues: int
    recall: tuple[float, float, float]
    random: tuple[float, float, float]
    precision: tuple[float, float, float]


def row(test: str, half: str, counts: NDArray[np.float64], resamples: int, seed: int) -> Row:
    """Return the figures; ``counts`` has for each dialogue the marked pairs, those joined, the random pairs, those joined."""
    counts = counts[counts[:, 0] > 0]
    resampled = np.random.default_rng(seed).integers(0, len(counts), (resamples, len(counts)))
    sums = np.concatenate([counts.sum(axis=0, keepdims=True), counts[resampled].sum(axis=1)])
    recall, random = sums[:, 1] / sums[:, 0], sums[:, 3] / sums[:, 2]
    total = recall + random
    precision = np.divide(recall, total, out=np.full_like(total, 0.5), where=total > 0)

    def with_interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
        low, high = np.quantile(values[1:], (0.025, 0.975)).tolist()
        return float(values[0]), low, high

    figures = (with_interval(values) for values in (recall, random, precision))
    return Row(test, half, int(counts[:, 0].sum()), len(counts), *figures)


def concepts_in(mentions: Sequence[Mention], span: Span) -> list[str]:
    """Return the concepts that a turn mentions within a span."""
    return list(dict.fromkeys(mention.concept for mention in mentions if span.start <= mention.start and mention.end <= span.end))


def joined(
    pair: Pair, ends: tuple[list[str], list[str]], graph: KnowledgeGraph, edges: Edges, evidence: Named
) -> dict[str, bool]:
    """Return what each test that applies to a pair says; ``evidence`` is that of the later turn."""
    heads, tails = ends
    hops = graph.hop_distances(heads, tails, 2) if heads and tails else np.zeros((0, 0), dtype=np.int8)
    answers = {
        "linked": bool(hops.size),
        "shared": bool((hops == 0).any()),
        "one hop": bool((hops == 1).any()),
        "two hops": bool((hops >= 0).any()),
    }
    if pair.relation in RELATIONS:
        for name, max_hops in zip(ABOUT_RELATIONS, (1, 2), strict=True):
            answers[name] = any(edges.agree(head, tail, pair.relation, max_hops) for head in heads for tail in tails)
    if pair.head.turn != pair.tail.turn:
        concept_pairs = [(head, tail) for head in heads for tail in tails]
        answers["evidence"] = any(ends in evidence or ends[::-1] in evidence for ends in concept_pairs)
        paths = [steps for ends in concept_pairs for steps in evidence.get(ends, ())]
        paths += [back(steps) for ends in concept_pairs for steps in evidence.get(ends[::-1], ())]
        answers["path"] = bool(paths)
        if pair.relation in RELATIONS:
            answers["path, relation"] = any(say(steps, pair.relation) for steps in paths)
    return answers


def measure(graph: KnowledgeGraph, dialogues: Sequence[MarkedDialogue], seed: int) -> dict[tuple[str, int], NDArray[np.float64]]:
    """Return the counts of :func:`row` of each test and half."""
    metric = Grounding(graph, load_pipeline())
    edges = Edges(graph)
    rng = np.random.default_rng(seed)
    clusters = {first: index for index, first in enumerate(dict.fromkeys(dialogue.turns[0].lower() for dialogue in dialogues))}
    counts = {(test, half): np.zeros((len(clusters), 4)) for test in TESTS for half in range(len(HALVES))}
    used = 0
    for dialogue in dialogues:
        tokens = metric.linker.analyser.analyse(dialogue.turns)
        mentions = metric.linker.link_batch(dialogue.turns)
        items = [(dialogue.turns[:turn], dialogue.turns[turn]) for turn in range(1, len(dialogue.turns))]
        evidence = [named_by(score.evidence.pieces) for score in metric.score_batch(items, explain=True)]
        pairs = pairs_of(dialogue, Spans(dialogue.turns, tokens), rng)
        used += sum(pair.marked for pair in pairs)
        for pair in pairs:
            assert pair.head.turn is not None
            assert pair.tail.turn is not None
            concepts = concepts_in(mentions[pair.head.turn], pair.head), concepts_in(mentions[pair.tail.turn], pair.tail)
            later = max(pair.head.turn, pair.tail.turn)
            answers = joined(pair, concepts, graph, edges, evidence[later - 1] if later else {})
            for test, answer in answers.items():
                counts[test, half_of(dialogue)][clusters[dialogue.turns[0].lower()]] += (
                    (1, answer, 0, 0) if pair.marked else (0, 0, 1, answer)
                )
    marked = [triplet for dialogue in dialogues for triplet in dialogue.triplets]
    complete = sum(triplet.head.turn is not None and triplet.tail.turn is not None for triplet in marked)
    print(f"{len(marked):,} triplets, {complete:,} with both spans in turns, {used:,} of them with {DRAWS} random pairs each")
    print(f"signature {metric.signature}")
    return counts


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("file", type=FilePath)
    parser.add_argument("--json", type=FilePath, help="write the figures to this file too")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{file_sha256(arguments.file)}  {arguments.file.name}")
    dialogues = [dialogue for dialogue in read_cider(arguments.file, strict=True) if isinstance(dialogue, MarkedDialogue)]
    with open_graph(arguments.graph) as store, open_index(store) as graph:
        counts = measure(graph, dialogues, arguments.seed)
    rows = [row(test, HALVES[half], values, arguments.resamples, arguments.seed) for (test, half), values in counts.items()]
    print("\n| test | half | marked pairs (dialogues) | recall | random | precision |\n|---|---|---|---|---|---|")
    for figures in rows:
        cells = [
            f"{value:.3f} [{low:.3f}, {high:.3f}]" for value, low, high in (figures.recall, figures.random, figures.precision)
        ]
        print(f"| {figures.test} | {figures.half} | {figures.pairs:,} ({figures.dialogues:,}) | {' | '.join(cells)} |")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(figures) for figures in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
