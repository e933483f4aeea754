"""The training loop: killed and resumed equals uninterrupted, batches in parts, schedules, early stopping."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tacit.reasoning.training.loop import STATE, Plan, State, fit  # noqa: E402

INPUTS = torch.from_numpy(np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32))
TARGETS = INPUTS @ torch.tensor([[1.0], [-2.0], [0.5]])


def model_of(seed: int = 0) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 1))


def run(plan: Plan, folder: Path | None = None, *, dropout: bool = True, **named: Any) -> tuple[Any, State, list[list[int]]]:
    model, batches = named.pop("model", None) or model_of(), []
    if not dropout:
        model[1].p = 0.0

    def loss(batch: Sequence[int], random: np.random.Generator) -> Any:
        batches.append(list(batch))
        noise = float(random.normal()) * 0.01 if dropout else 0.0
        return ((model(INPUTS[batch]) - TARGETS[batch]) ** 2).mean() + noise * model[0].bias.sum()

    return model, fit(model, loss, 10, plan, folder, **named), batches


def same(first: Any, second: Any) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True))


def dev_loss(model: Any) -> dict[str, float]:
    assert not model.training
    return {"dev_loss": float(((model(INPUTS) - TARGETS) ** 2).mean().detach())}


@pytest.mark.parametrize("died_at", [3, 4, 7, 12])
def test_a_killed_training_ends_with_the_same_weights_and_curve(tmp_path: Path, died_at: int) -> None:
    plan = Plan(12, 4, 0.05, seed=3, keep_every=2, schedule="cosine", evaluate_every=3)
    whole = model_of()
    _, expected, _ = run(plan, model=whole, evaluate=lambda: dev_loss(whole))

    def die(step: int, *_: float) -> None:
        if step == died_at:
            raise KeyboardInterrupt

    killed, resumed = model_of(), model_of(9)
    with pytest.raises(KeyboardInterrupt):
        run(plan, tmp_path / "c", model=killed, evaluate=lambda: dev_loss(killed), progress=die)
    _, state, batches = run(plan, tmp_path / "c", model=resumed, evaluate=lambda: dev_loss(resumed))
    assert state.began == died_at // 2 * 2 == 12 - len(batches)
    assert same(whole, resumed)
    assert (state.curve, state.best_step) == (expected.curve, expected.best_step)
    assert [path.name for path in (tmp_path / "c").iterdir()] == [STATE]


def test_every_epoch_uses_each_example_once_in_a_new_order() -> None:
    _, _, batches = run(Plan(6, 4))
    assert [len(batch) for batch in batches] == [4, 4, 2, 4, 4, 2]
    epochs = [[*first, *second, *third] for first, second, third in (batches[:3], batches[3:])]
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 2
    assert epochs[0] != epochs[1]
    assert run(Plan(6, 4, seed=1))[2] != batches


def test_training_ends_with_the_best_weights() -> None:
    model, measured = model_of(), iter([3.0, 1.0, 2.0, 2.0])
    steps: list[Any] = []

    def evaluate() -> dict[str, float]:
        steps.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return {"dev_loss": next(measured)}

    _, state, batches = run(Plan(8, 4, 0.05, evaluate_every=2), model=model, evaluate=evaluate)
    assert (len(batches), state.step, state.best, state.best_step) == (8, 8, 1.0, 4)
    assert all(torch.equal(tensor, steps[1][name]) for name, tensor in model.state_dict().items())


def test_a_checkpoint_of_another_plan_or_data_is_ignored_and_a_damaged_one_named(tmp_path: Path) -> None:
    plan = Plan(4, 4, keep_every=2)
    run(plan, tmp_path / "c", data="one")
    assert run(plan, tmp_path / "c", data="one")[1].began == 4
    assert run(plan, tmp_path / "c", data="two")[1].began == 0
    assert run(Plan(4, 4, keep_every=2, seed=1), tmp_path / "c", data="two")[1].began == 0
    (tmp_path / "c" / STATE).write_bytes((tmp_path / "c" / STATE).read_bytes()[:100])
    with pytest.raises(ModelError, match=r"training\.pt is damaged; delete .*c to start again$"):
        run(plan, tmp_path / "c", data="one")


def test_invalid_training_data_is_refused() -> None:
    for wrong in (Plan(0), Plan(1, 0), Plan(1, rate=0.0), Plan(1, seed=-1), Plan(1, warmup=2.0)):
        with pytest.raises(InputError, match="must be >= "):
            wrong.check()
    model = model_of()
    with pytest.raises(ModelError, match="not finite at step 1; give a lower learning rate"):
        fit(model, lambda *_: model(INPUTS).sum() * float("nan"), 10, Plan(1))
    with pytest.raises(InputError, match="nothing to train on"):
        fit(model, lambda *_: model(INPUTS).sum(), 0, Plan(1))
