"""The layers of a transformers model: choose those that learn, cut those above, and watch what they compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...graph.errors import InputError


def top_layers(model: Any, number: int) -> dict[str, Any]:
    """Return the ``number`` layers of a model of transformers that are nearest to its output, by their names.

    Raises:
        InputError: it has fewer layers, or none that can be told apart.
    """
    name, stack = _stack(model)
    if not 1 <= number <= len(stack):
        raise InputError(f"the model has {len(stack)} layers that could be tuned, not {number}; ask for fewer")
    return {f"{name}.{place}": layer for place, layer in list(enumerate(stack))[-number:]}


def cut_above(model: Any, number: int) -> None:
    """Take all layers of a model above the ``number`` ones nearest to its input away, so that it reads faster.

    Raises:
        InputError: it has fewer layers, or none that can be told apart.
    """
    _, stack = _stack(model)
    if not 1 <= number <= len(stack):
        raise InputError(f"the model has {len(stack)} layers, not {number}; ask for fewer")
    del stack[number:]
    model.config.get_text_config().num_hidden_layers = number


@contextmanager
def watched(model: Any, layers: Sequence[int]) -> Iterator[dict[int, Any]]:
    """Give what each of ``layers``, counted from 1 at a model's input, made of what the model read last, by their numbers.

    Raises:
        InputError: it has no such layer, or none that can be told apart.
    """
    _, stack = _stack(model)
    if not all(1 <= number <= len(stack) for number in layers):
        raise InputError(f"the model has {len(stack)} layers; ask for some of these, counted from 1")
    made: dict[int, Any] = {}

    def watch(number: int) -> Any:
        def keep(_module: Any, _given: Any, given_back: Any) -> None:
            made[number] = given_back[0] if isinstance(given_back, tuple) else given_back

        return stack[number - 1].register_forward_hook(keep)

    hooks = [watch(number) for number in layers]
    try:
        yield made
    finally:
        for hook in hooks:
            hook.remove()


def _stack(model: Any) -> tuple[str, Any]:
    """The layers of a model, in one list, and its name."""
    total = count_layers(model)
    for name, module in model.named_modules():
        if type(module).__name__ == "ModuleList" and len(module) == total > 0:
            return name, module
    raise InputError(f"no layers can be told apart in a {type(model).__name__}; take another model")


def learn_on_top(model: Any, number: int) -> dict[str, Any]:
    """Let the :func:`top_layers` of a model learn, and nothing else of it; return them."""
    learning = top_layers(model, number)
    model.requires_grad_(False)
    for layer in learning.values():
        layer.requires_grad_(True)
    return learning


def count_layers(model: Any) -> int:
    """Return how many layers a model of transformers says it has."""
    return int(getattr(model.config.get_text_config(), "num_hidden_layers", 0))
