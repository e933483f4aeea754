"""Training the compact retrieval model: two towers over frozen sentence embeddings learn which tails belong to which heads.

Each step draws a batch of triples of one relation; the loss is the symmetric InfoNCE (van den Oord et al., 2018) between heads
and tails, where pairs that share a head or a tail are not negatives of each other. One seed gives one model on one thread. The
saved pool has the most frequent tails of each relation and a random sample of the rest, with their triples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ..metrics.accent.scorers.retrieval_model import RetrievalModel, Scale, Tower, from_bytes, quantise, to_bytes
from ..metrics.accent.scorers.retriever import Retriever, Support
from ..metrics.accent.verbalise import statement
from ..models.hub import need
from .loop import NOTHING_TO_LEARN, Plan, Progress, examples_digest, fit
from .recipe import RetrieverRecipe

Triple = tuple[str, str, str]
Vectors = NDArray[np.float32]

_HIDDEN = 512
_KEYS = 128
_TEMPERATURE = 0.05
_DROPOUT = 0.2
_HELD_OUT = 0.02
_RANKED = 200
_BACKGROUND = 300


class _Numbered(NamedTuple):
    """Triples as numbers: the texts, and rows of (head, relation, tail)."""

    texts: list[str]
    rows: NDArray[np.int64]


def train_retriever(
    triples: Sequence[Triple],
    relations: Sequence[str],
    vectors_of: Callable[[Sequence[str]], Vectors],
    recipe: RetrieverRecipe,
    *,
    encoder: tuple[str, str],
    facts: dict[str, Any] | None = None,
    checkpoints: Path | None = None,
    progress: Progress | None = None,
) -> RetrievalModel:
    """Return a model trained on ``triples`` (head, relation, tail) of ``relations``; an interrupted training is continued.

    ``vectors_of`` gives texts vectors of unit length, shape (texts, d), and is called once; ``encoder`` is its name and
    signature. The model's facts have the mean reciprocal rank of the right tail among 200, on triples with held-out heads.
    """
    recipe.check()
    used_relations = [name for name in relations if any(relation == name for _, relation, _ in triples)]
    stated = {(head, relation, statement(tail, relation)) for head, relation, tail in triples if relation in used_relations}
    distinct = sorted(triple for triple in stated if triple[2])
    if len(distinct) < 2:
        raise InputError(NOTHING_TO_LEARN)
    data = _numbered(distinct, used_relations)
    vectors = vectors_of(data.texts)
    held_out = _held_out(data.rows, recipe.seed)
    learnt = data.rows[~held_out]
    identity = f"{examples_digest(distinct)} {encoder}"
    towers = _fit(
        learnt if len(learnt) > 1 else data.rows, vectors, len(used_relations), recipe, checkpoints, identity, progress
    )  # fmt: skip
    members = _pool(data.rows, len(used_relations), recipe)
    known = [_triples_in_pool(data.rows, number, pool) for number, pool in enumerate(members)]
    used = np.unique(np.concatenate([part.ravel() for part in known]))
    basis = _basis(vectors[used], recipe.parts)
    projected = vectors[used] @ basis
    projected /= np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-12)
    kept_vectors = quantise(projected.astype(np.float32), min(recipe.parts, projected.shape[1]), recipe.seed)
    measured = {
        "triples": len(distinct), "heads": len({head for head, _, _ in distinct}),
        "tails": len(np.unique(np.concatenate(members))), "data": examples_digest(distinct), "held_out": int(held_out.sum()),
        "mean_reciprocal_rank": _quality(towers, vectors, data.rows[held_out], recipe.seed),
        **asdict(recipe),
    }  # fmt: skip
    texts = tuple(data.texts[number] for number in used.tolist())
    pools, triples_of = (tuple(np.searchsorted(used, numbers) for numbers in rows) for rows in (members, known))
    query, key = towers
    model = RetrievalModel(
        tuple(used_relations), texts, pools, triples_of, basis, kept_vectors, query, key, encoder, {},
        {**(facts or {}), **measured},
    )  # fmt: skip
    model = from_bytes(to_bytes(model), "the model")  # rounded as in its file
    scales = _scales(model, vectors, data.rows, used, vectors_of, recipe.seed)
    return from_bytes(to_bytes(replace(model, scales=scales)), "the model")


def _numbered(triples: Sequence[Triple], relations: Sequence[str]) -> _Numbered:
    texts = sorted({text for head, _, tail in triples for text in (head, tail)})
    number = {text: index for index, text in enumerate(texts)}
    relation_number = {name: index for index, name in enumerate(relations)}
    rows = np.array([(number[head], relation_number[relation], number[tail]) for head, relation, tail in triples], dtype=np.int64)
    return _Numbered(texts, rows)


def _held_out(rows: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """Which rows have held-out heads."""
    heads = np.unique(rows[:, 0])
    chosen = np.random.default_rng([seed, 2]).permutation(heads)[: int(len(heads) * _HELD_OUT)]
    return np.isin(rows[:, 0], chosen)


def _fit(
    rows: NDArray[np.int64],
    vectors: Vectors,
    relations: int,
    recipe: RetrieverRecipe,
    checkpoints: Path | None,
    data: str,
    progress: Progress | None,
) -> tuple[Tower, Tower]:
    """Train the two towers."""
    torch = need("torch", "neural")
    by_relation = [part for number in range(relations) if len(part := rows[rows[:, 1] == number])]
    weights = np.array([len(part) for part in by_relation], dtype=np.float64) ** 0.75
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        towers = [torch.nn.ParameterDict(_weights(torch, vectors.shape[1], relations)) for _ in range(2)]

    def loss(_: Sequence[int], random: np.random.Generator) -> Any:
        part = by_relation[int(random.choice(len(by_relation), p=weights / weights.sum()))]
        batch = part[random.choice(len(part), min(recipe.batch_size, len(part)), replace=False)]
        heads, tails = (
            _run(torch, tower, vectors[batch[:, column]], int(batch[0, 1])) for tower, column in zip(towers, (0, 2), strict=True)
        )
        same = (batch[:, None, 0] == batch[None, :, 0]) | (batch[:, None, 2] == batch[None, :, 2])
        np.fill_diagonal(same, False)
        likeness = (heads @ tails.T / _TEMPERATURE).masked_fill(torch.from_numpy(same), -1e4)
        right = torch.arange(len(batch))
        ranked = torch.nn.functional.cross_entropy
        return (ranked(likeness, right) + ranked(likeness.T, right)) / 2

    plan = Plan(recipe.steps, 1, recipe.rate, recipe.seed, schedule="cosine", clip=0)
    fit(
        torch.nn.ModuleList(towers),
        loss,
        1,
        plan,
        checkpoints,
        data={"examples": data, "recipe": asdict(recipe)},
        progress=progress,
    )
    query, key = (Tower({name: weight.detach().numpy().copy() for name, weight in part.items()}) for part in towers)
    return query, key


def _weights(torch: Any, width: int, relations: int) -> dict[str, Any]:
    """The initial weights of a tower."""
    shapes = {"in": (width, _HIDDEN), "bias": (_HIDDEN,), "relation": (relations, _HIDDEN), "out": (_HIDDEN, _KEYS)}
    spreads = {"in": width**-0.5, "bias": 0.0, "relation": 0.02, "out": _HIDDEN**-0.5}
    return {name: torch.randn(shape) * spreads[name] for name, shape in shapes.items()}


def _run(torch: Any, weights: Any, vectors: Vectors, relation: int) -> Any:
    """A tower in torch (see :class:`tacit.reasoning.metrics.accent.scorers.retrieval_model.Tower`), with dropout."""
    hidden = torch.from_numpy(vectors) @ weights["in"] + weights["bias"] + weights["relation"][relation]
    hidden = torch.nn.functional.dropout(torch.nn.functional.silu(hidden), _DROPOUT)
    return torch.nn.functional.normalize(hidden @ weights["out"], dim=-1)


def _pool(rows: NDArray[np.int64], relations: int, recipe: RetrieverRecipe) -> list[NDArray[np.int64]]:
    """The pool of each relation: half the most frequent tails, half a sample of the others."""
    random = np.random.default_rng([recipe.seed, 3])
    chosen = []
    for number in range(relations):
        counts = Counter(rows[rows[:, 1] == number, 2].tolist())
        ranked = sorted(counts, key=lambda tail: (-counts[tail], tail))
        first = ranked[: -(-recipe.pool // 2)]
        rarer = np.array(ranked[len(first) :], dtype=np.int64)
        drawn = random.permutation(rarer)[: recipe.pool - len(first)]
        chosen.append(np.sort(np.concatenate([np.array(first, dtype=np.int64), drawn])))
    return chosen


def _triples_in_pool(rows: NDArray[np.int64], relation: int, pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Heads and tails of the triples of a relation with tails in its pool, ascending, shape (n, 2)."""
    part = rows[rows[:, 1] == relation][:, [0, 2]]
    result: NDArray[np.int64] = part[np.isin(part[:, 1], pool)]
    return result


def _basis(vectors: Vectors, parts: int) -> Vectors:
    """The principal directions of ``vectors``, shape (d, rank), ordered so that the quantised parts have similar variance."""
    doubles = vectors.astype(np.float64)
    _, axes = np.linalg.eigh(doubles.T @ doubles)
    parts = min(parts, axes.shape[1])
    basis = axes[:, ::-1][:, : parts * (axes.shape[1] // parts)]
    # The sign of a direction depends on the library; the largest component of each is made positive.
    basis = basis * np.sign(basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])])
    order = np.arange(basis.shape[1]).reshape(-1, parts).T.ravel()
    result: Vectors = basis[:, order].astype(np.float16).astype(np.float32)
    return result


def _scales(
    model: RetrievalModel, vectors: Vectors, rows: NDArray[np.int64], used: NDArray[np.int64], embed: Any, seed: int
) -> dict[str, dict[str, Scale]]:
    """Mean and standard deviation of each score on random pairs of heads and tails, which are left out of the model's data;
    ``known`` is equation 1 over a head's own tails."""
    random = np.random.default_rng([seed, 5])
    retriever = Retriever(model, embed, encoder=model.encoder[1])
    support = Support(model, embed, encoder=model.encoder[1])
    number = {int(text): index for index, text in enumerate(used.tolist())}
    result: dict[str, dict[str, Scale]] = {"known": {}, "closeness": {}, "match": {}, "support": {}}
    for relation, name in enumerate(model.relations):
        part = rows[rows[:, 1] == relation]
        values: dict[str, list[float]] = {score: [] for score in result}
        for head, tail in zip(random.choice(part[:, 0], _BACKGROUND), random.choice(part[:, 2], _BACKGROUND), strict=True):
            without = (number.get(int(head), -1), number.get(int(tail), -1))
            measured = retriever.measure(vectors[head], relation, vectors[tail], without=without[1])
            supported, _ = support.measure(vectors[head], relation, vectors[tail], without=without)
            own = part[part[:, 0] == head, 2]
            own = own[own != tail]
            values["closeness"].append(measured.closeness)
            values["match"].append(measured.match)
            values["support"].append(supported)
            if len(own):
                values["known"].append(max(float((vectors[own] @ vectors[tail]).max()), 0.0))
        for score, numbers in values.items():
            spread = float(np.std(numbers)) if numbers else 0.0
            result[score][name] = Scale(round(float(np.mean(numbers or [0.0])), 4), round(max(spread, 0.01), 4))
    return result


def _quality(towers: tuple[Tower, Tower], vectors: Vectors, rows: NDArray[np.int64], seed: int) -> float | None:
    """The mean reciprocal rank of a triple's tail among 200 of the same relation; None when there are too few triples."""
    random = np.random.default_rng([seed, 4])
    ranks = []
    for relation in np.unique(rows[:, 1]).tolist():
        part = random.permutation(rows[rows[:, 1] == relation])[:1000]
        if len(part) < _RANKED:
            continue
        queries, keys = (tower(vectors[part[:, column]], relation) for tower, column in zip(towers, (0, 2), strict=True))
        for index, query in enumerate(queries):
            negatives = random.choice(len(part), _RANKED - 1, replace=False)
            ranks.append(1 + int((keys[negatives] @ query > keys[index] @ query).sum()))
    return round(float(np.mean(1 / np.array(ranks))), 4) if ranks else None
