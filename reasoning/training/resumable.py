"""A plain training loop for models of transformers that can be stopped and taken up again, with the weights it would have had.

Batches are drawn from a seed and the number of the epoch, so the step alone says where the loop is. A checkpoint holds
weights, optimizer and random state; it lies in a folder beside the output and goes when the output is written. The output
appears whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError, ModelError
from ..extras import need
from ..modelfile import check_folder, new_folder
from ..models import quiet

Progress = Callable[[int, int, float], object]

NOTHING_TO_LEARN = "the graph holds no tails of events to learn from; load ATOMIC with: tacit load atomic2020 FILE --into GRAPH"

_STATE = "state.pt"
_PLAN = "plan.json"
_CLIP = 1.0
_WARM_UP = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is trained.

    Attributes:
        steps: batches to learn from, >= 1; batch_size: examples in each, >= 1.
        rate: the highest learning rate, reached after a tenth of the steps, from where it falls to 0 in a line.
        seed: of the order, the dropout and whatever is drawn.
        keep_every: steps between checkpoints; 0 keeps none.
    """

    steps: int
    batch_size: int = 32
    rate: float = 5e-5
    seed: int = 0
    keep_every: int = 500

    def check(self) -> None:
        """Raise :class:`InputError` when it makes no sense."""
        if self.steps < 1 or self.batch_size < 1 or not self.rate > 0 or self.seed < 0 or self.keep_every < 0:
            raise InputError("training takes 1 step or more of 1 example or more, a rate above 0, and a seed from 0")


def check_output(output: Path, base: str | Path | None = None) -> None:
    """Raise :class:`InputError` unless a model can be written to the folder ``output`` without destroying anything else.

    A model that it holds may be overwritten, but not the one to begin with, ``base``.
    """
    given = None if base is None else Path(base).expanduser()
    if given is not None and given.exists() and given.resolve() == output.resolve():
        raise InputError(f"{output} holds the model to begin with; give another folder for what comes of it")
    check_folder(output, "config.json", "a model")


def fit(
    model: Any,
    loss_of: Callable[[Sequence[int], np.random.Generator], Any],
    examples: int,
    plan: Plan,
    output: Path,
    *,
    data: str,
    progress: Progress | None = None,
) -> int:
    """Train ``model`` in place, from its last checkpoint where there is one of the same plan and data.

    Args:
        loss_of: from the numbers of a batch's examples, and a generator for what it draws, to the loss, a torch scalar.
        examples: how many there are.
        output: the folder that the model will be written to; checkpoints lie beside it.
        data: stands for the examples: a checkpoint of other data is left aside.
        progress: told the step, the number of steps and the loss after each.

    Returns:
        The step that it took up from; 0 for a fresh start.
    """
    torch = need("torch", "neural")
    if not examples:
        raise InputError("there is nothing to train on")
    plan.check()
    torch.manual_seed(plan.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _share(step, plan.steps))
    keeper = _Checkpoints(output, plan, data)
    start = keeper.load(model, optimizer, schedule)
    model.train()
    for step in range(start, plan.steps):
        loss = loss_of(_batch(step, examples, plan), np.random.default_rng([plan.seed, 1, step]))
        if not bool(torch.isfinite(loss)):
            raise ModelError(f"the loss is no number any more at step {step + 1}; give a lower learning rate")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimizer.step()
        schedule.step()
        if plan.keep_every and (step + 1) % plan.keep_every == 0 and step + 1 < plan.steps:
            keeper.save(step + 1, model, optimizer, schedule)
        if progress is not None:
            progress(step + 1, plan.steps, float(loss.detach()))
    model.eval()
    return start


class Losses:
    """Mean losses of the first and the last tenth of the steps, told on as they come."""

    def __init__(self, plan: Plan, progress: Progress | None) -> None:
        self._tenth = max(1, plan.steps // 10)
        self._progress = progress
        self._seen: list[tuple[int, float]] = []

    def __call__(self, step: int, steps: int, loss: float) -> None:
        self._seen.append((step, loss))
        if self._progress is not None:
            self._progress(step, steps, loss)

    @property
    def first(self) -> float:
        """Over the first tenth, as far as it was part of this run; NaN when it was not."""
        return self._mean([loss for step, loss in self._seen if step <= self._tenth])

    @property
    def last(self) -> float:
        """Over the last tenth; NaN when nothing was left to do."""
        return self._mean([loss for _, loss in self._seen[-self._tenth :]])

    def _mean(self, losses: Sequence[float]) -> float:
        return float(np.mean(losses)) if losses else float("nan")


def write_model(model: Any, tokenizer: Any, card: str, output: Path) -> None:
    """Write model, tokenizer and card to the folder ``output``, whole or not at all, and let go of its checkpoints."""
    with new_folder(output) as fresh:
        with quiet():
            model.save_pretrained(fresh)
            tokenizer.save_pretrained(fresh)
        readme = fresh / "README.md"
        readme.write_text(card, encoding="utf-8")
        for file in filter(Path.is_file, fresh.iterdir()):  # some libraries write weights for their owner alone
            file.chmod(readme.stat().st_mode)
    shutil.rmtree(_folder(output), ignore_errors=True)


def digest_of(rows: Sequence[Sequence[str]]) -> str:
    """Return 12 hex digits for examples."""
    hasher = hashlib.sha256()
    for row in rows:
        hasher.update("\t".join(row).encode() + b"\n")
    return hasher.hexdigest()[:12]


class _Checkpoints:
    """The last state of one plan, beside an output."""

    def __init__(self, output: Path, plan: Plan, data: str) -> None:
        self._folder = _folder(output)
        self._plan = json.dumps({**asdict(plan), "data": data}, sort_keys=True)

    def save(self, step: int, model: Any, optimizer: Any, schedule: Any) -> None:
        torch = need("torch", "neural")
        self._folder.mkdir(exist_ok=True)
        fresh = self._folder / f"{_STATE}.{os.getpid()}"
        torch.save(
            {
                "step": step, "plan": self._plan, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "schedule": {"last_epoch": schedule.last_epoch, "_step_count": schedule._step_count},
                "random": torch.get_rng_state(), "on gpus": _on_gpus(torch),
            },
            fresh,
        )  # fmt: skip
        fresh.replace(self._folder / _STATE)

    def load(self, model: Any, optimizer: Any, schedule: Any) -> int:
        """Take up the state, and return its step; 0 when there is none of this plan."""
        torch = need("torch", "neural")
        try:
            state = torch.load(self._folder / _STATE, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, ValueError, EOFError):
            return 0
        if not isinstance(state, dict) or state.get("plan") != self._plan:
            return 0
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.last_epoch = state["schedule"]["last_epoch"]
        schedule._step_count = state["schedule"]["_step_count"]
        torch.set_rng_state(state["random"])
        if len(state["on gpus"]) == len(_on_gpus(torch)) > 0:
            torch.cuda.set_rng_state_all(state["on gpus"])
        return int(state["step"])


def _on_gpus(torch: Any) -> list[Any]:
    """The random states of all GPUs."""
    return list(torch.cuda.get_rng_state_all()) if torch.cuda.is_available() else []


def _folder(output: Path) -> Path:
    return output.with_name(f".{output.name}.checkpoint")


def _share(step: int, steps: int) -> float:
    """The share of the highest rate at ``step``."""
    warm = max(1, round(_WARM_UP * steps))
    return min((step + 1) / warm, (steps - step) / max(1, steps - warm))


def _batch(step: int, examples: int, plan: Plan) -> list[int]:
    """The examples of a step: every one once an epoch, in an order of that epoch's own."""
    size = min(plan.batch_size, examples)
    an_epoch = -(-examples // size)
    epoch, place = divmod(step, an_epoch)
    order = np.random.default_rng([plan.seed, 0, epoch]).permutation(examples)
    chosen: list[int] = order[place * size : (place + 1) * size].tolist()
    return chosen
