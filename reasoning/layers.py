"""The layers of a model: what they make of a text, which weights are theirs, a copy of the model with others in their place, and
files of those.

Layers that were tuned for a task are a few megabytes beside a model that everybody has. So the layers alone are kept, in half
precision, and whoever opens them takes everything else from the model that they were tuned over.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.errors import InputError, ModelError
from .extras import need
from .modelfile import arrays_in

Layers = Mapping[str, NDArray[np.float16]]


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


def weights_of(layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights of :func:`top_layers` by the names that they have in the model."""
    return {f"{layer}.{name}": weight for layer, module in layers.items() for name, weight in module.named_parameters()}


def in_half_precision(weights: Mapping[str, Any]) -> dict[str, NDArray[np.float16]]:
    """Return what is kept of weights of torch."""
    return {name: weight.detach().float().cpu().numpy().astype(np.float16) for name, weight in weights.items()}


def put_layers(model: Any, layers: Layers) -> Any:
    """Return a copy of a model in which ``layers`` stand for the weights of their names; it shares all others with the first.

    Raises:
        ModelError: they are not of such a model.
    """
    torch = need("torch", "neural")
    found = copy.deepcopy(model, {id(weight): weight for name, weight in model.named_parameters() if name not in layers})
    weights = dict(found.named_parameters())
    for name, array in layers.items():
        if name not in weights or tuple(weights[name].shape) != array.shape:
            raise ModelError(
                f"the tuned layers hold {name!r}, which this encoder has not, or in another shape; they are another's"
            )
        with torch.no_grad():
            weights[name].copy_(torch.from_numpy(array.astype(np.float32)))
    return found


def to_bytes(layers: Layers) -> bytes:
    """Return layers as a safetensors file; equal ones give equal bytes."""
    from safetensors.numpy import save

    return bytes(save({name: np.ascontiguousarray(array) for name, array in layers.items()}))


def read_layers(path: Path) -> dict[str, NDArray[np.float16]]:
    """Read what :func:`to_bytes` wrote.

    Raises:
        ModelError: it cannot be read, or a number in it is not finite.
    """
    try:
        layers = arrays_in(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"the tuned layers {str(path)!r} cannot be read ({error}); train or fetch them again") from error
    broken = [name for name, array in layers.items() if array.dtype != np.float16 or not np.isfinite(array).all()]
    if broken or not layers:
        raise ModelError(f"the tuned layers {str(path)!r} are broken; train or fetch them again")
    return dict(layers)
