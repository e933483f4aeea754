"""Training COMET and KG-BERT, the models of ACCENT that learn from a graph's assertions between events.

A COMET (Hwang et al., AAAI 2021) is a language model that learns to generate the tails of ``{head} {relation} [GEN]``. Tails
"none" are not in the graph, so it does not learn to generate them. One head in ten is replaced by an event without content, so
that it also learns the tails that are common for any event.

A KG-BERT (Yao et al., 2019) is a classifier that learns to separate triples from corrupted ones. A corrupted triple has the
head or the tail of another triple of the same relation; one that is in the graph is drawn again, at most five times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError
from ..metrics.accent.scorers.kgbert import MAX_LENGTH, classifier_input
from ..metrics.accent.tails.comet import GENERATE, SOME_EVENT, prompt_of
from ..models.cross_encoder import with_new_head
from ..models.hub import find_model, need, quiet
from ..models.layers import train_top_layers_only
from ..models.writers import CausalWriter, Seq2SeqWriter, open_writer
from .card import render
from .loop import CARD, NOTHING_TO_LEARN, Plan, Progress, base_name, check_output, examples_digest, run_training, write_model
from .recipe import CometRecipe, TripleRecipe, number_of_steps

Triple = tuple[str, str, str]

_ANY_EVENT = 0.1  # share of heads that are replaced
_TRIES = 5


def train_comet(
    triples: Sequence[Triple],
    model: str | Path,
    output: Path,
    recipe: CometRecipe | None = None,
    *,
    graph: str = "",
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a COMET and write it to the folder ``output`` with its card; an interrupted run continues from its last checkpoint.

    Return facts about the run. The initial ``model`` is sequence-to-sequence or causal: a folder, a GGUF file or an id of the
    hub; a causal one is saved in half precision. Without ``layers`` in the recipe, all layers and the embeddings of a causal
    model are trained. ``graph`` is a digest for the card.
    """
    recipe = recipe or CometRecipe()
    rows, plan = _prepare(triples, model, output, recipe)
    half = recipe.dtype == "bfloat16"
    need("torch", "neural").manual_seed(plan.seed)
    files = find_model(model, gguf=True)
    writer = open_writer(files, device=device)
    relations = sorted({relation for _, relation, _ in rows})
    if isinstance(writer, Seq2SeqWriter):
        _name_relations(writer, relations)
    _train_top_layers(writer, recipe.layers)
    digest = examples_digest(rows)
    data = {"examples": digest, "model": files.digest, "layers": recipe.layers, "half": half}
    run = run_training(writer.model, _comet_loss(writer, rows, half), len(rows), plan, output, data=data, progress=progress)
    card = render(
        "comet",
        name=output.name, base=base_name(model), kind="causal" if isinstance(writer, CausalWriter) else "sequence-to-sequence",
        trained=f"the top {recipe.layers} layers" if recipe.layers else "all layers", recipe=recipe.to_toml(), triples=len(rows),
        heads=len({head for head, _, _ in rows}), graph=graph or "not named", digest=digest, relations=", ".join(relations),
        **run,
    )  # fmt: skip
    saved = writer.model.half() if isinstance(writer, CausalWriter) else writer.model
    write_model(saved, writer.tokenizer, {CARD: card}, output)
    return {"triples": len(rows), "relations": relations, **run}


def _name_relations(writer: Seq2SeqWriter, relations: Sequence[str]) -> None:
    """Add relations to the vocabulary as tokens; a causal model reads their names as text."""
    tokenizer = writer.tokenizer
    if tokenizer.add_tokens([token for token in (GENERATE, *relations) if len(tokenizer.tokenize(token)) > 1]):
        with quiet():
            writer.model.resize_token_embeddings(len(tokenizer))


def _train_top_layers(writer: Seq2SeqWriter | CausalWriter, layers: int | None) -> None:
    """Freeze all but the top ``layers``."""
    if layers is None:
        return
    if isinstance(writer, Seq2SeqWriter):
        raise InputError("layers applies to causal models; leave it out for a sequence-to-sequence model")
    train_top_layers_only(writer.model, layers)


def _comet_loss(
    writer: Seq2SeqWriter | CausalWriter, rows: Sequence[Triple], half: bool
) -> Callable[[Sequence[int], np.random.Generator], Any]:
    """Return a function from the numbers of a batch to the loss of its tails."""
    torch = need("torch", "neural")

    def loss(batch: Sequence[int], random: np.random.Generator) -> Any:
        drawn = random.random(len(batch)) < _ANY_EVENT
        heads = [SOME_EVENT if any_event else rows[number][0] for number, any_event in zip(batch, drawn.tolist(), strict=True)]
        prompts = [prompt_of(head, rows[number][1]) for head, number in zip(heads, batch, strict=True)]
        with torch.autocast(writer.model.device.type, torch.bfloat16, enabled=half):
            return writer.loss(prompts, [rows[number][2] for number in batch])

    return loss


def train_kgbert(
    triples: Sequence[Triple],
    model: str | Path,
    output: Path,
    recipe: TripleRecipe | None = None,
    *,
    graph: str = "",
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a triple classifier and write it to the folder ``output`` with its card, as :func:`train_comet` does."""
    recipe = recipe or TripleRecipe()
    rows, plan = _prepare(triples, model, output, recipe, least=2)
    need("torch", "neural")
    files = find_model(model)
    opened, tokenizer = with_new_head(files, 2, device, plan.seed)
    digest = examples_digest(rows)
    data = {"examples": digest, "model": files.digest}
    run = run_training(opened, _kgbert_loss(opened, tokenizer, rows), len(rows), plan, output, data=data, progress=progress)
    card = render(
        "kgbert", name=output.name, base=base_name(model), recipe=recipe.to_toml(), triples=len(rows),
        graph=graph or "not named", digest=digest, **run,
    )  # fmt: skip
    write_model(opened, tokenizer, {CARD: card}, output)
    return {"triples": len(rows), **run}


def _kgbert_loss(model: Any, tokenizer: Any, rows: Sequence[Triple]) -> Callable[[Sequence[int], np.random.Generator], Any]:
    """Return a function from the numbers of a batch to the loss of its triples, each with a corrupted one."""
    torch = need("torch", "neural")
    known = set(rows)
    by_relation: dict[str, list[int]] = {}
    for number, (_, relation, _) in enumerate(rows):
        by_relation.setdefault(relation, []).append(number)

    def false_tuple(row: Triple, random: np.random.Generator) -> Triple:
        same_relation = by_relation[row[1]]
        head, corrupted = bool(random.integers(2)), row
        for _ in range(_TRIES):
            chosen = rows[same_relation[int(random.integers(len(same_relation)))]]
            corrupted = (chosen[0], row[1], row[2]) if head else (row[0], row[1], chosen[2])
            if corrupted not in known:
                break
        return corrupted

    def loss(batch: Sequence[int], random: np.random.Generator) -> Any:
        true = [rows[number] for number in batch]
        texts = [classifier_input(row, tokenizer.sep_token) for row in [*true, *(false_tuple(row, random) for row in true)]]
        encoded = tokenizer(texts, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt", verbose=False)
        labels = torch.tensor([1] * len(true) + [0] * len(true))
        parts = {name: value.to(model.device) for name, value in encoded.items()}
        return model(**parts, labels=labels.to(model.device)).loss

    return loss


def _prepare(
    triples: Sequence[Triple], model: str | Path, output: Path, recipe: TripleRecipe, least: int = 1
) -> tuple[list[Triple], Plan]:
    """Return the distinct triples, sorted, and the plan for training ``model`` on them."""
    recipe.check()
    check_output(output, model)
    rows = sorted(dict.fromkeys(triples))
    if len(rows) < least:
        raise InputError(NOTHING_TO_LEARN)
    return rows, Plan(number_of_steps(recipe, len(rows)), recipe.batch_size, recipe.rate, recipe.seed, recipe.checkpoint_every)
