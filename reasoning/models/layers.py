"""Layers of a transformers model: selecting those to train, removing those above, and recording their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...graph.errors import InputError


def top_layers(model: Any, number: int) -> dict[str, Any]:
    """Return the ``number`` layers of a transformers model nearest to its output, by name."""
    name, stack = _stack(model)
    if not 1 <= number <= len(stack):
        raise InputError(f"the number of layers to train must be from 1 to {len(stack)}, not {number}")
    return {f"{name}.{index}": layer for index, layer in list(enumerate(stack))[-number:]}


def cut_above(model: Any, number: int) -> None:
    """Remove all layers of a model but the ``number`` ones nearest to its input, so that it runs faster."""
    _, stack = _stack(model)
    if not 1 <= number <= len(stack):
        raise InputError(f"the number of layers to keep must be from 1 to {len(stack)}, not {number}")
    del stack[number:]
    model.config.get_text_config().num_hidden_layers = number


@contextmanager
def watched(model: Any, layers: Sequence[int]) -> Iterator[dict[int, Any]]:
    """Yield a dictionary with the outputs of ``layers``, from 1 at the model's input, in the latest forward pass."""
    _, stack = _stack(model)
    if not all(1 <= number <= len(stack) for number in layers):
        raise InputError(f"the layers must be from 1 to {len(stack)}, not {', '.join(map(str, layers))}")
    outputs: dict[int, Any] = {}

    def watch(number: int) -> Any:
        def record(_module: Any, _inputs: Any, output: Any) -> None:
            outputs[number] = output[0] if isinstance(output, tuple) else output

        return stack[number - 1].register_forward_hook(record)

    hooks = [watch(number) for number in layers]
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def _stack(model: Any) -> tuple[str, Any]:
    """Return the list of a model's layers, and its name."""
    total = count_layers(model)
    for name, module in model.named_modules():
        if type(module).__name__ == "ModuleList" and len(module) == total > 0:
            return name, module
    raise InputError(f"no list of layers is found in a {type(model).__name__}; give another model")


def train_top_layers_only(model: Any, number: int) -> dict[str, Any]:
    """Make the :func:`top_layers` of a model trainable and freeze the rest; return these layers."""
    learning = top_layers(model, number)
    model.requires_grad_(False)
    for layer in learning.values():
        layer.requires_grad_(True)
    return learning


def count_layers(model: Any) -> int:
    """Return the number of layers in a transformers model's configuration."""
    return int(getattr(model.config.get_text_config(), "num_hidden_layers", 0))
