"""Agreement of ACCENT's tuple scorers, and of the whole metric, with people: the tables of docs/accent.md.

    python benchmarks/accent_table.py GRAPH DATA_DIR [--parts cskb,deco,comet,metric] [--comet MODEL] [--resamples N] [--json]

GRAPH has ATOMIC; DATA_DIR has judgements/cskb-dev.csv.gz, judgements/deco-train.json.gz and
atomic2020/comet-bart-generations.jsonl.gz. Four parts:

- cskb: AUC of each scorer on judged triples (Fang et al., EMNLP 2021), as the mean of the AUCs of ACCENT's twelve relations,
  weighted by rows: over all relations together, a scorer that knows only the relation reaches .8. Intervals resample rows within
  relations.
- deco: the mean score over the human tuples of a dialogue of DECO (Ghazarian et al., ACL 2023) against its event
  commonsense. Intervals resample conversations, here and in the last part.
- comet: what COMET-BART generated for 5,000 queries as the tails of those heads; AUC that tells people's tails of a query
  from those of another query of the same relation, by equation 1.
- metric: the whole metric with the extractor ``rules`` over DECO's responses, by profile and scorer.

With --comet there are also rows of that model.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.correlating import agreement
from tacit.graph import open_graph
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.metrics.accent.events import RELATIONS
from tacit.reasoning.metrics.accent.metric import Accent
from tacit.reasoning.metrics.accent.metric import make as make_accent
from tacit.reasoning.metrics.accent.scorers.base import Query, TailResult, Triple, TupleScorer
from tacit.reasoning.metrics.accent.scorers.compatibility import Blend, Compatibility, Part
from tacit.reasoning.metrics.accent.scorers.language_models import CometLoss
from tacit.reasoning.metrics.accent.scorers.resources import ScorerResources
from tacit.reasoning.metrics.accent.scorers.retrieval_model import Scale
from tacit.reasoning.metrics.accent.scorers.retriever import Match
from tacit.reasoning.metrics.accent.tails.comet import Generated, as_known, open_comet
from tacit.reasoning.metrics.accent.tails.sources import GraphTails, NearestTails
from tacit.reasoning.metrics.accent.verbalise import statement
from tacit.reasoning.training.llm_probe import agreement as area

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]

SEED = 0


def percentiles(values: Sequence[float]) -> list[float]:
    """Return the 2.5th and the 97.5th percentile of resampled values."""
    return [round(float(value), 3) for value in np.nanpercentile(values, [2.5, 97.5])]


def scorers_of(resources: ScorerResources, comet: str | None) -> dict[str, TupleScorer]:
    """Return the scorers of the tables by name."""
    table = resources.table
    retriever: Any = resources.scorer("retriever")
    support, match = resources.scorer("support"), Match(retriever)
    nearest_tails = NearestTails(GraphTails(table), resources.vectors, limit=10, threshold=0.4)
    encoder = resources.encoder.signature
    nearest = Compatibility(nearest_tails, resources.embed, resources.relations(), encoder=encoder)
    blend = partial(summed, at_random(table.triples(RELATIONS), 3000))
    of_comet: dict[str, TupleScorer] = {}
    if comet is not None:
        of_comet = {"comet-loss": CometLoss(open_comet(comet))}
    return {
        "tails of the ten nearest heads": nearest,
        "retriever: closeness": retriever,
        "retriever: match": match,
        "support": support,
        "sum of closeness and match": blend(closeness=retriever, match=match),
        "sum of closeness, match, support": blend(closeness=retriever, match=match, support=support),
        "sum of those three and nearest": blend(closeness=retriever, match=match, support=support, nearest=nearest),
        "compatibility (the graph, then closeness)": resources.scorer("compatibility"),
        "blend (the metric's default)": resources.scorer("blend"),
        **of_comet,
    }


def at_random(triples: Sequence[Triple], number: int) -> list[Triple]:
    """Return a random ``number`` of triples with exchanged tails."""
    indices = np.random.default_rng(SEED).permutation(len(triples))[:number]
    return exchanged([triples[index] for index in indices.tolist()], SEED)


def summed(unjudged: Sequence[Triple], **parts: TupleScorer) -> Blend:
    """Return the sum of scorers, each normalised by its values on ``unjudged`` triples."""
    return Blend({name: Part(part, scales_of(part, unjudged)) for name, part in parts.items()})


def exchanged(triples: Sequence[Triple], seed: int) -> list[Triple]:
    """Return ``triples`` with their tails permuted at random within each relation; one ``seed``, one permutation."""
    random = np.random.default_rng(seed)
    result: list[Triple] = []
    for relation in sorted({relation for _, relation, _ in triples}):
        group = [triple for triple in triples if triple[1] == relation]
        order = random.permutation(len(group)).tolist()
        result += [(head, relation, group[index][2]) for (head, _, _), index in zip(group, order, strict=True)]
    return result


def scales_of(scorer: TupleScorer, tuples: Sequence[Triple]) -> dict[str, Scale]:
    """Return mean and standard deviation of a scorer's values for each relation of ``tuples``; NaN values are left out."""
    values: dict[str, list[float]] = {}
    for (_, relation, _), score in zip(tuples, scorer.score(tuples), strict=True):
        values.setdefault(relation, []).append(score.value)
    return {
        relation: Scale(round(float(np.nanmean(scores)), 4), round(max(float(np.nanstd(scores)), 1e-3), 4))
        for relation, scores in sorted(values.items())
    }


def judged(path: Path) -> Rows:
    """The judged triples of ACCENT's relations."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["relation"] in RELATIONS]


def cskb(scorers: dict[str, TupleScorer], rows: Rows, known: set[Triple], resamples: int) -> Rows:
    """Return the AUC of each scorer on all judged triples, and on those that are not in the graph."""
    tuples: list[Triple] = [(row["head"], row["relation"], row["tail"]) for row in rows]
    labels = np.array([int(row["label"]) for row in rows])
    relations = np.array([row["relation"] for row in rows])
    new = np.array([written(triple) not in known for triple in tuples])
    draws = within_relations(relations, resamples)
    table = []
    for name, scorer in scorers.items():
        scores = np.array([score.value for score in scorer.score(tuples)])
        interval = percentiles([area(labels[draw], relations[draw], scores[draw]) for draw in draws])
        table.append({
            "scorer": name, "auc": round(area(labels, relations, scores), 4), "interval": interval,
            "auc of new triples": round(area(labels[new], relations[new], scores[new]), 4), "n": len(rows),
            "n new": int(new.sum()),
        })  # fmt: skip
    return table


def within_relations(relations: NDArray[Any], resamples: int) -> list[NDArray[np.int64]]:
    """Return resamples of the triples' indices, each drawn within the relations."""
    random = np.random.default_rng(SEED)
    groups = [np.flatnonzero(relations == name) for name in RELATIONS]
    return [np.concatenate([random.choice(group, len(group)) for group in groups if len(group)]) for _ in range(resamples)]


def written(triple: Triple) -> Triple:
    """Return a triple with head and tail in normal form, so that triples of two sets can be compared."""
    from tacit.reasoning.metrics.accent.events import head_form

    return head_form(triple[0]), triple[1], statement(triple[2], triple[1])


def correlated(scores: Floats, ratings: Floats, talks: NDArray[np.int64], resamples: int) -> dict[str, Any]:
    """Pearson and Spearman with intervals over conversations, whose numbers are ``talks``."""
    row: dict[str, Any] = {"n": len(scores)}
    for name, correlation in (agreement(scores, ratings, talks, resamples, SEED) or {}).items():
        row[name] = round(correlation.value or 0.0, 3)
        row[f"{name} interval"] = [round(bound, 3) for bound in (correlation.low, correlation.high) if bound is not None]
    return row


def history_of(row: dict[str, Any]) -> list[str]:
    """The turns before a response of DECO."""
    return [turn for turn in row["history"].split("</UTT>") if turn.strip()]


def deco(scorers: dict[str, TupleScorer], dialogues: Rows, resamples: int) -> Rows:
    """Return the correlations of the mean score of a dialogue's human tuples with its rated event commonsense."""
    rated = [row for row in dialogues if row["tuples_single"] or row["tuples_pair"]]
    ratings = np.array([row["event_cs"] for row in rated])
    talks = conversations([(history_of(row), row["response"]) for row in rated])
    groups = [[tuple(tuple_) for tuple_ in (*row["tuples_single"], *row["tuples_pair"])] for row in rated]
    distinct = list(dict.fromkeys(tuple_ for group in groups for tuple_ in group))
    table = []
    for name, scorer in scorers.items():
        values = dict(zip(distinct, (score.value for score in scorer.score(distinct)), strict=True))
        means = np.array([np.mean([values[tuple_] for tuple_ in group]) for group in groups])
        table.append({"scorer": name, **correlated(means, ratings, talks, resamples)})
    return table


class _Recorded:
    """What a COMET generated once, as a tail source."""

    signature = "recorded"

    def __init__(self, generations: dict[Query, list[str]]) -> None:
        self.generations = generations

    def find(self, queries: Sequence[Query]) -> list[TailResult]:
        """The recorded tails of each query."""
        return [as_known(query, [Generated(text, 0.0) for text in self.generations[query]], "comet:bart") for query in queries]


def comet(resources: ScorerResources, path: Path, resamples: int, limit: int = 1500) -> Rows:
    """Return the AUC that tells people's tails of a query from those of another query of the relation, by generated tails."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["relation"] in RELATIONS]
    rows = [row for row in rows if any(tail != "none" for tail in row["tails"]) and any(g != "none" for g in row["generations"])]
    rows = [rows[number] for number in np.random.default_rng(SEED).permutation(len(rows))[:limit]]
    source = _Recorded({Query(row["head"], row["relation"]): [g for g in row["generations"] if g != "none"] for row in rows})
    scorer = Compatibility(source, resources.embed, RELATIONS, encoder=resources.encoder.signature)
    random = np.random.default_rng(SEED)
    pairs = []
    for row in rows:
        same_relation = [other for other in rows if other["relation"] == row["relation"] and other["head"] != row["head"]]
        if same_relation:
            pairs.append((row, row, same_relation[int(random.integers(len(same_relation)))]))
    groups = [
        [(row["head"], row["relation"], tail) for tail in source_row["tails"] if tail != "none"]
        for position in (1, 2)
        for row, source_row in ((pair[0], pair[position]) for pair in pairs)
    ]
    values = iter(score.value for score in scorer.score([triple for group in groups for triple in group]))
    group_scores = [np.array([next(values) for _ in group]) for group in groups]
    labels = np.array([1] * len(pairs) + [0] * len(pairs))
    relations = np.array([group[0][1] for group in groups])
    table = []
    for name, reduce in (("one tail of a query, drawn", random.choice), ("all tails of a query, their mean", np.mean)):
        scores = np.array([float(reduce(group)) for group in group_scores])
        interval = percentiles([area(labels[d], relations[d], scores[d]) for d in within_relations(relations, resamples)])
        value = round(area(labels, relations, scores), 4)
        table.append({"compared": name, "auc": value, "interval": interval, "n": len(scores)})
    return table


def metric(metrics: dict[str, Any], dialogues: Rows, resamples: int) -> Rows:
    """Return the correlations of whole metrics with event commonsense, on all judged responses and on those with a tuple."""
    items = [(history_of(row), row["response"]) for row in dialogues]
    ratings, talks = np.array([row["event_cs"] for row in dialogues]), conversations(items)
    table = []
    for scorer, opened in metrics.items():
        scores = opened.score_batch(items)
        values = np.array([score.value for score in scores])
        has_tuple = np.array([any(piece.kind == "tuple" for piece in score.evidence.pieces) for score in scores])
        for label, selected in (("judged", np.isfinite(values)), ("with a tuple", has_tuple)):
            row = correlated(values[selected], ratings[selected], talks[selected], resamples)
            table.append({"profile": opened.profile, "scorer": scorer, "responses": label, **row})
    return table


def show(title: str, rows: Rows) -> None:
    """Print rows as a table."""
    print(f"\n{title}")
    names = list(rows[0])
    lines = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?")
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--parts", default="cskb,deco,comet,metric")
    parser.add_argument("--comet", metavar="MODEL", help="a COMET to measure too: a folder, a GGUF file or an id")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.graph is None or arguments.data is None:
        print("nothing is measured: name a graph that holds ATOMIC, and the folder of the judgements")
        return
    parts = arguments.parts.split(",")
    tables: dict[str, Rows] = {}
    with gzip.open(arguments.data / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        dialogues = json.load(file)
    with open_graph(arguments.graph) as graph:
        resources = ScorerResources(graph)
        scorers = scorers_of(resources, arguments.comet) if {"cskb", "deco"} & set(parts) else {}
        if "cskb" in parts:
            known = {written(triple) for triple in resources.table.triples(RELATIONS)}
            tables["cskb"] = cskb(scorers, judged(arguments.data / "judgements" / "cskb-dev.csv.gz"), known, arguments.resamples)
        if "deco" in parts:
            if arguments.comet is not None:
                tails = resources.tails(comet=arguments.comet, remember=False)
                scorers["compatibility (the graph, then the COMET)"] = resources.scorer("compatibility", tails=tails)
            tables["deco"] = deco(scorers, dialogues, arguments.resamples)
        if "comet" in parts:
            recorded = arguments.data / "atomic2020" / "comet-bart-generations.jsonl.gz"
            tables["comet"] = comet(resources, recorded, arguments.resamples)
        if "metric" in parts:
            metrics = {scorer: make_accent(graph, scorer=scorer) for scorer in ("blend", "compatibility", "retriever")}
            compatibility = metrics["compatibility"]
            metrics["compatibility, 0.5 without a tuple"] = Accent(
                graph, compatibility.extractor, compatibility.scorer, profile="paper"
            )
            tables["metric"] = metric(metrics, dialogues, arguments.resamples)
    if arguments.json:
        print(json.dumps(tables))
        return
    for name, rows in tables.items():
        show(name, rows)


if __name__ == "__main__":
    main()
