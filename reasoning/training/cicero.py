"""Training models on CICERO: to write answers to its questions, or to choose among given ones (Ghosal et al., ACL 2022).

Sequence-to-sequence and causal models write in both tasks; an encoder reads a question with each choice and gives it a number.
The texts are those of :mod:`tacit.reasoning.inference.inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError, ModelError
from ...graph.questions import Instance
from ..inference.inputs import SUBTASKS, choice_input, choice_output, generation_examples, question_input, subtask_of
from ..inference.trained import RECORD, Opened, Record, ScoringEncoder, fits_in, kind_of, open_for, prompt_for
from ..models.hub import find_model, need
from ..models.writers import CausalWriter
from .card import again, render
from .loop import CARD, Plan, Progress, base_name, check_output, examples_digest, run_training, write_model
from .recipe import CiceroRecipe

TASKS = ("generate", "choose")

Rows = list[tuple[str, ...]]
"""What a model reads and writes: a source and its answer; for encoders a question, its right choices, a blank, the wrong ones."""

_PUBLISHED = "CICERO's annotations: MIT; its dialogues: DailyDialog CC BY-NC-SA 4.0, MuTual and DREAM for research only"


def train_cicero(
    instances: Sequence[Instance],
    model: str | Path,
    output: Path,
    recipe: CiceroRecipe | None = None,
    *,
    task: str,
    device: str | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a model and write it to the folder ``output`` with its card; an interrupted run is continued. Return facts about the
    run.

    Args:
        instances: with right answers; those without give no example.
        model: the initial model, sequence-to-sequence or causal, for ``choose`` also an encoder: a folder that transformers
            saved, an id of the hub, or the GGUF file of a causal model.
        task: ``generate`` or ``choose``.
        facts: ``command`` and ``files`` for the card.
    """
    recipe = recipe or CiceroRecipe()
    recipe.check()
    if task not in TASKS:
        raise InputError(f"unknown task {task!r}; choose from {', '.join(TASKS)}")
    subtasks = SUBTASKS if recipe.subtasks == "all" else tuple(subtask_of(name.strip()) for name in recipe.subtasks.split(","))
    check_output(output, model)
    known = [
        instance
        for instance in instances
        if instance.correct and (task == "generate" or len(instance.correct) < len(instance.choices))
    ]
    if not known:
        raise InputError("no instance has right answers to train on; give CICERO's records with Correct Answers")
    need("torch", "neural")
    files = find_model(model, gguf=True)
    record = Record(task, kind_of(files), recipe.answers, recipe.source)
    if record.kind == "encoder" and task == "generate":
        raise ModelError(
            f"the model {files.requested!r} is an encoder, which writes nothing; give another kind, or --task choose"
        )
    opened = open_for(files, record, device=device, seed=recipe.seed)
    fits = fits_in(opened.tokenizer, recipe.source)
    if task == "generate":
        rows: Rows = [
            (instance.source, text) for instance in generation_examples(known, subtasks, fits=fits) for text in instance.answers
        ]
    elif isinstance(opened, ScoringEncoder):
        rows = [
            _judged(instance, recipe.answers, question_input(instance.question, instance.target, instance.dialogue, fits=fits))
            for instance in known
        ]
    else:
        rows = [
            (choice_input(instance, fits=fits), choice_output(_right_answers(instance, recipe.answers))) for instance in known
        ]
    if not rows:
        raise InputError(f"the instances have no example of {', '.join(subtasks)}; give others, or other subtasks in the recipe")
    steps = recipe.epochs * -(-len(rows) // min(recipe.batch_size, len(rows)))
    plan = Plan(
        steps, recipe.batch_size, recipe.rate, recipe.seed, recipe.checkpoint_every, schedule="constant", warmup=0.0, decay=0.0,
        optimizer=recipe.optimizer,
    )  # fmt: skip
    digest = examples_digest(rows)
    data = {"examples": digest, "model": files.digest, "record": record.to_json()}
    run = run_training(opened.model, _loss(opened, rows, recipe.answers), len(rows), plan, output, data=data, progress=progress)
    result = {"task": task, "kind": record.kind, "instances": len(known), "examples": len(rows), **run}
    card_facts = {"command": "tacit train cicero", "files": (), **(facts or {})}
    card = render(
        "cicero", name=output.name, base=base_name(model), content=files.digest, subtasks=", ".join(subtasks),
        answers=recipe.answers, digest=digest, dialogues=len({instance.id for instance in known}),
        files=card_facts["files"], command=again(str(card_facts["command"])), recipe=recipe.to_toml(),
        licence=recipe.licence or f"that of the initial model, and of the data ({_PUBLISHED})", **result,
    )  # fmt: skip
    saved = opened.model.half() if isinstance(opened, CausalWriter) else opened.model
    write_model(saved, opened.tokenizer, {CARD: card, RECORD: record.to_json()}, output)
    return result


def _right_answers(instance: Instance, answers: str) -> tuple[str, ...]:
    """Return the texts of the right choices; of a single one: what people wrote, else the first."""
    right = instance.correct if answers == "all" else (instance.human or instance.correct)[:1]
    return tuple(instance.choices[index] for index in right)


def _judged(instance: Instance, answers: str, source: str) -> tuple[str, ...]:
    wrong = (choice for index, choice in enumerate(instance.choices) if index not in instance.correct)
    return (source, *_right_answers(instance, answers), "", *wrong)


def _loss(opened: Opened, rows: Rows, answers: str) -> Callable[[Sequence[int], np.random.Generator], Any]:
    """Return a function from the numbers of a batch to its mean loss.

    Of texts: per token. Of an encoder: cross-entropy of the right choice among all, or binary cross-entropy of each choice where
    all right ones are asked for.
    """
    torch = need("torch", "neural")
    if not isinstance(opened, ScoringEncoder):

        def written(batch: Sequence[int], _: np.random.Generator) -> Any:
            chosen = [rows[number] for number in batch]
            return opened.loss([prompt_for(opened, row[0]) for row in chosen], [row[1] for row in chosen])

        return written

    def judged(batch: Sequence[int], _: np.random.Generator) -> Any:
        pairs, labels, sizes = [], [], []
        for source, *texts in (rows[number] for number in batch):
            right = texts.index("")
            choices = [text for text in texts if text]
            pairs += [(source, choice) for choice in choices]
            labels += [float(index < right) for index in range(len(choices))]
            sizes.append(len(choices))
        logits = opened.logits(pairs)
        if answers == "all":
            return torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(labels, device=logits.device))
        first = torch.zeros(1, dtype=torch.long, device=logits.device)
        losses = [torch.nn.functional.cross_entropy(part[None], first) for part in logits.split(sizes)]
        return torch.stack(losses).mean()

    return judged
