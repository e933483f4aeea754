"""Training a KG-BERT (Yao et al., 2019): a classifier learns to separate the triples of a graph from corrupted ones.

A corrupted triple has the head or the tail of another triple of the same relation; one that is in the graph is drawn again, at
most five times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..metrics.accent.scorers.kgbert import MAX_LENGTH, classifier_input
from ..models.cross_encoder import with_new_head
from ..models.hub import find_model, need
from .card import render
from .loop import Losses, Progress, checkpoints_of, digest_of, fit, prepare, write_model
from .recipe import TripleRecipe

Triple = tuple[str, str, str]

_TRIES = 5


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
    """Train a triple classifier and write it to the folder ``output`` with its card.

    Arguments and errors are those of :func:`tacit.reasoning.training.comet.train_comet`.
    """
    recipe = recipe or TripleRecipe()
    rows, plan = prepare(triples, model, output, recipe, least=2)
    torch = need("torch", "neural")
    files = find_model(model)
    with torch.random.fork_rng():
        torch.manual_seed(plan.seed)  # for the random weights of the new head
        opened, tokenizer = with_new_head(files, 2, device)
    watch = Losses(plan, progress)
    digest = digest_of(rows)
    state = fit(
        opened,
        _loss(opened, tokenizer, rows),
        len(rows),
        plan,
        checkpoints_of(output),
        data=f"{digest} {files.digest}",
        progress=watch,
    )
    base = Path(model).name if Path(model).is_dir() else str(model)
    card = render(
        "kgbert",
        name=output.name, base=base, steps=plan.steps, recipe=recipe.to_toml(), triples=len(rows),
        graph=graph or "not named", digest=digest, first=watch.first, last=watch.last,
    )  # fmt: skip
    write_model(opened, tokenizer, card, output)
    return {
        "triples": len(rows), "began_at": state.began, "steps": plan.steps, "first_loss": watch.first, "last_loss": watch.last,
    }  # fmt: skip


def _loss(model: Any, tokenizer: Any, rows: Sequence[Triple]) -> Callable[[Sequence[int], np.random.Generator], Any]:
    """Return a function from the numbers of a batch to the loss of its triples, each with a corrupted one."""
    torch = need("torch", "neural")
    known = set(rows)
    by_relation: dict[str, list[int]] = {}
    for number, (_, relation, _) in enumerate(rows):
        by_relation.setdefault(relation, []).append(number)

    def made_up(row: Triple, random: np.random.Generator) -> Triple:
        like = by_relation[row[1]]
        head, other = bool(random.integers(2)), row
        for _ in range(_TRIES):
            chosen = rows[like[int(random.integers(len(like)))]]
            other = (chosen[0], row[1], row[2]) if head else (row[0], row[1], chosen[2])
            if other not in known:
                break
        return other

    def loss(batch: Sequence[int], random: np.random.Generator) -> Any:
        true = [rows[number] for number in batch]
        texts = [classifier_input(row, tokenizer.sep_token) for row in [*true, *(made_up(row, random) for row in true)]]
        given = tokenizer(texts, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt", verbose=False)
        labels = torch.tensor([1] * len(true) + [0] * len(true))
        parts = {name: value.to(model.device) for name, value in given.items()}
        return model(**parts, labels=labels.to(model.device)).loss

    return loss
