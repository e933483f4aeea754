"""From dialogues to a GRADE checkpoint: what is encoded, counted, looked up and drawn before the training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...graph.errors import InputError
from ...graph.protocol import KnowledgeGraph
from ..encoder import TextEncoder
from ..grade.checkpoint import Checkpoint
from ..grade.dialogue_graph import edge_weights
from ..grade.metric import POS
from ..grade.model import GradeConfig, GradeModel
from ..grade.neighbourhood import Neighbourhood
from ..grade.vectors import ConceptVectors
from ..language import Analyser
from ..linking import Linker
from ..models import find_model, open_model
from .grade import Recipe, fit, look
from .grade_material import Material, find_keywords
from .grade_negatives import embedding_negatives, lexical_negatives, random_negatives
from .grade_pairs import Pairs, make_pairs
from .grade_turns import TurnVectors
from .loop import State

Told = Callable[[str, int, int], object]

NEGATIVES = ("hard", "random")


@dataclass(frozen=True)
class Sources:
    """What a training asks.

    Attributes:
        graph, analyser: for keywords and hops. encoder: of texts, and of concepts where ``vectors`` is made with it.
        encoder_id: the id to write down for the encoder, empty for a folder. vectors: of concepts.
        tuned: id or folder of the model that is trained along, for ``utterance="tuned"``.
    """

    graph: KnowledgeGraph
    analyser: Analyser
    encoder: TextEncoder
    encoder_id: str
    vectors: ConceptVectors
    tuned: str | None = None


@dataclass(frozen=True)
class Trained:
    """What a training made: a checkpoint without a folder, how it went, and the tokenizer of a tuned encoder."""

    checkpoint: Checkpoint
    state: State
    tokenizer: Any = None


def train_grade(
    dialogues: Sequence[Sequence[str]],
    sources: Sources,
    config: GradeConfig,
    recipe: Recipe,
    folder: Path,
    told: Told,
    *,
    negatives: str = "random",
    most: int | None = None,
    turn_cache: Path | None = None,
    device: str = "cpu",
    facts: Mapping[str, Any] | None = None,
) -> Trained:
    """Train GRADE on dialogues, of which judged ones were taken out before.

    Args:
        config: sizes that hang on the encoder and the vectors are filled in here.
        folder: for the state of the training, in a folder for these very settings; what stands there goes on.
        told: told what is being done, how far it is and how far it goes.
        negatives: ``hard``: one like the true response in words and one like it in meaning; ``random``: two at random.
        most: about how many pairs to learn from.
        turn_cache: where the frozen encoder's vectors of turns are kept; by default with the state.
        facts: to be written down with the checkpoint.

    Raises:
        InputError: a setting makes no sense, or there are too few dialogues.
        ModelError: a state is damaged, or the tuned encoder cannot be opened.
    """
    recipe.check()
    edge_weights(config.profile)
    if negatives not in NEGATIVES:
        raise InputError(f"there are no negatives {negatives!r}; choose from {', '.join(NEGATIVES)}")
    encoder = sources.encoder
    config = replace(config, text_width=3 * encoder.width, concept_dimension=sources.vectors.dimension)
    pairs = make_pairs(dialogues, config.turns, most=most, seed=recipe.seed)
    if not config.graph:
        config = replace(config, limits=())
    key = _key(pairs, sources, config, recipe, negatives)
    place = folder / key
    place.mkdir(parents=True, exist_ok=True)
    turns = _encoded(pairs, encoder, turn_cache or folder, told)
    linker = Linker(sources.graph, sources.analyser, pos=POS, max_words=1, cache_size=1000)
    learnt = sorted(set(pairs.response[~pairs.dev].tolist()) | set(pairs.context[~pairs.dev].reshape(-1).tolist()) - {-1})
    finder, keywords = find_keywords(pairs.texts, linker, [pairs.texts[row] for row in learnt], config, told)
    dialogues_used = len(set(pairs.dialogue.tolist()))
    candidates = _candidates(pairs, turns, encoder, negatives, recipe.seed, told)
    material = Material(
        config, pairs, candidates, sources.graph,
        Neighbourhood(sources.graph, sources.vectors, limits=config.limits, cache_size=1_000_000),
        finder, keywords, turns.matrix(), turns.rows(pairs.texts),
    )  # fmt: skip
    material.prepare(list(range(len(pairs.response))), told)
    model, tokenizer = _model(config, sources, recipe.seed)
    if tokenizer is not None:
        material.tokenizer, material.length = tokenizer, _length(model)
    state = fit(model, material, recipe, place, told, device=device)
    dev = np.flatnonzero(pairs.dev)
    noted = {
        "pairs": int((~pairs.dev).sum()), "dev_pairs": len(dev), "dialogues": dialogues_used,
        "negatives": negatives, "recipe": recipe.to_dict(), "graph": sources.graph.manifest().digest,
        "pipeline": sources.analyser.signature, "best_step": state.best_step, "curve": state.curve,
        "dev": look(model, material, dev, recipe), "blind": look(model, replace(material, blind=True), dev, recipe),
        "keywords": _keyword_facts(material),
        "versions": {name: version(name) for name in ("torch", "transformers", "bm25s")},
    }  # fmt: skip
    vectors = sources.vectors.signature if config.graph else "none"
    checkpoint = Checkpoint(
        model, finder.idf, encoder.signature.split(";")[0], sources.encoder_id, vectors.split(";")[0], {**(facts or {}), **noted}
    )
    return Trained(checkpoint, state, tokenizer)


def _model(config: GradeConfig, sources: Sources, seed: int) -> tuple[GradeModel, Any]:
    """A model with fresh weights, and the tokenizer of the encoder that is trained along, if any."""
    opened, tokenizer = None, None
    if config.utterance == "tuned":
        opened, tokenizer = open_model("AutoModel", find_model(sources.tuned or ""), device="cpu", dtype="float32")
        config = replace(config, text_width=int(opened.config.hidden_size))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GradeModel(config, opened), tokenizer


def _length(model: GradeModel) -> int:
    """Tokens that a tuned encoder reads at most."""
    own: Any = model.reading
    return int(getattr(own.encoder.config, "max_position_embeddings", 512))


def _encoded(pairs: Pairs, encoder: TextEncoder, folder: Path, told: Told) -> TurnVectors:
    """Every turn through the frozen encoder, those of an earlier run read back."""
    name = f"turns-{encoder.signature.replace(';', '-').replace('=', '-')}"
    turns = TurnVectors(folder / name, 3 * encoder.width)
    total = turns.missing(pairs.texts)
    done = 0

    def count(number: int) -> None:
        nonlocal done
        done += number
        told("encoding turns", done, total)

    turns.fill(pairs.texts, encoder, count)
    return turns


def _candidates(pairs: Pairs, turns: TurnVectors, encoder: TextEncoder, negatives: str, seed: int, told: Told) -> Any:
    """Rows of the true response and the false ones: shape (pairs, 3)."""
    if negatives == "random":
        false = [random_negatives(pairs, seed), random_negatives(pairs, seed + 1)]
        return np.stack([pairs.response, *false], axis=1)
    total = 2 * len(pairs.response)
    done = 0

    def count(number: int) -> None:
        nonlocal done
        done += number
        told("false responses", done, total)

    lexical = lexical_negatives(pairs, seed, count)
    vectors = np.asarray(turns.matrix()[turns.rows(pairs.texts)], np.float32)
    near = embedding_negatives(pairs, encoder.sentences(vectors), seed, count)
    return np.stack([pairs.response, lexical, near], axis=1)


def _keyword_facts(material: Material) -> dict[str, float]:
    """How many keywords a turn has on average, and what share of turns has none."""
    numbers = [len(found) for found in material.keywords]
    return {"mean": round(float(np.mean(numbers)), 3), "none": round(float(np.mean([not number for number in numbers])), 4)}


def _key(pairs: Pairs, sources: Sources, config: GradeConfig, recipe: Recipe, negatives: str) -> str:
    """16 hex digits for everything that decides how a training goes."""
    hasher = hashlib.sha256()
    for text in pairs.texts:
        hasher.update(text.encode() + b"\0")
    for array in (pairs.context, pairs.response, pairs.dev):
        hasher.update(array.tobytes())
    told = [
        config.to_dict(), recipe.to_dict(), negatives, sources.graph.manifest().digest, sources.encoder.signature,
        sources.vectors.signature, sources.analyser.signature, sources.tuned or "",
    ]  # fmt: skip
    hasher.update(json.dumps(told, sort_keys=True).encode())
    return hasher.hexdigest()[:16]
