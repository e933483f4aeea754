"""Training GRADE by margin ranking: true responses must score higher than false ones (Huang et al., EMNLP 2020, section 3.4).

Random numbers depend on the seed and the step alone, so one seed gives one model, and an interrupted training continues with
the same loss curve.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...graph.protocol import KnowledgeGraph
from ..metrics.grade.checkpoint import Checkpoint
from ..metrics.grade.concepts import ConceptVectors, Neighbourhood
from ..metrics.grade.network import GradeConfig, GradeModel, Graphs, drop_edges
from ..models.encoder import TextEncoder
from ..models.hub import find_model, open_model
from ..text.language import Analyser
from ..text.linking import concept_linker
from . import loop
from .checkpoints import StageProgress
from .corpora import cumulative, pooled_vectors
from .grade_data import (
    Material,
    Pairs,
    embedding_negatives,
    find_keywords,
    lexical_negatives,
    make_pairs,
    random_negatives,
)
from .loop import Plan, State
from .recipe import GradeRecipe


def fit(
    model: GradeModel,
    material: Material,
    recipe: GradeRecipe,
    folder: Path,
    progress: StageProgress,
    *,
    key: str = "",
    device: str = "cpu",
) -> State:
    """Train ``model`` in place, or continue from ``folder`` if its checkpoint has the ``key`` of all inputs; it ends on the CPU
    with the weights of the lowest development loss."""
    train, dev = np.flatnonzero(~material.pairs.dev), np.flatnonzero(material.pairs.dev)
    steps_an_epoch = -(-len(train) // recipe.batch)
    every = max(steps_an_epoch // recipe.evaluations_per_epoch, 1)
    plan = Plan(
        steps_an_epoch * recipe.epochs, recipe.batch, recipe.rate, recipe.seed, every, warmup=recipe.warmup, decay=recipe.decay,
        clip=recipe.clip, evaluate_every=every,
    )  # fmt: skip
    model.to(device)

    def loss(batch: Sequence[int], random: np.random.Generator) -> Tensor:
        generator = torch.Generator().manual_seed(int(random.integers(2**62)))
        return _loss(_scores(model, material, train[batch].tolist(), generator, recipe), recipe.margin)

    state = loop.fit(
        model, loss, len(train), plan, folder, data=[key, asdict(recipe)],
        evaluate=lambda: evaluate_pairs(model, material, dev, recipe),
        progress=lambda step, steps, _: progress("training", step, steps),
    )  # fmt: skip
    model.cpu()
    return state


def evaluate_pairs(model: GradeModel, material: Material, indices: np.ndarray[Any, Any], recipe: GradeRecipe) -> dict[str, float]:
    """Return the mean loss on some pairs, and the share of them in which the true response beats each of the false ones."""
    model.eval()
    losses, wins = [], []
    with torch.inference_mode():
        for start in range(0, len(indices), recipe.batch):
            scores = _scores(model, material, indices[start : start + recipe.batch].tolist(), None, recipe)
            losses.append(_loss(scores, recipe.margin, mean=False))
            wins.append((scores[:, :1] > scores[:, 1:]).float())
    shares = torch.cat(wins).mean(0).tolist()
    return {"dev_loss": float(torch.cat(losses).mean())} | {f"dev_wins_{n}": share for n, share in enumerate(shares, 1)}


def _scores(
    model: GradeModel, material: Material, indices: list[int], generator: torch.Generator | None, recipe: GradeRecipe
) -> Tensor:
    """The scores of all candidates, shape (pairs, candidates); with a generator, edges are dropped."""
    device = next(model.parameters()).device
    texts = tuple(tensor if tensor is None else tensor.to(device) for tensor in material.texts(indices))
    graphs = material.tensors(indices)
    if graphs is not None:
        if generator is not None:
            graphs = graphs._replace(adjacency=drop_edges(graphs.adjacency, recipe.drop_edge, generator))
        graphs = Graphs(*(tensor.to(device) for tensor in graphs))
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        scores: Tensor = model(texts, graphs)
    return scores.float().view(len(indices), -1)


def _loss(scores: Tensor, margin: float, *, mean: bool = True) -> Tensor:
    """Margin ranking loss: max(0, margin - s(true) + s(false)), mean over false responses, and over pairs with ``mean``."""
    losses = torch.relu(margin - scores[:, :1] + scores[:, 1:]).mean(1)
    return losses.mean() if mean else losses


# From dialogues to a checkpoint: encoding, keywords, false responses and dialogue graphs, then training.


@dataclass(frozen=True)
class Sources:
    """The inputs of a training beside the dialogues."""

    graph: KnowledgeGraph  # graph, analyser: for keywords and hops
    analyser: Analyser
    encoder: TextEncoder  # of texts
    encoder_id: str  # id of the encoder for the checkpoint, empty for a folder
    vectors: ConceptVectors  # of concepts


@dataclass(frozen=True)
class TrainedGrade:
    """The result of a training: a checkpoint that is not saved yet, the training state, and the tokenizer of a tuned encoder."""

    checkpoint: Checkpoint
    state: State
    tokenizer: Any = None


def train_grade(
    dialogues: Sequence[Sequence[str]],
    sources: Sources,
    recipe: GradeRecipe,
    folder: Path,
    progress: StageProgress,
    *,
    device: str = "cpu",
    facts: Mapping[str, Any] | None = None,
) -> TrainedGrade:
    """Train GRADE on dialogues; judged ones must have been removed.

    Args:
        recipe: settings of the training, except ``encoder``, ``vectors`` and ``pipeline``, which are opened in ``sources``.
        folder: for checkpoints; a training with the same inputs and settings is continued.
        facts: further facts for the checkpoint.
    """
    recipe.check()
    encoder = sources.encoder
    network = asdict(recipe.network) | ({} if recipe.network.graph else {"limits": ()})
    config = GradeConfig(
        utterance="tuned" if recipe.tuned else "frozen", text_width=3 * encoder.width,
        concept_dimension=sources.vectors.dimension, **network,
    )  # fmt: skip
    pairs = make_pairs(dialogues, config.turns, limit=recipe.pairs, seed=recipe.seed)
    key = _key(pairs, sources, config, recipe)
    vectors = pooled_vectors(pairs.texts, encoder, folder, cumulative(progress, "encoding turns", len(pairs.texts)))
    linker = concept_linker(sources.graph, sources.analyser, 1000)
    train_rows = sorted(set(pairs.response[~pairs.dev].tolist()) | set(pairs.context[~pairs.dev].reshape(-1).tolist()) - {-1})
    finder, keywords = find_keywords(pairs.texts, linker, [pairs.texts[row] for row in train_rows], config, progress)
    dialogues_used = len(set(pairs.dialogue.tolist()))
    candidates = _candidates(pairs, vectors, encoder, recipe, progress)
    material = Material(
        config, pairs, candidates, sources.graph,
        Neighbourhood(sources.graph, sources.vectors, limits=config.limits, cache_size=1_000_000),
        finder, keywords, vectors,
    )  # fmt: skip
    material.prepare(list(range(len(pairs.response))), progress)
    model, tokenizer = _model(config, recipe)
    if tokenizer is not None:
        material.tokenizer, material.length = tokenizer, model.encoder_length
    state = fit(model, material, recipe, folder, progress, key=key, device=device)
    dev = np.flatnonzero(pairs.dev)
    noted = {
        "pairs": int((~pairs.dev).sum()), "dev_pairs": len(dev), "dialogues": dialogues_used,
        "recipe": asdict(recipe.portable()), "graph": sources.graph.manifest().digest,
        "pipeline": sources.analyser.signature, "best_step": state.best_step, "curve": state.curve,
        "dev": evaluate_pairs(model, material, dev, recipe),
        "blind": evaluate_pairs(model, replace(material, blind=True), dev, recipe),
        "keywords": _keyword_facts(material),
        "versions": {name: version(name) for name in ("torch", "transformers", "bm25s")},
    }  # fmt: skip
    of_concepts = sources.vectors.signature if config.graph else "none"
    checkpoint = Checkpoint(
        model,
        finder.idf,
        encoder.signature.split(";")[0],
        sources.encoder_id,
        of_concepts.split(";")[0],
        {**(facts or {}), **noted},
    )
    return TrainedGrade(checkpoint, state, tokenizer)


def _model(config: GradeConfig, recipe: GradeRecipe) -> tuple[GradeModel, Any]:
    """A model with initial weights, and the tokenizer of the encoder that is fine-tuned, if any."""
    opened, tokenizer = None, None
    if recipe.tuned:
        opened, tokenizer = open_model("AutoModel", find_model(recipe.tuned), device="cpu", dtype="float32")
        config = replace(config, text_width=int(opened.config.hidden_size))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return GradeModel(config, opened), tokenizer


def _candidates(pairs: Pairs, vectors: Any, encoder: TextEncoder, recipe: GradeRecipe, progress: StageProgress) -> Any:
    """Rows of the true response and the false ones, shape (pairs, 3); ``vectors`` are those of the texts."""
    seed = recipe.seed
    if recipe.negatives == "random":
        false = [random_negatives(pairs, seed), random_negatives(pairs, seed + 1)]
        return np.stack([pairs.response, *false], axis=1)
    count = cumulative(progress, "false responses", 2 * len(pairs.response))
    lexical = lexical_negatives(pairs, seed, count)
    near = embedding_negatives(pairs, encoder.sentences(vectors.astype(np.float32)), seed, count)
    return np.stack([pairs.response, lexical, near], axis=1)


def _keyword_facts(material: Material) -> dict[str, float]:
    """The mean number of keywords per turn, and the share of turns without any."""
    numbers = [len(keywords) for keywords in material.keywords]
    return {"mean": round(float(np.mean(numbers)), 3), "none": round(float(np.mean([not number for number in numbers])), 4)}


def _key(pairs: Pairs, sources: Sources, config: GradeConfig, recipe: GradeRecipe) -> str:
    """16 hex digits that identify all inputs and settings of a training."""
    hasher = hashlib.sha256()
    for text in pairs.texts:
        hasher.update(text.encode() + b"\0")
    for array in (pairs.context, pairs.response, pairs.dev):
        hasher.update(array.tobytes())
    settings = [
        asdict(config), asdict(recipe), sources.graph.manifest().digest, sources.encoder.signature,
        sources.vectors.signature, sources.analyser.signature,
    ]  # fmt: skip
    hasher.update(json.dumps(settings, sort_keys=True).encode())
    return hasher.hexdigest()[:16]
