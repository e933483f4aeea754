"""What a sentence encoder's folder says of itself: how its tokens become a sentence, and a digest of what decides its numbers.

sentence-transformers lists a model's steps in ``modules.json``, each with a folder of its own; a folder of transformers alone has
none of this and is read as mean pooling, as that library does.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..graph.errors import ModelError
from .models import ModelFiles, weight_files

#: Ways of pooling that are known, in the order in which :meth:`tacit.reasoning.encoder.TextEncoder.pooled` gives them.
POOLED = ("mean", "max", "cls")

_MODES = {
    "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}  # fmt: skip
_TOKENIZERS = ("vocab.txt", "vocab.json", "merges.txt", "*.model")
_IDLE_KEYS = {"_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures"}


class Reading(NamedTuple):
    """How a model's folder says that its tokens become a sentence: pooled how, from at most how many, in lower case or not."""

    modes: tuple[str, ...] = ("mean",)
    length: int | None = None
    lower: bool = False


def read_modules(files: ModelFiles) -> Reading:
    """Return how a model's folder says that sentences are made; a folder of transformers alone says mean pooling.

    Raises:
        ModelError: it has a step that is not known here.
    """
    modules = _json(files.folder / "modules.json", files) or []
    modes: tuple[str, ...] = ("mean",)
    for module in modules if isinstance(modules, list) else []:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            modes = _modes(_json(files.folder / str(module.get("path", "")) / "config.json", files) or {})
        elif kind not in ("Transformer", "Normalize"):
            raise ModelError(f"the encoder {files.given!r} has a step {kind!r}, which tacit does not know; give another encoder")
    unknown = [mode for mode in modes if mode not in POOLED]
    if unknown:
        raise ModelError(f"the encoder {files.given!r} pools by {unknown[0]!r}, which tacit does not know; give another encoder")
    settings = _json(files.folder / "sentence_bert_config.json", files) or {}
    return Reading(modes, settings.get("max_seq_length"), bool(settings.get("do_lower_case")))


def _modes(config: dict[str, Any]) -> tuple[str, ...]:
    """The ways of pooling that a Pooling step names, in both spellings that sentence-transformers has had."""
    named = config.get("pooling_mode") or tuple(mode for key, mode in _MODES.items() if config.get(key)) or "mean"
    modes = (named,) if isinstance(named, str) else tuple(named)
    # A sum over the root of the length points where the mean points, and embeddings are brought to unit length.
    return ("mean",) if modes == ("mean_sqrt_len_tokens",) else modes


def content_digest(folder: Path, reading: Reading) -> str:
    """Return 12 hex digits for what decides an encoder's numbers, leaving out names, versions and paths in its settings."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    known = {key: value for key, value in config.items() if key not in _IDLE_KEYS}
    hasher = hashlib.sha256(json.dumps([known, reading], sort_keys=True).encode())
    whole = folder / "tokenizer.json"
    parts = [whole] if whole.exists() else sorted(path for pattern in _TOKENIZERS for path in folder.glob(pattern))
    for path in (*parts, *weight_files(folder)):
        hasher.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        hasher.update(bytes.fromhex(file_sha256(path)))
    return hasher.hexdigest()[:12]


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file in hex digits; one that has not changed since is read once."""
    stat = path.stat()
    return _file_sha256(path.resolve(), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _file_sha256(path: Path, size: int, changed: int) -> str:  # noqa: ARG001
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(path: Path, files: ModelFiles) -> Any:
    """The content of a JSON file, None when there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"the encoder {files.given!r} has a broken {path.name}: {error}; fetch it again") from error
