"""Training the metric ``coherence`` on dialogues: association counts, the response selection head, and the weights of the parts.

A tenth of the dialogues is held out of counting and of the head's training; the weights are fitted on them. A head separates true
from random responses better on its own corpora than on unseen ones. So with several corpora, half of the fitting data is, unless
switched off, scored by parts that were trained without the corpus it comes from.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.item import Item
from ...graph.storage import file_sha256
from ..metrics.coherence.associations import FILES, LEAST_COUNT, AssociationGraph, terms_of, write_graph
from ..metrics.coherence.checkpoint import (
    ASSOCIATIONS,
    FORMAT,
    HEAD,
    HEADER,
    PARTS,
    VERSION,
    Floats,
    load_head,
)
from ..metrics.coherence.parts import Association, Part, Repetition, Selection, Similarity
from ..models.encoder import TextEncoder
from .checkpoints import StageProgress
from .corpora import Dialogue, cumulative, hold_out, pooled_vectors
from .recipe import CoherenceRecipe
from .selection_head import train_head

# Associations: which terms of a turn are followed by which terms of the next turn.

Ids = NDArray[np.int64]
Pair = tuple[str, str]

LEAST_WEIGHT = 0.5

_ROWS = 2_000


@dataclass(frozen=True)
class Associations:
    """The terms, most frequent first, and edges between their indices: sources, targets, weights in nats."""

    terms: tuple[str, ...]
    edges: tuple[Ids, Ids, Floats]


def count_associations(
    pairs: Sequence[Pair],
    *,
    terms: int = CoherenceRecipe.terms,
    edges: int = CoherenceRecipe.edges,
    progress: Callable[[int, int], object] | None = None,
) -> Associations:
    """Count over pairs of consecutive turns which terms follow which.

    The weight of an edge is log(n(a, b) N / (n(a) n(b))), with N pairs, n(a) of them with a in the first turn, n(b) with b in the
    second, and n(a, b) with both (Church & Hanks, 1990). The most frequent ``terms`` that occur in at least 3 turns are counted.
    Edges need a count of at least 3 and a weight of at least 0.5; of these the ``edges`` with the highest n(a, b) * weight are
    kept.
    """

    def terms_in(text: str) -> list[str]:
        return [term.text for term in terms_of(text)]

    chosen = _most_frequent(pairs, terms, terms_in)
    index = {term: number for number, term in enumerate(chosen)}
    first, second = (_matrix([pair[column] for pair in pairs], index, terms_in) for column in (0, 1))
    before, after = (np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel() for matrix in (first, second))
    columns = first.tocsc()
    blocks: list[tuple[Ids, Ids, Floats, Floats]] = []
    for start in range(0, len(chosen), _ROWS):
        counts = (columns[:, start : start + _ROWS].T @ second).tocoo()
        often = counts.data >= LEAST_COUNT
        sources, targets = counts.row[often].astype(np.int64) + start, counts.col[often].astype(np.int64)
        number = counts.data[often].astype(np.float64)
        chance = before[sources] * after[targets] / len(pairs)
        weights = np.log(number / chance)
        ranks = np.where(weights >= LEAST_WEIGHT, number * weights, 0)
        heavy = ranks > 0
        kept_weights = weights[heavy].astype(np.float32)
        blocks.append((sources[heavy], targets[heavy], kept_weights, ranks[heavy].astype(np.float32)))
        if progress is not None:
            progress(min(start + _ROWS, len(chosen)), len(chosen))
    sources, targets = (np.concatenate([np.empty(0, np.int64), *(part[column] for part in blocks)]) for column in (0, 1))
    kept_weights, ranked = (np.concatenate([np.empty(0, np.float32), *(part[column] for part in blocks)]) for column in (2, 3))
    best = np.sort(np.lexsort((targets, sources, -ranked))[:edges])
    return Associations(tuple(chosen), (sources[best], targets[best], kept_weights[best]))


def _most_frequent(pairs: Sequence[Pair], number: int, terms_in: Callable[[str], list[str]]) -> list[str]:
    """The terms that occur in most distinct turns, equally frequent ones by name."""
    counts: Counter[str] = Counter()
    for text in dict.fromkeys(text for pair in pairs for text in pair):
        counts.update(terms_in(text))
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:number]
    return [term for term, count in ranked if count >= LEAST_COUNT]


def _matrix(texts: Sequence[str], index: dict[str, int], terms_in: Callable[[str], list[str]]) -> Any:
    """The occurrence of terms in texts: 1 where a text has a term, shape (texts, terms), sparse."""
    from scipy import sparse

    known: dict[str, list[int]] = {}
    columns: list[int] = []
    ends = [0]
    for text in texts:
        if text not in known:
            known[text] = [index[term] for term in terms_in(text) if term in index]
        columns += known[text]
        ends.append(len(columns))
    ones = np.ones(len(columns), dtype=np.float32)
    return sparse.csr_matrix((ones, columns, ends), shape=(len(texts), len(index)))


# Weights of the parts: logistic regressions that separate true responses from random ones and near copies of recent turns.
#
# No ratings are used.

Labels = NDArray[np.int64]
Matrix = NDArray[np.float64]

RECENT = 4

_LOST = 0.1
_WEIGHED_AT_ONCE = 4_096
_STRENGTH = 1.0


@dataclass(frozen=True)
class Contrasts:
    """Responses with their histories, labelled 1 when true and 0 when not."""

    items: list[Item]
    labels: Labels


@dataclass(frozen=True)
class PartValues:
    """Scores of the parts on contrasts, shape (n, parts); together the contrasts have ``weight`` in the regression."""

    features: Matrix
    labels: Labels
    weight: float


def contrasts(dialogues: Sequence[Dialogue], copies: float, random: np.random.Generator) -> Contrasts:
    """Return true responses and, for each, a random one and ``copies`` copies of a recent turn that lost one word in ten."""
    positions = [(number, turn) for number, turns in enumerate(dialogues) for turn in range(1, len(turns))]
    items: list[Item] = []
    labels: list[int] = []
    for number, turn in positions:
        history, response = dialogues[number][:turn], dialogues[number][turn]
        other_dialogue, other_turn = positions[int(random.integers(len(positions)))]
        while other_dialogue == number:
            other_dialogue, other_turn = positions[int(random.integers(len(positions)))]
        items += [Item(history, response), Item(history, dialogues[other_dialogue][other_turn])]
        labels += [1, 0]
        if random.random() < copies:
            recent = history[-RECENT:]
            words = recent[int(random.integers(len(recent)))].split()
            remaining = [word for word in words if random.random() >= _LOST] or words
            items.append(Item(history, " ".join(remaining)))
            labels.append(0)
    return Contrasts(items, np.array(labels))


def measure(
    drawn: Contrasts, parts: Mapping[str, Part], weight: float, progress: Callable[[int], object] | None = None
) -> PartValues:
    """Score contrasts by every part; ``progress`` is called with numbers of responses."""
    columns = []
    for start in range(0, len(drawn.items), _WEIGHED_AT_ONCE):
        block = drawn.items[start : start + _WEIGHED_AT_ONCE]
        columns.append(np.array([[response.value for response in part.measure(block, False)] for part in parts.values()]).T)
        if progress is not None:
            progress(len(block))
    return PartValues(np.concatenate(columns), drawn.labels, weight)


def fit_weights(groups: Sequence[PartValues], similarity_factor: float = 1.0) -> dict[str, dict[str, float]]:
    """Fit the regression over the parts; return the log-odds' bias and weights, by the names of the parts joined with ``+``.

    On dialogues of other kinds the trained parts separate less well than on these, while similarity is not trained on dialogues.
    So its weight may be multiplied by ``similarity_factor``; then a second regression fits the bias, the scale of the weighted
    sum and the weight of repetition to the same contrasts, so that the score remains the log-odds and copies of the last turn,
    which have the highest similarity, stay below true responses.
    """
    from sklearn.linear_model import LogisticRegression

    features = np.concatenate([group.features for group in groups])
    labels = np.concatenate([group.labels for group in groups])
    weights = np.concatenate([np.full(len(group.labels), group.weight / len(group.labels)) for group in groups])
    weights *= len(labels) / weights.sum()
    scale = features.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=_STRENGTH).fit(features / scale, labels, sample_weight=weights)
    bias, slopes = model.intercept_[0], model.coef_[0] / scale
    if similarity_factor != 1:
        slopes[PARTS.index("similarity")] *= similarity_factor
        repetition = PARTS.index("repetition")
        slopes[repetition] = 0.0
        sums = np.column_stack([features @ slopes, features[:, repetition]])
        again = LogisticRegression(C=np.inf).fit(sums, labels, sample_weight=weights)
        bias, slopes = again.intercept_[0], again.coef_[0, 0] * slopes
        slopes[repetition] = again.coef_[0, 1]
    return {"+".join(PARTS): {"bias": float(bias), **dict(zip(PARTS, slopes.tolist(), strict=True))}}


def part_aucs(groups: Sequence[PartValues]) -> dict[str, float]:
    """Return the area under the ROC curve of each part alone, the mean over ``groups``."""
    from sklearn.metrics import roc_auc_score

    return {
        name: float(np.mean([roc_auc_score(group.labels, group.features[:, index]) for group in groups]))
        for index, name in enumerate(PARTS)
    }


# Training.


def train_coherence(
    corpora: Mapping[str, Sequence[Dialogue]],
    encoder: TextEncoder,
    folder: Path,
    *,
    checkpoints: Path | None = None,
    encoder_id: str | None = None,
    recipe: CoherenceRecipe | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: StageProgress = lambda *_: None,
) -> dict[str, Any]:
    """Train a checkpoint, write it into ``folder``, which must exist and be empty, and return its header.

    Args:
        corpora: distinct dialogues of two turns or more; see :func:`tacit.reasoning.training.corpora.distinct_dialogues`.
        checkpoints: folder for the state of an interrupted training, which the same call continues, and which the caller deletes.
        encoder_id: id of the encoder, None for the default one.
        facts: further facts for the header.
    """
    recipe = recipe or CoherenceRecipe()
    recipe.check()
    random = np.random.default_rng(recipe.seed)
    splits = hold_out(corpora, random)
    train = {name: split.train for name, split in splits.items()}
    turns = _Turns(train, encoder, recipe.max_pairs, random, checkpoints, progress)
    trainer = _Trainer(turns, encoder, recipe, checkpoints, progress)
    parts, sums = trainer.parts(list(splits), folder, "")
    held_contrasts = {name: contrasts(split.held_out, recipe.copy_share, random) for name, split in splits.items()}

    count = cumulative(progress, "weighing the parts", sum(len(held_out.items) for held_out in held_contrasts.values()))
    measured = [measure(held_out, parts, 1 / len(held_contrasts), count) for held_out in held_contrasts.values()]
    cross_corpus: list[PartValues] = []
    for name, held_out in held_contrasts.items() if recipe.cross_corpus_weights and len(held_contrasts) > 1 else ():
        with tempfile.TemporaryDirectory() as scratch:
            other_parts, _ = trainer.parts([corpus for corpus in splits if corpus != name], Path(scratch), f" without {name}")
            count = cumulative(progress, f"weighing the parts without {name}", len(held_out.items))
            cross_corpus.append(measure(held_out, other_parts, 1 / len(held_contrasts), count))
    counts = {name: {"learnt from": _sizes(split.train), "weighed on": _sizes(split.held_out)} for name, split in splits.items()}
    graph = AssociationGraph(folder / ASSOCIATIONS)
    header = {
        "format": FORMAT, "version": VERSION, "files": sums,
        "encoder": {"id": encoder_id, "signature": dict(parts["selection"].depends)["encoder"]},
        "weights": fit_weights([*measured, *cross_corpus], recipe.similarity_factor),
        "facts": {
            **(facts or {}), "seed": recipe.seed, "settings": asdict(recipe), "corpora": counts, "terms": len(graph),
            "edges": graph.edges, "contrasts": sum(len(held_out.items) for held_out in held_contrasts.values()),
            "areas": part_aucs(measured),
            "areas of parts trained without the corpus": part_aucs(cross_corpus) if cross_corpus else None,
        },
    }  # fmt: skip
    (folder / HEADER).write_text(json.dumps(header, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    return header


class _Turns:
    """The turns that heads are trained on: pooled vectors in half precision, and the pairs of each corpus as rows of them."""

    def __init__(
        self,
        dialogues: Mapping[str, Sequence[Dialogue]],
        encoder: TextEncoder,
        limit: int,
        random: np.random.Generator,
        checkpoints: Path | None,
        progress: StageProgress,
    ) -> None:
        self.dialogues = dialogues
        dialogues_of_corpora = [(name, turns) for name, corpus in dialogues.items() for turns in corpus]
        positions = [
            (dialogue, number) for dialogue, (_, turns) in enumerate(dialogues_of_corpora) for number in range(1, len(turns))
        ]
        if len(positions) > limit:
            positions = [positions[index] for index in np.sort(random.choice(len(positions), limit, replace=False)).tolist()]
        texts: dict[str, int] = {}
        rows: dict[str, list[tuple[int, int, int]]] = {name: [] for name in dialogues}
        for dialogue, number in positions:
            name, turns = dialogues_of_corpora[dialogue]
            before = texts.setdefault(turns[number - 2], len(texts)) if number > 1 else -1
            last, response = (texts.setdefault(turns[index], len(texts)) for index in (number - 1, number))
            rows[name].append((last, before, response))
        self.texts = list(texts)
        self.rows = {name: np.array(corpus_rows, dtype=np.int64).reshape(-1, 3) for name, corpus_rows in rows.items()}
        self.vectors = pooled_vectors(self.texts, encoder, checkpoints, cumulative(progress, "encoding", len(self.texts)))


class _Trainer:
    """Trains the parts on a subset of the corpora."""

    def __init__(
        self, turns: _Turns, encoder: TextEncoder, recipe: CoherenceRecipe, checkpoints: Path | None, progress: StageProgress
    ) -> None:
        self._turns, self._encoder, self._recipe, self._progress = turns, encoder, recipe, progress
        self._checkpoints = checkpoints

    def parts(self, names: Sequence[str], folder: Path, label: str) -> tuple[dict[str, Part], dict[str, str]]:
        """Train on the corpora ``names`` and write the result into ``folder``; return the parts, and the sha256 of the files."""
        recipe = self._recipe
        pairs = [pair for name in names for turns in self._turns.dialogues[name] for pair in pairwise(turns)]
        associations = count_associations(
            pairs, terms=recipe.terms, edges=recipe.edges,
            progress=lambda done, total: self._progress("counting" + label, done, total),
        )  # fmt: skip
        (folder / ASSOCIATIONS).mkdir()
        write_graph(folder / ASSOCIATIONS, associations.terms, associations.edges)
        graph = AssociationGraph(folder / ASSOCIATIONS)
        rows = np.concatenate([self._turns.rows[name] for name in names])
        head = train_head(
            self._turns.vectors, rows, self._checkpoints and self._checkpoints / "+".join(names),
            seed=recipe.seed, settings=recipe.head,
            progress=lambda done, total: self._progress("training the head" + label, done, total),
        )  # fmt: skip
        files = [HEAD, *(f"{ASSOCIATIONS}/{name}" for name in FILES)]
        (folder / HEAD).write_bytes(head.to_bytes())
        rounded_head = load_head(folder / HEAD)  # rounded to half precision
        parts: dict[str, Part] = {
            "similarity": Similarity(self._encoder), "association": Association(graph, ""),
            "selection": Selection(self._encoder, rounded_head, ""), "repetition": Repetition(),
        }  # fmt: skip
        return parts, {name: file_sha256(folder / name) for name in files}


def _sizes(dialogues: Sequence[Dialogue]) -> dict[str, int]:
    return {"dialogues": len(dialogues), "pairs": sum(len(turns) - 1 for turns in dialogues)}
