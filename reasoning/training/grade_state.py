"""How far a training is, on disk: weights, Adam's moments, the step, the best so far, and the curve; whole or not at all.

A training that was killed goes on from the last state as if nothing had happened: what is random at a step hangs on the seed and
the step alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...graph.errors import ModelError


@dataclass
class State:
    """Where a training is.

    Attributes:
        step: steps made. best: lowest development loss so far; best_step: after which step.
        curve: one row for each look at the development pairs: step, loss on training pairs since the last look, ``dev_loss`` …
    """

    step: int = 0
    best: float = float("inf")
    best_step: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)


def save_state(folder: Path, state: State, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write where the training is, in place of what stands there."""
    from safetensors.torch import save

    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": torch.as_tensor(value) for name, value in moments.items()}
    told = {"step": state.step, "best": state.best, "best_step": state.best_step, "curve": state.curve}
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {"state": json.dumps(told)})
    write_over(folder / "state.safetensors", data)


def load_state(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> State:
    """Bring a training to where :func:`save_state` left it; a fresh state when there is none.

    Raises:
        ModelError: it is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    path = folder / "state.safetensors"
    if not path.is_file():
        return State()
    try:
        data = path.read_bytes()
        tensors = load(data)
        size = int.from_bytes(data[:8], "little")
        told = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["state"])
        model.load_state_dict({name.removeprefix("model."): one for name, one in tensors.items() if name.startswith("model.")})
        _load_adam(optimizer, {name: one for name, one in tensors.items() if name.startswith("adam.")})
        return State(**told)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ModelError(f"the state of a training at {path} is damaged; delete {folder} to begin anew") from error


def _load_adam(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    moments: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        _, number, what = name.split(".")
        moments.setdefault(int(number), {})[what] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})


def save_weights(path: Path, model: nn.Module) -> None:
    """Write a model's weights alone."""
    from safetensors.torch import save

    write_over(path, save({name: one.detach().cpu().contiguous() for name, one in model.state_dict().items()}))


def load_weights(path: Path, model: nn.Module) -> None:
    """Read what :func:`save_weights` wrote."""
    from safetensors.torch import load

    model.load_state_dict(load(path.read_bytes()))


def write_over(path: Path, data: bytes) -> None:
    """Write a file that takes the place of an older one only when it is whole."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.part")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def forget(folder: Path) -> None:
    """Delete the states and the turns that a training kept in ``folder``, and the folder when it holds nothing else."""
    if not folder.is_dir():
        return
    for inner in folder.iterdir():
        if inner.is_dir() and ((inner / "state.safetensors").is_file() or (inner / "vectors.f16").is_file()):
            shutil.rmtree(inner, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
