"""Training the metric ``coherence`` on dialogues: association counts, the response selection head, and the weights of the parts.

A tenth of the dialogues is held out of counting and of the head's training; the weights are fitted on them. A head separates true
from random responses better on its own corpora than on unseen ones. So with several corpora, half of the fitting data is, unless
switched off, scored by parts that were trained without the corpus it comes from.
"""

from __future__ import annotations

import hashlib
import json
import math
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
from ..metrics.coherence.associations import FILES, LEAST_COUNT, AssociationGraph, terms_of, write_graph
from ..metrics.coherence.checkpoint import (
    ASSOCIATIONS,
    FORMAT,
    HEAD,
    HEADER,
    PARTS,
    TURNS,
    VERSION,
    Floats,
    SelectionHead,
    load_head,
)
from ..metrics.coherence.parts import Association, Part, Repetition, Selection, Similarity
from ..models.encoder import TextEncoder
from ..models.hub import need
from .corpora import Dialogue, counted, encoded, hold_out
from .loop import Plan, fit
from .recipe import CoherenceRecipe, HeadRecipe

# Associations: which terms of a turn are followed by which terms of the next turn.

Ids = NDArray[np.int64]
Pair = tuple[str, str]

LEAST_WEIGHT = 0.5

_ROWS = 2_000
_ROWS_AT_ONCE = 8_192


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
class Measured:
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
) -> Measured:
    """Score contrasts by every part; ``progress`` is called with numbers of responses."""
    columns = []
    for start in range(0, len(drawn.items), _WEIGHED_AT_ONCE):
        block = drawn.items[start : start + _WEIGHED_AT_ONCE]
        columns.append(np.array([[response.value for response in part.measure(block, False)] for part in parts.values()]).T)
        if progress is not None:
            progress(len(block))
    return Measured(np.concatenate(columns), drawn.labels, weight)


def weigh(groups: Sequence[Measured], similarity_factor: float = 1.0) -> dict[str, dict[str, float]]:
    """Fit the regression over the parts; return the log-odds' bias and weights, by the names of the parts joined with ``+``.

    Parts that were trained on dialogues fit those of other kinds less well than the regression finds, while similarity has learnt
    from none of them. So its weight may be multiplied by ``similarity_factor``; then a second regression fits the bias, the scale
    of the weighted sum and the weight of repetition to the same contrasts. The score remains the log-odds, and copies, which are
    as similar as can be, stay below true responses.
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


def areas(groups: Sequence[Measured]) -> dict[str, float]:
    """Return the area under the ROC curve of each part alone, the mean over ``groups``."""
    from sklearn.metrics import roc_auc_score

    return {
        name: float(np.mean([roc_auc_score(group.labels, group.features[:, index]) for group in groups]))
        for index, name in enumerate(PARTS)
    }


# Training.

#: Called with the name of the stage, the amount done, and the total.
Progress = Callable[[str, int, int], object]


def _silent(step: str, done: int, total: int) -> None:
    """No progress output."""


def train_coherence(
    corpora: Mapping[str, Sequence[Dialogue]],
    encoder: TextEncoder,
    folder: Path,
    *,
    checkpoints: Path | None = None,
    encoder_id: str | None = None,
    recipe: CoherenceRecipe | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress = _silent,
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
    learnt = {name: split.learnt for name, split in splits.items()}
    turns = _Turns(learnt, encoder, recipe.max_pairs, random, checkpoints, progress)
    trainer = _Trainer(turns, encoder, recipe, checkpoints, progress)
    parts, sums = trainer.parts(list(splits), folder, "")
    held_contrasts = {name: contrasts(split.held_out, recipe.copy_share, random) for name, split in splits.items()}

    count = counted(progress, "weighing the parts", sum(len(held_out.items) for held_out in held_contrasts.values()))
    near = [measure(held_out, parts, 1 / len(held_contrasts), count) for held_out in held_contrasts.values()]
    far: list[Measured] = []
    for name, held_out in held_contrasts.items() if recipe.cross_corpus_weights and len(held_contrasts) > 1 else ():
        with tempfile.TemporaryDirectory() as scratch:
            other_parts, _ = trainer.parts([corpus for corpus in splits if corpus != name], Path(scratch), f" without {name}")
            count = counted(progress, f"weighing the parts without {name}", len(held_out.items))
            far.append(measure(held_out, other_parts, 1 / len(held_contrasts), count))
    counts = {name: {"learnt from": _sizes(split.learnt), "weighed on": _sizes(split.held_out)} for name, split in splits.items()}
    graph = AssociationGraph(folder / ASSOCIATIONS)
    header = {
        "format": FORMAT, "version": VERSION, "files": sums,
        "encoder": {"id": encoder_id, "signature": dict(parts["selection"].depends)["encoder"]},
        "weights": weigh([*near, *far], recipe.similarity_factor),
        "facts": {
            **(facts or {}), "seed": recipe.seed, "settings": asdict(recipe), "corpora": counts, "terms": len(graph),
            "edges": graph.edges, "contrasts": sum(len(held_out.items) for held_out in held_contrasts.values()),
            "areas": areas(near), "areas of parts trained without the corpus": areas(far) if far else None,
        },
    }  # fmt: skip
    (folder / HEADER).write_text(json.dumps(header, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    return header


class _Turns:
    """The turns that heads are trained on: pooled vectors in half precision, and the pairs of each corpus as rows of them."""

    def __init__(
        self,
        learnt: Mapping[str, Sequence[Dialogue]],
        encoder: TextEncoder,
        limit: int,
        random: np.random.Generator,
        checkpoints: Path | None,
        progress: Progress,
    ) -> None:
        self.learnt = learnt
        dialogues_of_corpora = [(name, turns) for name, dialogues in learnt.items() for turns in dialogues]
        positions = [
            (dialogue, number) for dialogue, (_, turns) in enumerate(dialogues_of_corpora) for number in range(1, len(turns))
        ]
        if len(positions) > limit:
            positions = [positions[index] for index in np.sort(random.choice(len(positions), limit, replace=False)).tolist()]
        texts: dict[str, int] = {}
        rows: dict[str, list[tuple[int, int, int]]] = {name: [] for name in learnt}
        for dialogue, number in positions:
            name, turns = dialogues_of_corpora[dialogue]
            before = texts.setdefault(turns[number - 2], len(texts)) if number > 1 else -1
            last, response = (texts.setdefault(turns[index], len(texts)) for index in (number - 1, number))
            rows[name].append((last, before, response))
        self.texts = list(texts)
        self.rows = {name: np.array(corpus_rows, dtype=np.int64).reshape(-1, 3) for name, corpus_rows in rows.items()}
        self.vectors = encoded(self.texts, encoder, checkpoints, counted(progress, "encoding", len(self.texts)))


class _Trainer:
    """Trains the parts on a subset of the corpora."""

    def __init__(
        self, turns: _Turns, encoder: TextEncoder, recipe: CoherenceRecipe, checkpoints: Path | None, progress: Progress
    ) -> None:
        self._turns, self._encoder, self._recipe, self._progress = turns, encoder, recipe, progress
        self._checkpoints = checkpoints

    def parts(self, names: Sequence[str], folder: Path, label: str) -> tuple[dict[str, Part], dict[str, str]]:
        """Train on the corpora ``names`` and write the result into ``folder``; return the parts, and the sha256 of the files."""
        recipe = self._recipe
        pairs = [pair for name in names for turns in self._turns.learnt[name] for pair in pairwise(turns)]
        counted = count_associations(
            pairs, terms=recipe.terms, edges=recipe.edges,
            progress=lambda done, total: self._progress("counting" + label, done, total),
        )  # fmt: skip
        (folder / ASSOCIATIONS).mkdir()
        write_graph(folder / ASSOCIATIONS, counted.terms, counted.edges)
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
        return parts, {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}


def _sizes(dialogues: Sequence[Dialogue]) -> dict[str, int]:
    return {"dialogues": len(dialogues), "pairs": sum(len(turns) - 1 for turns in dialogues)}


# Training the response selection head of `coherence`: two towers over pooled vectors of a frozen encoder.
#
# Within a batch, every context must select its own response among all responses of the batch, and every response its own
# context (InfoNCE, van den Oord et al., 2018, in both directions as in Radford et al., 2021). A response that occurs twice in
# the batch is not a negative of itself.

Halves = NDArray[np.float16]


def train_head(
    vectors: Halves,
    rows: Rows,
    checkpoints: Path | None = None,
    *,
    seed: int = 0,
    settings: HeadRecipe | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> SelectionHead:
    """Train a head on pooled vectors, shape (texts, d); ``rows`` of them, shape (pairs, 3), are last turn, turn before,
    response. An interrupted training is continued from its state in ``checkpoints``."""
    torch = need("torch", "neural")
    settings = settings or HeadRecipe()
    mean, scale = _moments(vectors)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        towers = Towers(mean, scale, settings)
    if len(rows):

        def loss(batch: Sequence[int], _: np.random.Generator) -> Any:
            triples = rows[batch]
            return towers.loss([_standard(towers, vectors, triples[:, column]) for column in range(3)], triples)

        size = min(settings.batch, len(rows))
        plan = Plan(settings.epochs * -(-len(rows) // size), size, settings.rate, seed, schedule="cosine", clip=0)
        fit(
            towers.module, loss, len(rows), plan, checkpoints, groups=towers.groups(settings.rate),
            data=[asdict(settings), hashlib.sha256(vectors.tobytes() + rows.tobytes()).hexdigest()],
            progress=None if progress is None else lambda step, steps, _: progress(step, steps),
        )  # fmt: skip
    return towers.head()


def _standard(towers: Towers, vectors: Halves, rows: Rows) -> Any:
    """Standardised vectors of texts; zeros for row -1."""
    standardised = (vectors[np.maximum(rows, 0)].astype(np.float32) - towers.mean) / towers.scale
    standardised[rows < 0] = 0
    return towers.torch.from_numpy(standardised)


def _moments(vectors: Halves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each column."""
    total, squares = np.zeros(vectors.shape[1]), np.zeros(vectors.shape[1])
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        part = vectors[start : start + _ROWS_AT_ONCE].astype(np.float64)
        total += part.sum(axis=0)
        squares += (part**2).sum(axis=0)
    mean = total / max(len(vectors), 1)
    deviation = np.sqrt(np.maximum(squares / max(len(vectors), 1) - mean**2, 0)) + 1e-3
    return mean.astype(np.float32), deviation.astype(np.float32)


# The towers and their loss.

Rows = NDArray[np.int64]

_TEMPERATURE = 0.05
_SHARPEST = 100.0


class Towers:
    """The linear maps of context and response, and the temperature of the softmax."""

    def __init__(self, mean: Floats, scale: Floats, settings: HeadRecipe) -> None:
        """Initialise at random with torch's seed; ``mean`` and ``scale`` are of pooled vectors, shape (d,)."""
        self.torch, self.settings = need("torch", "neural"), settings
        self.mean, self.scale = mean, scale
        nn, size = self.torch.nn, len(mean)
        self.context = nn.Linear(TURNS * size, settings.width)
        self.response = nn.Linear(size, settings.width)
        self.sharpness = nn.Parameter(self.torch.tensor(math.log(1 / _TEMPERATURE)))
        self.module = nn.ModuleList([self.context, self.response, nn.ParameterList([self.sharpness])])

    def weights(self) -> list[Any]:
        """The weights of all maps, without the temperature."""
        return [weight for module in (self.context, self.response) for weight in module.parameters()]

    def groups(self, rate: float) -> list[dict[str, Any]]:
        """The parameter groups for AdamW, with the highest learning rate ``rate``."""
        return [
            {"params": self.weights(), "lr": rate, "weight_decay": self.settings.decay},
            {"params": [self.sharpness], "lr": rate, "weight_decay": 0.0},
        ]

    def loss(self, texts: Sequence[Any], rows: Rows) -> Any:
        """Return the loss of a batch of n pairs.

        ``texts`` are standardised pooled vectors of last turns, turns before them (zeros for none) and responses, each of shape
        (n, d); ``rows`` a number for each of these texts, -1 for a missing one, shape (n, 3).
        """
        torch, functional = self.torch, self.torch.nn.functional
        last, before, response = texts
        size, device = len(rows), last.device
        contexts = self._unit(self.context, torch.cat([last, before], dim=1))
        responses = self._unit(self.response, response)
        logits = contexts @ responses.T * self.sharpness.exp().clamp(max=_SHARPEST)
        twins = rows[:, 2][:, None] == rows[:, 2][None, :]
        logits = logits.masked_fill(torch.from_numpy(twins & ~np.eye(size, dtype=bool)).to(device), float("-inf"))
        right = torch.arange(size, device=device)
        return (functional.cross_entropy(logits, right) + functional.cross_entropy(logits.T, right)) / 2

    def _unit(self, linear: Any, vectors: Any) -> Any:
        """Unit vectors in the common space, with dropout."""
        functional = self.torch.nn.functional
        return functional.normalize(linear(functional.dropout(vectors, self.settings.dropout)), dim=1)

    def head(self) -> SelectionHead:
        """Return the trained head."""

        def array(weight: Any) -> Floats:
            result: Floats = weight.detach().cpu().numpy()
            return result

        context, response = ((array(layer.weight).T.copy(), array(layer.bias).copy()) for layer in (self.context, self.response))
        return SelectionHead(self.mean, self.scale, *context, *response)
