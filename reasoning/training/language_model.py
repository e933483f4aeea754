"""Training a causal language model on dialogue transcripts, for the metric ``expectation``.

Dialogues are cut at random into windows of one to five turns, in the transcript form of the metric: windows of one turn train the
probability of a turn without history, longer ones its probability after the history. The loss is over all tokens. Only the top
layers are trained by default: most of the gain is in adapting to the style, and training them takes far less time on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
from .loop import Losses, Plan, check_output, checkpoints_of, digest_of, fit, write_model
from .recipe import LanguageModelRecipe

_LONGEST = 256
_POOL = 512
_ASKED = 200
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

    Args:
        corpora: distinct dialogues of two turns or more; see :func:`tacit.reasoning.training.corpora.distinct_dialogues`. With
            the same order and seed, the dialogues held out by :func:`~tacit.reasoning.training.coherence.train_coherence` are
            held out here too.
        model: the initial model: a folder that transformers saved, a GGUF file, or an id of the hub.
        recipe: settings of the training.
        facts: ``command`` for the card.
        progress: called with the name of the stage, the amount done, and the total.

    Returns:
        Facts about the run: dialogues trained on, steps, its first step, mean losses of the first and last tenth of the steps,
        and nats per token on held-out turns before and after.

    Raises:
        InputError: a corpus has too few dialogues, ``output`` holds something else, or the recipe or the layers are out of range.
        ModelError: the model cannot be opened, or its loss is not finite.
        MissingExtra: torch or transformers is not installed, or the reader of GGUF files.
    """
    recipe = recipe or LanguageModelRecipe()
    recipe.check()
    plan = Plan(recipe.steps, 1, recipe.rate, recipe.seed, recipe.checkpoint_every)
    check_output(output, model)
    random = np.random.default_rng(recipe.seed)
    splits = hold_out(corpora, random)
    opened = open_causal(model, device=device)
    opened.check_spans()
    layers = math.ceil(_LEARNING * count_layers(opened.model)) if recipe.layers is None else recipe.layers
    learning = learn_on_top(opened.model, layers)
    learnt = [turns for split in splits.values() for turns in split.learnt]
    asked = _asked([turns for split in splits.values() for turns in split.held], np.random.default_rng(recipe.seed))
    half = opened.model.device.type != "cpu" if recipe.dtype is None else recipe.dtype == "bfloat16"
    before = _nats(opened, asked, lambda done: progress("asking before", done, len(asked)))
    batches = _batches(opened, learnt, recipe, random)
    digest = digest_of(learnt)
    data = f"{digest} {recipe} {half} {opened.files.digest}"
    watch = Losses(plan, lambda step, steps, _: progress("training", step, steps))
    state = fit(opened.model, _loss(opened, batches, half), len(batches), plan, checkpoints_of(output), data=data, progress=watch)
    for weight in opened.model.parameters():  # rounded as they are saved
        weight.data = weight.data.half().float()
    after = _nats(opened, asked, lambda done: progress("asking after", done, len(asked)))
    card = render(
        "language_model", name=output.name, base=f"{opened.files.name}, content `{opened.files.digest}`", layers=len(learning),
        dialogues=len(learnt), corpora=", ".join(splits), steps=recipe.steps, tokens=recipe.tokens,
        digest=digest, before=before,
        after=after, asked=len(asked), recent=RECENT, command=again((facts or {}).get("command", "tacit train language-model")),
        recipe=recipe.to_toml(), licence=recipe.licence or "that of the model it began as, and of the dialogues",
    )  # fmt: skip
    write_model(opened.model.half(), opened.tokenizer, card, output)
    return {
        "dialogues": len(learnt), "steps": recipe.steps, "began_at": state.began,
        "first_loss": watch.first, "last_loss": watch.last, "nats_before": before, "nats_after": after,
    }  # fmt: skip


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
    """Batches of windows as token ids, each of similar length within a random pool of some hundreds.

    As many as the steps can use, or all.
    """
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


def _asked(held: Sequence[Dialogue], random: np.random.Generator) -> list[tuple[str, str]]:
    """Turns of held-out dialogues, with their histories as transcripts."""
    places = [(turns, number) for turns in held for number in range(1, len(turns))]
    chosen = sorted(random.permutation(len(places))[:_ASKED].tolist())
    return [(transcript(turns[max(0, n - RECENT) : n]), f" {one_line(turns[n])}") for turns, n in (places[c] for c in chosen)]


def _nats(model: CausalModel, asked: Sequence[tuple[str, str]], told: Callable[[int], object]) -> float:
    """Mean loss per token of the turns; ``told`` is called with the number done."""
    found = []
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        found += model.token_losses([before for before, _ in some], [turn for _, turn in some])
        told(len(found))
    losses = np.concatenate([one.losses for one in found])
    if not len(losses):
        raise InputError("no held-out turn has a token of the model's vocabulary; give other dialogues")
    return float(losses.mean())
