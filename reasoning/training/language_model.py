"""Training a causal language model on dialogue transcripts, for the metric ``expectation``.

Dialogues are cut at random into windows of one to five turns, in the transcript form of the metric: windows of one turn train the
probability of a turn without history, longer ones its probability after the history. The loss is over all tokens. Only the top
layers are trained by default: most of the gain is in adapting to the style, and training them takes far less time on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError
from ..metrics.coherence.parts import RECENT
from ..models.batching import padded, together
from ..models.causal_lm import CausalModel, open_causal
from ..models.hub import need
from ..models.layers import count_layers, learn_on_top
from ..text.turns import one_line, transcript
from .card import again, render
from .corpora import Dialogue, hold_out
from .loop import Loss, Plan, check_output, digest_of, run_training, write_model
from .recipe import LanguageModelRecipe, ResponderRecipe

_LONGEST = 256
_POOL = 512
_EVALUATED = 200
_AT_ONCE = 40
_LEARNING = 0.4
_CHARACTERS = 8  # more than a token has on average, so that there are enough windows

#: Called with the name of the stage, the amount done, and the total.
Progress = Callable[[str, int, int], object]
Batch = list[list[int]]


def train_language_model(
    corpora: Mapping[str, Sequence[Dialogue]],
    model: str | Path,
    output: Path,
    recipe: LanguageModelRecipe | None = None,
    *,
    device: str | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Train a causal language model and write it to the folder ``output`` with its card; an interrupted run is continued.

    Return facts about the run, with nats per token on held-out turns before and after.

    Args:
        corpora: distinct dialogues of two turns or more; see :func:`tacit.reasoning.training.corpora.distinct_dialogues`. With
            the same order and seed, the dialogues held out by :func:`~tacit.reasoning.training.coherence.train_coherence` are
            held out here too.
        model: the initial model: a folder that transformers saved, a GGUF file, or an id of the hub.
        facts: ``command`` for the card.
        progress: called with the name of the stage, the amount done, and the total.
    """
    recipe = recipe or LanguageModelRecipe()
    training = DialogueTraining(corpora, model, output, recipe, device)
    opened = training.opened
    opened.check_spans()
    turns = _held_out_turns(training.held, np.random.default_rng(recipe.seed))
    batches = _batches(opened, training.learnt, recipe, training.random)
    found, before, after = training.run(
        opened.model, _loss(opened, batches, training.half), len(batches), output, lambda done: _nats(opened, turns, done),
        len(turns), progress,
    )  # fmt: skip
    training.write(output, "language_model", facts or {}, tokens=recipe.tokens, before=before, after=after, evaluated=len(turns))
    return {"dialogues": len(training.learnt), **found, "nats_before": before, "nats_after": after}


class DialogueTraining:
    """The training of a causal language model on dialogues: its data, its trained layers, and what precedes and follows it.

    Attributes:
        opened: the model; half: whether it is trained in bfloat16.
        learnt, held: the dialogues to train on, and those that are held out.
        random: generator, after the held-out dialogues were drawn.
    """

    def __init__(
        self,
        corpora: Mapping[str, Sequence[Dialogue]],
        model: str | Path,
        output: Path,
        recipe: LanguageModelRecipe | ResponderRecipe,
        device: str | None,
    ) -> None:
        """Check the recipe and ``output``, hold out dialogues, open the model and choose the trained layers."""
        recipe.check()
        self.recipe = recipe
        check_output(output, model)
        self.random = np.random.default_rng(recipe.seed)
        splits = hold_out(corpora, self.random)
        self.corpora = list(splits)
        self.learnt = [turns for split in splits.values() for turns in split.learnt]
        self.held = [turns for split in splits.values() for turns in split.held]
        self.opened = open_causal(model, device=device)
        layers = math.ceil(_LEARNING * count_layers(self.opened.model)) if recipe.layers is None else recipe.layers
        self.layers = len(learn_on_top(self.opened.model, layers))
        self.half = self.opened.model.device.type != "cpu" if recipe.dtype is None else recipe.dtype == "bfloat16"
        self.digest = digest_of(self.learnt)

    def run(
        self,
        module: Any,
        loss: Loss,
        batches: int,
        output: Path,
        evaluate: Callable[[Callable[[int], object]], float],
        turns: int,
        progress: Progress,
    ) -> tuple[dict[str, Any], float, float]:
        """Train, and return the facts of the run with the measure of ``evaluate`` on so many held-out ``turns`` before and
        after."""
        before = evaluate(lambda done: progress("evaluating before training", done, turns))
        recipe, model = self.recipe, self.opened
        plan = Plan(recipe.steps, 1, recipe.rate, recipe.seed, recipe.checkpoint_every)
        data = {"examples": self.digest, "model": model.files.digest, "half": self.half, "recipe": asdict(recipe)}
        found = run_training(
            module, loss, batches, plan, output, data=data, progress=lambda step, steps, _: progress("training", step, steps)
        )
        for weight in model.model.parameters():  # rounded as they are saved
            weight.data = weight.data.half().float()
        return found, before, evaluate(lambda done: progress("evaluating after training", done, turns))

    def write(self, output: Path, card: str, facts: Mapping[str, Any], **values: Any) -> None:
        """Write the model with the card of the template ``card``."""
        files, recipe = self.opened.files, self.recipe
        text = render(
            card, name=output.name, base=f"{files.name}, content `{files.digest}`", layers=self.layers, steps=recipe.steps,
            dialogues=len(self.learnt), corpora=", ".join(self.corpora), digest=self.digest, recent=RECENT,
            command=again(facts.get("command", f"tacit train {card.replace('_', '-')}")), recipe=recipe.portable().to_toml(),
            licence=recipe.licence or "that of the model it began as, and of the dialogues", **values,
        )  # fmt: skip
        write_model(self.opened.model.half(), self.opened.tokenizer, text, output)


def windows(dialogues: Sequence[Dialogue], random: np.random.Generator) -> list[str]:
    """Return dialogues cut into windows of one to five turns, as transcripts that end with a turn of the first speaker."""
    found = []
    for turns in dialogues:
        start = 0
        while start < len(turns):
            window = turns[start : start + int(random.integers(1, RECENT + 2))]
            found.append(f"{transcript(window[:-1])} {one_line(window[-1])}\n")
            start += len(window)
    return found


def _batches(
    model: CausalModel, dialogues: Sequence[Dialogue], recipe: LanguageModelRecipe, random: np.random.Generator
) -> list[Batch]:
    """Batches of windows as token ids, each of similar length within a random pool; as many as the steps can use, or all."""
    texts = windows(dialogues, random)
    texts = [texts[place] for place in random.permutation(len(texts)).tolist()]
    taken = accumulate((min(len(text), _LONGEST * _CHARACTERS) for text in texts), initial=0)
    texts = [text for text, before in zip(texts, taken, strict=False) if before < recipe.steps * recipe.tokens * _CHARACTERS]
    rows = [[model.begin, *row][: min(_LONGEST, model.max_length)] for row in model.tokens(texts)]
    pools = [rows[start : start + _POOL] for start in range(0, len(rows), _POOL)]
    return [[pool[place] for place in places] for pool in pools for places in together([len(row) for row in pool], recipe.tokens)]


def _loss(model: CausalModel, batches: Sequence[Batch], half: bool) -> Callable[[Sequence[int], np.random.Generator], Any]:
    """Return a function from the number of a batch to its mean loss over all tokens but the first of each window."""
    torch = need("torch", "neural")
    device = model.model.device

    def loss(numbers: Sequence[int], _: np.random.Generator) -> Any:
        ids, inside = (torch.from_numpy(array).to(device) for array in padded(batches[numbers[0]], model.begin))
        with torch.autocast(device.type, torch.bfloat16, enabled=half):  # no mask is needed: padding follows each window
            states = model.body(input_ids=ids, use_cache=False)[0][:, :-1][inside[:, 1:]]
            logits = model.head(states)
        return torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:][inside[:, 1:]])

    return loss


def _held_out_turns(held: Sequence[Dialogue], random: np.random.Generator) -> list[tuple[str, str]]:
    """Turns of held-out dialogues, with their histories as transcripts."""
    places = [(turns, number) for turns in held for number in range(1, len(turns))]
    chosen = sorted(random.permutation(len(places))[:_EVALUATED].tolist())
    return [(transcript(turns[max(0, n - RECENT) : n]), f" {one_line(turns[n])}") for turns, n in (places[c] for c in chosen)]


def _nats(model: CausalModel, turns: Sequence[tuple[str, str]], progress: Callable[[int], object]) -> float:
    """Mean loss per token of the turns, in nats; ``progress`` is called with the number done."""
    found = []
    for start in range(0, len(turns), _AT_ONCE):
        some = turns[start : start + _AT_ONCE]
        found += model.token_losses([before for before, _ in some], [turn for _, turn in some])
        progress(len(found))
    losses = np.concatenate([one.losses for one in found])
    if not len(losses):
        raise InputError("no held-out turn has a token of the model's vocabulary; give other dialogues")
    return float(losses.mean())
