"""Unpacked copies of GGUF files, which open in a fraction of the time.

Quantised weights are unpacked when a GGUF file is opened, which takes half a minute for 1.5 billion of them. So the opened model
is kept as a folder that transformers reads, in ``unpacked`` of ``TACIT_CACHE``, else of the user's cache folder. A copy belongs
to one GGUF file, by its digest, to one dtype and to one version of transformers; it holds the same numbers as the model that was
opened from the file. It may be deleted at any time. Where it cannot be written, the file is unpacked each time.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.errors import GraphError, reason_of
from ...graph.storage import cache_folder, seal, unseal, whole_folder

if TYPE_CHECKING:
    from .hub import ModelFiles

KIND = "unpacked model"
FORMAT = 1

_SPARE = 1 << 30  # bytes that stay free on the disk


def copy_of(files: ModelFiles, dtype: str) -> Path:
    """Return the folder for the copy of a GGUF file with weights of ``dtype``; it may not exist."""
    return cache_folder("unpacked") / f"{files.digest}-{dtype}"


def find_copy(files: ModelFiles, dtype: str) -> Path | None:
    """Return the folder of a sound copy of a GGUF file, or None."""
    folder = copy_of(files, dtype)
    try:
        unseal(folder, KIND, FORMAT, digest=_content(files, dtype))
    except GraphError:
        return None
    return folder


def keep_copy(files: ModelFiles, dtype: str, model: Any, tokenizer: Any) -> None:
    """Write the copy of a GGUF file from the opened model, and warn of its size; without room on the disk there is none."""
    folder = copy_of(files, dtype)
    size = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < size + _SPARE:
            return
        warnings.warn(
            f"the unpacked weights of {files.gguf} ({size / 1e6:,.0f} MB) are kept in {folder}, so that it opens faster from now "
            "on; delete the folder to have the space back",
            RuntimeWarning,
            stacklevel=2,
        )
        with whole_folder(folder, KIND, FORMAT, _content(files, dtype)) as fresh:
            model.save_pretrained(fresh)
            tokenizer.save_pretrained(fresh)
            seal(fresh, KIND, FORMAT, _content(files, dtype), {})
    except Exception as error:  # OSError, GraphError, errors of safetensors
        warnings.warn(
            f"the unpacked weights of {files.gguf} cannot be kept in {folder} ({reason_of(error)}); it is unpacked each time",
            RuntimeWarning,
            stacklevel=2,
        )


def _content(files: ModelFiles, dtype: str) -> str:
    """Return what a copy is made of; one made of anything else is replaced."""
    import transformers

    return f"{files.digest} {dtype} transformers {transformers.__version__}"
