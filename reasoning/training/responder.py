"""Training a causal language model to respond: language modelling of true responses, and choosing them among distractors.

The two losses are those of Wolf et al., "TransferTransfo" (2019): the mean negative log-likelihood of the response's tokens, and
the cross-entropy of the true response among distractors, turns of other dialogues, by a linear layer over the last token's
hidden state. The layer is trained with the model and not saved, since responding does not need it. An example is a turn with up
to four turns of history as a transcript. Only the top layers are trained by default: most of the gain is in adapting to the
style, and training them takes far less time on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...graph.errors import InputError
from ..models.batching import padded, target_mask
from ..models.causal_lm import CausalModel, open_causal
from ..models.hub import need
from ..models.layers import count_layers, train_top_layers_only
from ..response.responder import Turn, encode_turns, measure
from ..text.turns import RECENT
from .card import again, licences_of, render
from .checkpoints import StageProgress
from .corpora import Dialogue, hold_out
from .loop import CARD, Plan, check_output, examples_digest, run_training, write_model
from .recipe import ResponderRecipe

_POOL = 64  # batches among which examples of similar length are put together
_LEARNING = 0.4  # share of the layers that are trained by default


class Example(NamedTuple):
    """Token ids of the true response after its history, first, and of the distractors after it; where each response begins."""

    rows: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]


def train_responder(
    corpora: Mapping[str, Sequence[Dialogue]],
    model: str | Path,
    output: Path,
    recipe: ResponderRecipe | None = None,
    *,
    device: str | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: StageProgress = lambda *_: None,
) -> dict[str, Any]:
    """Train a causal language model to respond, and write it with its card to ``output``; an interrupted run is continued.

    Return facts about the run, with the perplexity on held-out turns before and after, and the share of these that are chosen
    among distractors.

    Args:
        corpora: distinct dialogues of two turns or more; see :func:`tacit.reasoning.training.corpora.distinct_dialogues`. With
            the same order and seed, the dialogues held out by :func:`~tacit.reasoning.training.coherence.train_coherence` are
            held out here too.
        model: the initial model: a folder that transformers saved, a GGUF file, or an id of the hub.
        facts: ``command`` for the card.
    """
    recipe = recipe or ResponderRecipe()
    recipe.check()
    check_output(output, model)
    random = np.random.default_rng(recipe.seed)
    splits = hold_out(corpora, random)
    train = [turns for split in splits.values() for turns in split.train]
    held_out = [turns for split in splits.values() for turns in split.held_out]
    opened = open_causal(model, device=device)
    layers = math.ceil(_LEARNING * count_layers(opened.model)) if recipe.layers is None else recipe.layers
    trained = train_top_layers_only(opened.model, layers)
    half = opened.model.device.type != "cpu" if recipe.dtype is None else recipe.dtype == "bfloat16"
    choosing = _choosing(opened, recipe.seed)
    number = recipe.steps * recipe.batch_size
    batches = _batches(examples(opened, _places(train, random, number), train, recipe, random), recipe.batch_size)
    positions = _places(held_out, np.random.default_rng(recipe.seed), recipe.evaluation_turns)
    tested = examples(opened, positions, held_out, recipe, np.random.default_rng(recipe.seed))
    turns = [Turn(dialogue[:index], dialogue[index]) for dialogue, index in positions]

    def perplexity(when: str) -> float:
        return measure(opened, turns, lambda done: progress(f"evaluating {when} training", done, len(turns))).value

    before = perplexity("before")
    digest = examples_digest(train)
    data = {"examples": digest, "model": opened.files.digest, "half": half, "recipe": asdict(recipe)}
    run = run_training(
        choosing, _loss(opened, choosing, batches, recipe, half), len(batches),
        Plan(recipe.steps, 1, recipe.rate, recipe.seed, recipe.checkpoint_every), output, data=data,
        progress=lambda step, steps, _: progress("training", step, steps),
    )  # fmt: skip
    for weight in opened.model.parameters():  # rounded as they are saved
        weight.data = weight.data.half().float()
    after = perplexity("after")
    chosen = _chosen(opened, choosing, tested) if recipe.distractors else None
    card = render(
        "responder", name=output.name, base=f"{opened.files.name}, content `{opened.files.digest}`", layers=len(trained),
        steps=recipe.steps, batch=recipe.batch_size, distractors=recipe.distractors, dialogues=len(train),
        corpora=", ".join(splits), digest=digest, recent=RECENT, before=before, after=after, evaluated=len(turns), chosen=chosen,
        command=again((facts or {}).get("command", "tacit train responder")), recipe=recipe.portable().to_toml(),
        licence=recipe.licence or "that of the model it began as, and of the dialogues", stated=licences_of(splits),
    )  # fmt: skip
    write_model(opened.model.half(), opened.tokenizer, {CARD: card}, output)
    return {
        "dialogues": len(train), "turns": sum(len(dialogue) - 1 for dialogue in train), **run, "perplexity_before": before,
        "perplexity_after": after, "chosen": chosen,
    }  # fmt: skip


def examples(
    model: CausalModel,
    positions: Sequence[tuple[Dialogue, int]],
    dialogues: Sequence[Dialogue],
    recipe: ResponderRecipe,
    random: np.random.Generator,
) -> list[Example]:
    """Return the turns at ``positions`` as examples, each with distractors drawn from the turns of other ``dialogues``."""
    if recipe.distractors and len(dialogues) < 2:
        raise InputError("distractors are turns of other dialogues; give two dialogues or more, or distractors = 0")
    turns = []
    for dialogue, index in positions:
        history = dialogue[:index]
        turns.append(Turn(history, dialogue[index]))
        for _ in range(recipe.distractors):
            other_dialogue = dialogue
            while other_dialogue is dialogue:
                other_dialogue = dialogues[int(random.integers(len(dialogues)))]
            turns.append(Turn(history, other_dialogue[int(random.integers(1, len(other_dialogue)))]))
    rows = encode_turns(model, turns, recipe.longest)
    number = recipe.distractors + 1
    blocks = (rows[start : start + number] for start in range(0, len(rows), number))
    return [Example(tuple(ids for ids, _ in block), tuple(start for _, start in block)) for block in blocks]


def _places(dialogues: Sequence[Dialogue], random: np.random.Generator, number: int) -> list[tuple[Dialogue, int]]:
    """At most ``number`` turns with a history, in random order."""
    positions = [(turns, index) for turns in dialogues for index in range(1, len(turns))]
    return [positions[chosen] for chosen in random.permutation(len(positions))[:number].tolist()]


def _batches(examples_to_batch: Sequence[Example], size: int) -> list[list[Example]]:
    """Batches of ``size`` examples of similar length, within pools of some dozens of batches."""
    batches = []
    for start in range(0, len(examples_to_batch), size * _POOL):
        pool = sorted(examples_to_batch[start : start + size * _POOL], key=lambda example: max(map(len, example.rows)))
        batches += [pool[index : index + size] for index in range(0, len(pool), size)]
    return batches


def _choosing(model: CausalModel, seed: int) -> Any:
    """Return a module that holds the model and a linear layer ``choice`` over its hidden states, with seeded weights."""
    torch = need("torch", "neural")
    width = int(model.model.config.get_text_config().hidden_size)
    module = torch.nn.Module()
    module.responder = model.model
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module.choice = torch.nn.Linear(width, 1).to(model.model.device)
        torch.nn.init.normal_(module.choice.weight, std=0.02)
    return module


def _loss(
    model: CausalModel, choosing: Any, batches: Sequence[Sequence[Example]], recipe: ResponderRecipe, half: bool
) -> Callable[[Sequence[int], np.random.Generator], Any]:
    """Return a function from the number of a batch to the weighted sum of its two losses."""
    torch = need("torch", "neural")
    device = model.model.device

    def loss(numbers: Sequence[int], _: np.random.Generator) -> Any:
        batch = batches[numbers[0]]
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            states, ids, inside, ends = _states(model, batch)
            true = np.arange(0, len(ends), recipe.distractors + 1)
            targets = torch.from_numpy(target_mask(inside[true], [example.starts[0] for example in batch])).to(device)
            logits = model.head(states[true][:, :-1][targets])
        result = recipe.language_weight * torch.nn.functional.cross_entropy(logits.float(), ids[true][:, 1:][targets])
        if recipe.distractors:
            right = torch.zeros(len(batch), dtype=torch.long, device=device)
            scores = choosing.choice(ends.float()).view(len(batch), -1)
            result = result + recipe.choice_weight * torch.nn.functional.cross_entropy(scores, right)
        return result

    return loss


def _states(model: CausalModel, batch: Sequence[Example]) -> tuple[Any, Any, Any, Any]:
    """Return the inputs of the head for a batch of token ids, and the states of each last token; padding follows each row."""
    torch, device = need("torch", "neural"), model.model.device
    array, inside = padded([row for example in batch for row in example.rows], model.end)
    ids = torch.from_numpy(array).to(device)
    processes_logits = model.body is model.model  # a model that processes logits further after its head
    out = model.body(input_ids=ids, use_cache=False, output_hidden_states=processes_logits)
    hidden = out.hidden_states[-1] if processes_logits else out[0]
    last = torch.from_numpy(inside.sum(1) - 1).to(device)
    return out[0], ids, inside, hidden[torch.arange(len(last), device=device), last]


def _chosen(model: CausalModel, choosing: Any, tested: Sequence[Example]) -> float:
    """Share of examples whose true response has the highest score."""
    torch = need("torch", "neural")
    right = 0
    for batch in _batches(tested, 8):
        with torch.inference_mode():
            ends = _states(model, batch)[3].float()
            right += int((choosing.choice(ends).view(len(batch), -1).argmax(1) == 0).sum())
    return right / len(tested)
