"""The training loop of all models trained with torch: order, learning rate, checkpoints, choice of the best weights.

The batch of a step and its random numbers depend on the seed and the number of the step alone, so an interrupted training
continues from its last checkpoint to the weights that it would have had. A checkpoint is one file, replaced atomically, with
weights, optimizer and measurements; it is kept in a folder beside the output and deleted when the output is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.atomic import check_folder, new_file, new_folder
from ...graph.errors import InputError, ModelError
from ..models.hub import need, quiet
from .checkpoints import checkpoints_of, delete_checkpoints

Progress = Callable[[int, int, float], object]
Loss = Callable[[Sequence[int], np.random.Generator], Any]

NOTHING_TO_LEARN = "the graph has no tails of events to train on; load ATOMIC with: tacit load atomic2020 FILE --into GRAPH"

CARD = "README.md"
STATE = "training.pt"
"""File name of a checkpoint."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is trained."""

    steps: int  # optimizer steps, >= 1
    batch_size: int = 32  # examples in each, >= 1
    rate: float = 5e-5  # the highest learning rate
    seed: int = 0  # of order, dropout and the random numbers of the loss
    keep_every: int = 500  # steps between checkpoints; 0: none
    schedule: str = "linear"  # of transformers (`get_scheduler`), such as `linear` or `constant`
    warmup: float = 0.1  # share of the steps in which the rate rises from 0
    decay: float = 0.01  # AdamW's weight decay
    clip: float = 1.0  # largest norm of the gradient; 0: no clipping
    evaluate_every: int = 0  # steps between measurements; 0: none
    optimizer: str = "adamw"  # `adamw` or `adafactor` (Shazeer and Stern, ICML 2018; with the given rate, not a relative one)

    def check(self) -> None:
        """Raise :class:`InputError` when a value is out of its range."""
        if self.steps < 1 or self.batch_size < 1 or not self.rate > 0 or not 0 <= self.warmup <= 1:
            raise InputError("steps and batch size must be >= 1, the learning rate > 0, the warm-up in 0..1")
        if min(self.seed, self.keep_every, self.decay, self.clip, self.evaluate_every) < 0:
            raise InputError("seed, steps between checkpoints, weight decay and clipping must be >= 0")


@dataclass
class State:
    """The progress of a training."""

    step: int = 0  # steps done
    began: int = 0  # the step from which this run continued, 0 for a fresh start
    best: float = float("inf")  # best, best_step: lowest `dev_loss` so far and its step
    best_step: int = 0
    # A row per measurement: `step`, mean `loss` since the one before, and the measured values.
    curve: list[dict[str, float]] = field(default_factory=list)
    losses: tuple[float, int] = (0.0, 0)  # sum and number of the losses since the last measurement
    weights: dict[str, Any] | None = None  # those of `best_step`


def check_output(output: Path, base: str | Path, file: str = "config.json", kind: str = "a model") -> None:
    """Raise :class:`InputError` unless a model can be written to the folder ``output`` without destroying anything else.

    A model of this ``kind``, recognised by its ``file``, may be overwritten, but not the initial model ``base``.
    """
    base_folder = Path(base).expanduser()
    if base_folder.exists() and base_folder.resolve() == output.resolve():
        raise InputError(f"{output} holds the initial model; give another folder for the trained one")
    check_folder(output, file, kind)


def fit(
    model: Any,
    loss_of: Loss,
    examples: int,
    plan: Plan,
    folder: Path | None = None,
    *,
    data: Any = "",
    groups: Sequence[dict[str, Any]] | None = None,
    evaluate: Callable[[], Mapping[str, float]] | None = None,
    progress: Progress | None = None,
) -> State:
    """Train ``model`` in place, from the checkpoint in ``folder`` if it has the same plan and data.

    The model is left in evaluation mode, with the weights of the lowest ``dev_loss`` if that was measured.

    Args:
        model: a torch module.
        loss_of: from the indices of a batch's examples, and a random generator, to their mean loss, a torch scalar.
        examples: their number; 1 where the loss draws its own.
        folder: for checkpoints; None keeps none.
        data: identifies the examples and all else that the result depends on, as JSON values; a checkpoint of other data is
            ignored.
        groups: parameter groups for AdamW, by default all of the model's parameters.
        evaluate: measures the model in evaluation mode, every ``plan.evaluate_every`` steps and at the end.
        progress: called after each step with its number, the number of steps and the loss.

    Raises:
        InputError: there are no examples, or the plan is out of range.
        ModelError: the loss is not finite, or the checkpoint is damaged.
    """
    torch, transformers = need("torch", "neural"), need("transformers", "neural")
    if not examples:
        raise InputError("there is nothing to train on")
    plan.check()
    identity = json.dumps({**asdict(plan), "data": data}, sort_keys=True)
    weights = groups or list(model.parameters())
    if plan.optimizer == "adafactor":
        optimizer = transformers.Adafactor(
            weights, lr=plan.rate, weight_decay=plan.decay, relative_step=False, scale_parameter=False, warmup_init=False
        )
    else:
        optimizer = torch.optim.AdamW(weights, lr=plan.rate, weight_decay=plan.decay)
    warm = int(plan.warmup * plan.steps)
    schedule = transformers.get_scheduler(plan.schedule, optimizer, num_warmup_steps=warm, num_training_steps=plan.steps)
    state = _load(folder, identity, model, optimizer, schedule)
    order = _Order(examples, plan)
    learning = [weight for group in optimizer.param_groups for weight in group["params"]]
    model.train()
    with torch.random.fork_rng():
        while state.step < plan.steps:
            torch.manual_seed(plan.seed * 1_000_003 + state.step)
            random = np.random.default_rng([plan.seed, 1, state.step])
            optimizer.zero_grad(set_to_none=True)
            batch_loss = loss_of(order.batch(state.step), random)
            batch_loss.backward()
            loss = float(batch_loss.detach())
            if not np.isfinite(loss):
                raise ModelError(f"the loss is not finite at step {state.step + 1}; give a lower learning rate")
            if plan.clip:
                torch.nn.utils.clip_grad_norm_(learning, plan.clip)
            optimizer.step()
            schedule.step()
            state.step += 1
            state.losses = (state.losses[0] + loss, state.losses[1] + 1)
            if plan.evaluate_every and (state.step % plan.evaluate_every == 0 or state.step == plan.steps):
                _measure(state, model, evaluate)
            if folder is not None and plan.keep_every and state.step % plan.keep_every == 0:
                _save(folder, identity, state, model, optimizer)
            if progress is not None:
                progress(state.step, plan.steps, loss)
    if state.weights is not None:
        model.load_state_dict(state.weights)
    model.eval()
    return state


def _measure(state: State, model: Any, evaluate: Callable[[], Mapping[str, float]] | None) -> None:
    """Add a row to the curve, and keep the weights when they are the best so far."""
    row = {"step": float(state.step), "loss": state.losses[0] / state.losses[1]}
    state.losses = (0.0, 0)
    if evaluate is not None:
        model.eval()
        row |= evaluate()
        model.train()
    state.curve.append(row)
    if row.get("dev_loss", float("inf")) < state.best:
        state.best, state.best_step = row["dev_loss"], state.step
        state.weights = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}


class Losses:
    """Progress callback that records the mean losses of the first and the last tenth of the steps."""

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
        """Over the first tenth, as far as this run did it; NaN if it did not."""
        return self._mean([loss for step, loss in self._seen if step <= self._tenth])

    @property
    def last(self) -> float:
        """Over the last tenth; NaN when no step was left."""
        return self._mean([loss for _, loss in self._seen[-self._tenth :]])

    def _mean(self, losses: Sequence[float]) -> float:
        return float(np.mean(losses)) if losses else float("nan")


def run_training(
    model: Any, loss_of: Loss, examples: int, plan: Plan, output: Path, *, data: Any, progress: Progress | None = None
) -> dict[str, Any]:
    """Train ``model`` as :func:`fit` does, with checkpoints beside the folder ``output``.

    Return ``steps``, ``began_at`` (the first step of this run), and the mean losses of the first and the last tenth of the steps.
    """
    watch = Losses(plan, progress)
    state = fit(model, loss_of, examples, plan, checkpoints_of(output), data=data, progress=watch)
    return {"steps": plan.steps, "began_at": state.began, "first_loss": watch.first, "last_loss": watch.last}


def base_name(model: str | Path) -> str:
    """Return the initial model for a card: the id, or the name of the file or folder."""
    return Path(model).name if Path(model).exists() else str(model)


def write_model(model: Any, tokenizer: Any, texts: Mapping[str, str] | Callable[[Path], Mapping[str, str]], output: Path) -> None:
    """Write model, tokenizer and text files by name to the folder ``output``, and delete its checkpoints.

    The card ``README.md`` is among ``texts``, which may be a function of the folder in which the model was saved.
    """
    with new_folder(output) as fresh:
        with quiet():
            model.save_pretrained(fresh)
            tokenizer.save_pretrained(fresh)
        for name, text in (texts(fresh) if callable(texts) else texts).items():
            (fresh / name).write_text(text, encoding="utf-8")
        mode = (fresh / CARD).stat().st_mode
        for file in filter(Path.is_file, fresh.iterdir()):  # some libraries make weights readable by their owner only
            file.chmod(mode)
    delete_checkpoints(output)


def examples_digest(rows: Sequence[Sequence[str]]) -> str:
    """Return 12 hex digits that identify examples."""
    hasher = hashlib.sha256()
    for row in rows:
        hasher.update("\t".join(row).encode() + b"\n")
    return hasher.hexdigest()[:12]


class _Order:
    """The examples of a step: each once per epoch, in an order seeded by the epoch."""

    def __init__(self, examples: int, plan: Plan) -> None:
        self._examples, self._seed = examples, plan.seed
        self._size = min(plan.batch_size, examples)
        self._epoch, self._places = -1, np.zeros(0, np.int64)

    def batch(self, step: int) -> list[int]:
        epoch, index = divmod(step, -(-self._examples // self._size))
        if epoch != self._epoch:
            self._epoch, self._places = epoch, np.random.default_rng([self._seed, 0, epoch]).permutation(self._examples)
        chosen: list[int] = self._places[index * self._size : (index + 1) * self._size].tolist()
        return chosen


def _save(folder: Path, identity: str, state: State, model: Any, optimizer: Any) -> None:
    torch = need("torch", "neural")
    folder.mkdir(exist_ok=True)
    with new_file(folder / STATE) as fresh:
        torch.save(
            {"identity": identity, "state": vars(state), "model": model.state_dict(), "optimizer": optimizer.state_dict()}, fresh
        )


def _load(folder: Path | None, identity: str, model: Any, optimizer: Any, schedule: Any) -> State:
    """The state of the checkpoint with this identity, loaded into the model; a fresh state when there is none."""
    torch = need("torch", "neural")
    if folder is None or not (folder / STATE).is_file():
        return State()
    try:
        checkpoint = torch.load(folder / STATE, map_location="cpu", weights_only=True)
        if checkpoint["identity"] != identity:
            return State()
        state = State(**checkpoint["state"])
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    except (MemoryError, OSError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:  # torch raises errors of many types for damaged files
        raise ModelError(f"the checkpoint {folder / STATE} is damaged; delete {folder} to start again") from error
    schedule.last_epoch, schedule._step_count = state.step, state.step + 1  # the rate is a function of these
    state.began = state.step
    return state
