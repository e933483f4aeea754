"""Training a COMET: a language model learns to generate the tails of ``{head} {relation} [GEN]`` (Hwang et al., AAAI 2021).

It is trained on the assertions between events that a graph has from datasets. Tails "none" are not in the graph, so the model
does not learn to generate them. One head in ten is replaced by an event without content, so that the model also learns the tails
that are common for any event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError
from ..metrics.accent.tails.comet import GENERATE, SOME_EVENT, CausalWriter, Seq2SeqWriter, open_writer, prompt_of
from ..models.hub import find_model, need, quiet
from ..models.layers import learn_on_top
from .card import render
from .loop import Losses, Progress, checkpoints_of, digest_of, fit, prepare, write_model
from .recipe import CometRecipe

Triple = tuple[str, str, str]

_ANY_EVENT = 0.1  # share of heads that are replaced


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

    Args:
        triples: head, relation, tail; duplicates count once.
        model: the initial model, sequence-to-sequence or causal: a folder, a GGUF file or an id of the hub. A causal one is saved
            in half precision.
        recipe: settings of the training; without ``layers``, all layers and the embeddings of a causal model are trained.
        graph: digest of the graph, for the card.
        progress: called with the step, the number of steps and the loss.

    Returns:
        Facts about the run: triples, mean losses of the first and last tenth of the steps, and its first step.

    Raises:
        InputError: there are no triples, ``output`` holds something else, or the recipe is out of range.
        ModelError: the model cannot be opened.
        MissingExtra: torch or transformers is not installed, or the reader of GGUF files.
    """
    recipe = recipe or CometRecipe()
    rows, plan = prepare(triples, model, output, recipe)
    layers, half = recipe.layers, recipe.dtype == "bfloat16"
    need("torch", "neural").manual_seed(plan.seed)
    files = find_model(model, gguf=True)
    writer = open_writer(files, device=device)
    relations = sorted({relation for _, relation, _ in rows})
    if isinstance(writer, Seq2SeqWriter):
        _name_relations(writer, relations)
    _choose(writer, layers)
    watch = Losses(plan, progress)
    digest = digest_of(rows)
    data = f"{digest} {files.digest} {layers} {half}"
    state = fit(writer.model, _loss(writer, rows, half), len(rows), plan, checkpoints_of(output), data=data, progress=watch)
    base = Path(model).name if Path(model).exists() else str(model)
    card = render(
        "comet",
        name=output.name, base=base, kind="causal" if isinstance(writer, CausalWriter) else "sequence-to-sequence",
        trained=f"the top {layers} layers" if layers else "all layers", steps=plan.steps, recipe=recipe.to_toml(),
        triples=len(rows), heads=len({head for head, _, _ in rows}), graph=graph or "not named", digest=digest,
        relations=", ".join(relations), first=watch.first, last=watch.last,
    )  # fmt: skip
    write_model(writer.model.half() if isinstance(writer, CausalWriter) else writer.model, writer.tokenizer, card, output)
    return {
        "triples": len(rows),
        "relations": relations,
        "began_at": state.began,
        "steps": plan.steps,
        "first_loss": watch.first,
        "last_loss": watch.last,
    }


def _name_relations(writer: Seq2SeqWriter, relations: Sequence[str]) -> None:
    """Add relations to the vocabulary as tokens; a causal model reads their names as text."""
    tokenizer = writer.tokenizer
    if tokenizer.add_tokens([token for token in (GENERATE, *relations) if len(tokenizer.tokenize(token)) > 1]):
        with quiet():
            writer.model.resize_token_embeddings(len(tokenizer))


def _choose(writer: Seq2SeqWriter | CausalWriter, layers: int | None) -> None:
    """Freeze all but the top ``layers``."""
    if layers is None:
        return
    if isinstance(writer, Seq2SeqWriter):
        raise InputError("layers applies to causal models; leave it out for a sequence-to-sequence model")
    learn_on_top(writer.model, layers)


def _loss(
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
