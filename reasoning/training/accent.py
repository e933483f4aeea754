"""Fine-tuning a sequence-to-sequence model to extract event tuples, as by the authors of ACCENT on DECO's annotated tuples.

Every annotated tuple is an example: the prompt of its relation, and the tuple as answer. For each relation a few dialogues
without an annotated tuple are examples of the answer ``None``. AdamW with linear decay, batches of four, fifty epochs; the seed
determines the ``None`` examples, the order and the dropout, so one seed on one machine gives one model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...graph.atomic import check_folder, new_folder
from ...graph.errors import InputError
from ...graph.item import Item
from ..metrics.accent.events import RELATIONS
from ..metrics.accent.extractors.t5 import NONE, answer, prompt, within
from ..models.hub import find_model, open_model
from ..models.writers import Limits, Seq2SeqWriter
from .card import again, render
from .loop import Plan, checkpoints_of, delete_checkpoints, digest_of, fit
from .recipe import ExtractorRecipe

RECORD = "accent.json"

Progress = Callable[[int, int, float], object]


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
class Trained:
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
    found = []
    for relation in RELATIONS:
        without = []
        for row, item in zip(rows, items, strict=True):
            own = [one for one in row.tuples if one[1] == relation]
            found += [Example(prompt(relation, item), answer(one[0], one[2])) for one in own]
            if not own:
                without.append(item)
        drawn = rng.sample(without, min(none_examples, len(without)))
        found += [Example(prompt(relation, item), NONE) for item in drawn]
    if all(example.target == NONE for example in found):
        raise InputError("there is no event tuple to train on; give rows with tuples")
    return found


def train_extractor(
    rows: Sequence[Row],
    model: str | Path,
    output: Path | str,
    recipe: ExtractorRecipe | None = None,
    *,
    device: str | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Fine-tune the sequence-to-sequence ``model`` on tuples and write it to ``output`` with its card, or continue such a run."""
    place = Path(output)
    check_folder(place, RECORD, "an extractor")
    recipe = recipe or ExtractorRecipe()
    recipe.check()
    files = find_model(model)
    opened, tokenizer = open_model("AutoModelForSeq2SeqLM", files, device=device, dtype="float32")

    def size(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    examples = examples_of(
        rows, none_examples=recipe.none_examples, seed=recipe.seed, fit=lambda item: within(item, size, recipe.max_length)
    )
    each = -(-len(examples) // min(recipe.batch_size, len(examples)))
    plan = Plan(each * recipe.epochs, recipe.batch_size, recipe.rate, recipe.seed, warmup=0.0, decay=0.0, look_every=each)
    read = {"examples": digest_of([(one.source, one.target) for one in examples]), "model": files.digest}
    writer = Seq2SeqWriter(opened, tokenizer, Limits(2 * recipe.max_length, longest=recipe.max_length))

    def loss_of(batch: Sequence[int], _: np.random.Generator) -> Any:
        some = [examples[number] for number in batch]
        return writer.loss([one.source for one in some], [one.target for one in some])

    state = fit(opened, loss_of, len(examples), plan, checkpoints_of(place), data=read, progress=progress)
    loss = state.curve[-1]["loss"]
    empty = sum(example.target == NONE for example in examples)
    trained = Trained(files.name, len(rows), len(examples) - empty, empty, loss, asdict(recipe), digest="")
    return _save(place, opened, tokenizer, trained, recipe, facts or {})


def _save(
    output: Path, model: Any, tokenizer: Any, trained: Trained, recipe: ExtractorRecipe, facts: Mapping[str, Any]
) -> Trained:
    """Write model, card and record to ``output``, replaced atomically."""
    with new_folder(output) as fresh:
        model.save_pretrained(fresh)
        tokenizer.save_pretrained(fresh)
        values = asdict(trained) | {"digest": find_model(fresh).digest}
        (fresh / RECORD).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        card = render(
            "accent",
            **{**values, "recipe": recipe.to_toml()},
            none_each=recipe.none_examples,
            files=facts.get("files", ()),
            command=again(facts.get("command", "tacit train accent")),
        )
        (fresh / "README.md").write_text(card, encoding="utf-8")
    delete_checkpoints(output)
    return Trained(**values)
