"""Checkpoints of an interrupted training: a folder beside the output, which is deleted when the output is written.

The training loop stores its state there (:mod:`.loop`), and trainings that first compute something for many texts, such as the
hidden states of a language model, store the arrays of each batch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...graph.atomic import write_file
from ...graph.errors import ModelError
from ..models.modelfile import arrays_in, digest_of, pack

StageProgress = Callable[[str, int, int], object]
"""Called with the name of a stage of a training, the amount done, and the total."""


def checkpoints_of(output: Path) -> Path:
    """Return the folder for the checkpoints of the training of ``output``."""
    absolute = output.resolve()
    return absolute.with_name(f".{absolute.name}.checkpoint")


def delete_checkpoints(output: Path) -> None:
    """Delete the checkpoints of the training of ``output``."""
    shutil.rmtree(checkpoints_of(output), ignore_errors=True)


def stored_arrays(folder: Path | None, identity: Any, compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the arrays that ``compute`` gives, from their file in ``folder`` when they were computed before.

    Args:
        folder: is created when it is missing; None stores nothing.
        identity: what the arrays depend on, as JSON values; its digest names the file.

    Raises:
        ModelError: the file is damaged, or a number is not finite.
    """
    if folder is None:
        return dict(compute())
    path = folder / f"{digest_of(json.dumps(identity).encode())}.safetensors"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, pack(compute()))
    try:
        return arrays_in(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"the checkpoint {path} cannot be used: {error}; delete {folder} to start again") from error
