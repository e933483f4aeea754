"""Training the extractor of event tuples of ACCENT: a sequence-to-sequence model, fine-tuned on DECO's annotated tuples.

The settings are those of the authors of ACCENT. Every annotated
tuple is an example: the prompt of its relation, and the tuple as answer. For each relation a few dialogues without an annotated
tuple are examples of the answer ``None``. AdamW with linear decay, batches of four, fifty epochs; the seed determines the
``None`` examples, the order and the dropout, so one seed on one machine gives one model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...graph.errors import InputError
from ...graph.item import Item
from ..metrics.accent.events import RELATIONS
from ..metrics.accent.extractors.t5 import NONE, answer, prompt, within
from ..models.hub import find_model, open_model
from ..models.writers import GenerationLimits, Seq2SeqWriter
from .card import again, render
from .checkpoints import checkpoints_of
from .loop import CARD, Plan, Progress, check_output, examples_digest, fit, write_model
from .recipe import ExtractorRecipe

RECORD = "accent.json"


class Row(Protocol):
    """A response with annotated tuples: head, relation, tail, and possibly further fields."""

    @property
    def history(self) -> Sequence[str]: ...
    @property
    def response(self) -> str: ...
    @property
    def tuples(self) -> Sequence[Sequence[str]]: ...


class Example(NamedTuple):
    """A prompt and its target output."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class TrainedExtractor:
    """The record of a training run."""

    model: str  # the model that was fine-tuned
    dialogues: int  # dialogues, tuples, none_examples: numbers of examples
    tuples: int
    none_examples: int
    loss: float  # mean negative log-likelihood per token of the answers over the batches of the last epoch, in nats
    recipe: dict[str, Any]  # settings of the training
    digest: str  # of the weights, configuration and tokenizer


def examples_of(
    rows: Sequence[Row], *, none_examples: int = 5, seed: int = 42, fit: Callable[[Item], Item] = lambda item: item
) -> list[Example]:
    """Return the examples by relation: all tuples of the twelve, then up to ``none_examples`` dialogues without one, all cut
    by ``fit``."""
    if none_examples < 0:
        raise InputError(f"none_examples is {none_examples}; it must be >= 0")
    items = [fit(Item(row.history, row.response)) for row in rows]
    rng = random.Random(seed)
    result = []
    for relation in RELATIONS:
        without = []
        for row, item in zip(rows, items, strict=True):
            own = [event_tuple for event_tuple in row.tuples if event_tuple[1] == relation]
            result += [Example(prompt(relation, item), answer(event_tuple[0], event_tuple[2])) for event_tuple in own]
            if not own:
                without.append(item)
        drawn = rng.sample(without, min(none_examples, len(without)))
        result += [Example(prompt(relation, item), NONE) for item in drawn]
    if all(example.target == NONE for example in result):
        raise InputError("there is no event tuple to train on; give rows with tuples")
    return result


def train_extractor(
    rows: Sequence[Row],
    model: str | Path,
    output: Path | str,
    recipe: ExtractorRecipe | None = None,
    *,
    device: str | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> TrainedExtractor:
    """Fine-tune the sequence-to-sequence ``model`` on tuples and write it to ``output`` with its card, or continue such a run."""
    folder = Path(output)
    check_output(folder, model, RECORD, "an extractor")
    recipe = recipe or ExtractorRecipe()
    recipe.check()
    files = find_model(model)
    opened, tokenizer = open_model("AutoModelForSeq2SeqLM", files, device=device, dtype="float32")

    def size(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    examples = examples_of(
        rows, none_examples=recipe.none_examples, seed=recipe.seed, fit=lambda item: within(item, size, recipe.max_length)
    )
    steps_an_epoch = -(-len(examples) // min(recipe.batch_size, len(examples)))
    steps = steps_an_epoch * recipe.epochs
    plan = Plan(steps, recipe.batch_size, recipe.rate, recipe.seed, warmup=0.0, decay=0.0, evaluate_every=steps_an_epoch)
    data = {"examples": examples_digest([(example.source, example.target) for example in examples]), "model": files.digest}
    writer = Seq2SeqWriter(opened, tokenizer, GenerationLimits(2 * recipe.max_length, longest=recipe.max_length))

    def loss_of(batch: Sequence[int], _: np.random.Generator) -> Any:
        chosen = [examples[number] for number in batch]
        return writer.loss([example.source for example in chosen], [example.target for example in chosen])

    state = fit(opened, loss_of, len(examples), plan, checkpoints_of(folder), data=data, progress=progress)
    loss = state.curve[-1]["loss"]
    empty = sum(example.target == NONE for example in examples)
    values = asdict(TrainedExtractor(files.name, len(rows), len(examples) - empty, empty, loss, asdict(recipe), digest=""))
    known = {"command": "tacit train accent", "files": (), **(facts or {})}

    def texts(saved: Path) -> dict[str, str]:
        values["digest"] = find_model(saved).digest
        card = render(
            "accent", **{**values, "recipe": recipe.to_toml()}, none_each=recipe.none_examples, files=known["files"],
            command=again(known["command"]),
        )  # fmt: skip
        return {CARD: card, RECORD: json.dumps(values, indent=1) + "\n"}

    write_model(opened, tokenizer, texts, folder)
    return TrainedExtractor(**values)
