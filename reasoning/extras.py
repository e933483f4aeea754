"""Packages that only some metrics need: imported when used, and when missing, named with the command that installs them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..graph.errors import MissingExtra


def need(module: str, extra: str) -> Any:
    """Import and return ``module``, which the optional dependencies ``extra`` of tacit bring.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(module.partition(".")[0].replace("_", "-"), extra) from error


def extra_of(model: str | Path | None) -> str:
    """Return which optional dependencies open ``model``: an id or folder, a GGUF file, or None for the default encoder."""
    if model is None:
        return "minilm"
    return "gguf" if Path(model).suffix.lower() == ".gguf" else "neural"
