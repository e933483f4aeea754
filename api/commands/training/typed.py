"""The command line that made a model, as its card tells it: without the folders of one machine, since a card travels."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path


def as_typed(name: str, otherwise: Sequence[str], output: Path) -> str:
    """Return the command line ``tacit train NAME …`` with files and folders by their names alone.

    Args:
        otherwise: what stands after ``name`` where the command was called from Python, not typed.
        output: the folder that the model is written to, which may not be there yet.
    """
    words = sys.argv[3:] if sys.argv[1:3] == ["train", name] else list(otherwise)
    return shlex.join(["tacit", "train", name, *(_named(word, output) for word in words)])


def _named(word: str, output: Path) -> str:
    option, mark, value = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = os.sep in value and (Path(value).exists() or Path(value) == output)
    return f"{option}{mark}{Path(value).name}" if is_path else word
