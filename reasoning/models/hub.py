"""Finding and opening transformers models: a folder, a GGUF file, or a hub id whose files are in the local cache or are
fetched.

A folder is used as it is; the quantised weights of a GGUF file are unpacked when it is first opened. An id is looked up in the
local cache first; only when it is not there is the hub contacted, once and with a short timeout, so that a machine without a
network gets an error at once. Program code that comes with a model is never run.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import shutil
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...graph.atomic import recover
from ...graph.errors import GraphError, InputError, MissingExtra, ModelError, reason_of
from ...graph.storage import cache_folder, seal, unseal, whole_folder

_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_SETTINGS = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "*.model", "*.index.json",
)  # fmt: skip
SENTENCE_FILES = ("modules.json", "sentence_bert_config.json", "[0-9]_*/config.json")
_WEIGHTS = ("*.safetensors", "*.bin")  # the second only when there is no file of the first kind
_SECONDS = 5.0  # timeout of the first request to the hub

_quieting = threading.RLock()

DTYPES = ("float32", "bfloat16", "float16")


def check_dtype(dtype: str) -> str:
    """Return ``dtype`` when a model's weights can have it, else raise :class:`InputError`."""
    if dtype not in DTYPES:
        raise InputError(f"unknown dtype {dtype!r}; choose from {', '.join(DTYPES)}")
    return dtype


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model on disk."""

    name: str  # the hub id, or the folder's own name
    folder: Path  # where its files are
    requested: str  # the argument as the user gave it, for messages
    gguf: str | None = None  # name of the GGUF file in the folder; None for other formats

    @cached_property
    def digest(self) -> str:
        """12 hex digits of the SHA-256 of its weights, configuration and tokenizer; computed on first use."""
        hasher = hashlib.sha256()
        for path in [self.folder / self.gguf] if self.gguf else _files(self.folder):
            hasher.update(f"{'gguf' if self.gguf else path.name}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: hasher)
        return hasher.hexdigest()[:12]

    @property
    def signature(self) -> str:
        """Name and digest, e.g. ``microsoft/DialoGPT-large@1f0c22c1e9aa``."""
        return f"{self.name}@{self.digest}"


def find_model(model: str | Path, *, also: Sequence[str] = (), gguf: bool = False, seconds: float = _SECONDS) -> ModelFiles:
    """Return the files of a model; a hub id that is not in the local cache is fetched, with the small files ``also``.

    With ``gguf`` a GGUF file is accepted; ``seconds`` is the timeout of the first request to the hub.
    """
    folder = Path(model).expanduser()
    recover(folder)
    if folder.is_dir():
        return _checked_files(ModelFiles(folder.resolve().name, folder, str(folder)))
    if gguf and folder.suffix.lower() == ".gguf":
        if not folder.is_file():
            raise ModelError(f"there is no GGUF file {str(model)!r}; check its path")
        return ModelFiles(folder.stem, folder.parent, str(folder), folder.name)
    if isinstance(model, Path) or folder.exists() or not _ID.fullmatch(model):
        raise ModelError(f"there is no model folder {str(model)!r}; give one that transformers saved, or an id of the hub")
    hub = need("huggingface_hub", "neural")
    try:
        return _checked_files(ModelFiles(model, _snapshot(model, hub, also, local_files_only=True), model))
    except (hub.errors.LocalEntryNotFoundError, ModelError):
        return _checked_files(ModelFiles(model, _fetched(model, hub, also, seconds), model))


def is_cached(model: str) -> bool:
    """Return whether the model with this hub id is in the local cache; nothing is fetched or opened."""
    if not _ID.fullmatch(model):
        return False
    try:
        import huggingface_hub
    except ModuleNotFoundError:
        return False
    return isinstance(huggingface_hub.try_to_load_from_cache(model, "config.json"), str)


def open_model(kind: str, files: ModelFiles, *, device: str | None, dtype: str) -> tuple[Any, Any]:
    """Open a model by the transformers class ``kind`` in evaluation mode on ``device`` with weights of ``dtype``, and its
    tokenizer."""
    torch, transformers = need("torch", "neural"), need("transformers", "neural")
    check_dtype(dtype)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"models cannot run on the device {device!r} ({reason_of(error)}); try cpu") from error
    copy = None if files.gguf is None else find_copy(files, dtype)
    with quiet(), _place(files, copy) as (location, arguments):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                location, local_files_only=True, trust_remote_code=False, **arguments
            )
            model, info = getattr(transformers, kind).from_pretrained(
                location, local_files_only=True, trust_remote_code=False, output_loading_info=True, dtype=getattr(torch, dtype),
                **arguments,
            )  # fmt: skip
        except Exception as error:  # OSError, ValueError, KeyError, errors of safetensors and torch
            raise _unopened(files, error) from error
    missing = sorted(name for name in info["missing_keys"] if not name.startswith("pooler."))
    if missing:
        raise ModelError(f"the model {files.requested!r} is not a {kind}: it lacks the weights {missing[0]!r}; give one that is")
    quantizer = getattr(model, "hf_quantizer", None)
    if files.gguf is not None and quantizer is not None and all(weight.is_floating_point() for weight in model.parameters()):
        quantizer.remove_quantization_config(model)  # the weights are unpacked; otherwise transformers refuses to save the model
        with quiet():
            keep_copy(files, dtype, model, tokenizer)
    try:
        return model.to(device).eval(), tokenizer
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"the model cannot be put on the device {device!r} ({reason_of(error)}); try cpu") from error


def open_tokenizer(files: ModelFiles) -> Any:
    """Open only the tokenizer of a model folder."""
    transformers = need("transformers", "neural")
    with quiet():
        try:
            return transformers.AutoTokenizer.from_pretrained(str(files.folder), local_files_only=True, trust_remote_code=False)
        except Exception as error:  # OSError, ValueError, KeyError
            raise _unopened(files, error) from error


def open_config(files: ModelFiles, **changes: Any) -> Any:
    """Read the configuration of a model folder and apply ``changes`` to it."""
    transformers = need("transformers", "neural")
    with quiet():
        try:
            return transformers.AutoConfig.from_pretrained(
                str(files.folder), local_files_only=True, trust_remote_code=False, **changes
            )
        except Exception as error:  # OSError, ValueError, KeyError
            raise _unopened(files, error) from error


def is_seq2seq(files: ModelFiles) -> bool:
    """Return whether a model's configuration is that of an encoder-decoder; false for a GGUF file."""
    if files.gguf is not None:
        return False
    return bool(open_config(files).is_encoder_decoder)


def _unopened(files: ModelFiles, error: Exception) -> ModelError:
    if "trust_remote_code" in str(error):
        return ModelError(
            f"the model {files.requested!r} requires custom code (trust_remote_code), which tacit never runs; "
            "give a model that transformers supports"
        )
    return ModelError(f"the model {files.requested!r} cannot be opened ({reason_of(error)}); give another model")


@contextmanager
def _place(files: ModelFiles, copy: Path | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the folder and arguments for transformers; a GGUF file to unpack gets a folder of its own, without neighbours."""
    if files.gguf is None or copy is not None:
        yield str(copy or files.folder), {}
        return
    for module in ("gguf", "accelerate"):
        need(module, "gguf")
    with TemporaryDirectory() as alone, redirect_stderr(StringIO()):  # transformers shows a progress bar that has no switch
        (Path(alone) / "model.gguf").symlink_to((files.folder / files.gguf).resolve())
        yield alone, {"gguf_file": "model.gguf"}


def tokens_a_batch(wanted: int | None, model: Any) -> int:
    """Return the number of tokens in a batch: ``wanted``, else 1,024 on a CPU and 16,384 on a GPU.

    Small batches are faster on a CPU, since they fit its caches (measured by ``benchmarks/likelihood.py``).
    """
    if wanted is None:
        return 1024 if model.device.type == "cpu" else 16384
    if not isinstance(wanted, int) or wanted < 1:
        raise InputError(f"batch_tokens must be >= 1, not {wanted}")
    return wanted


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars and warnings of transformers, and its reading of stdin, while a model is opened.

    Dialogues may be waiting on stdin, and must not be read as the answer to a library's question. A lock admits one thread at a
    time, since these settings are global to the process.
    """
    logging = need("transformers", "neural").utils.logging
    with _quieting:
        level, bars, stdin = logging.get_verbosity(), logging.is_progress_bar_enabled(), sys.stdin
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        sys.stdin = StringIO()
        try:
            yield
        finally:
            sys.stdin = stdin
            logging.set_verbosity(level)
            if bars:
                logging.enable_progress_bar()


def _files(folder: Path) -> list[Path]:
    """Return the files that determine a model's output, by name."""
    settings = {path for pattern in _SETTINGS for path in folder.glob(pattern)}
    return sorted(path for path in settings.union(weight_files(folder)) if path.is_file())


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files of the model in ``folder``, by name."""
    return next((files for pattern in _WEIGHTS if (files := sorted(folder.glob(pattern)))), [])


def _checked_files(files: ModelFiles) -> ModelFiles:
    """Return ``files`` if they include a configuration and weights."""
    if not (files.folder / "config.json").is_file():
        raise ModelError(f"the model folder {str(files.folder)!r} has no config.json; give a folder that transformers saved")
    if not any(next(files.folder.glob(pattern), None) for pattern in _WEIGHTS):
        raise ModelError(f"the model folder {str(files.folder)!r} has no weights; give a folder with a model.safetensors")
    return files


def _fetched(model: str, hub: Any, also: Sequence[str], seconds: float) -> Path:
    import httpx

    home = hub.constants.ENDPOINT
    advice = "give the folder of a downloaded model"
    if hub.constants.HF_HUB_OFFLINE:
        raise ModelError(f"the model {model!r} is not in the local cache, and HF_HUB_OFFLINE forbids fetching it; {advice}")
    try:
        answer = httpx.head(f"{home}/{model}/resolve/main/config.json", timeout=seconds)
    except httpx.HTTPError as error:
        raise ModelError(f"the model {model!r} is not in the local cache, and {home} cannot be reached; {advice}") from error
    if answer.status_code >= 400:
        raise ModelError(f"{home} has no model {model!r} (status {answer.status_code}); check its name, or {advice}")
    try:
        return _snapshot(model, hub, also)
    except Exception as error:  # errors of huggingface_hub and httpx, OSError
        raise ModelError(f"the model {model!r} could not be fetched from {home} ({reason_of(error)}); {advice}") from error


def _snapshot(model: str, hub: Any, also: Sequence[str], **options: bool) -> Path:
    """Return the folder in the local cache with the files of a model, which are fetched unless ``options`` forbid it."""
    folder = Path(hub.snapshot_download(model, allow_patterns=[*_SETTINGS, _WEIGHTS[0]], ignore_patterns=["*/*"], **options))
    if not any(folder.glob(_WEIGHTS[0])):
        hub.snapshot_download(model, allow_patterns=[_WEIGHTS[1]], ignore_patterns=["*/*"], **options)
    if also:
        hub.snapshot_download(model, allow_patterns=list(also), **options)
    return folder


# Imports of optional dependencies.


def need(module: str, extra: str) -> Any:
    """Import and return ``module``, which the optional dependencies ``extra`` of tacit install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(module.partition(".")[0].replace("_", "-"), extra) from error


def extra_of(model: str | Path | None) -> str:
    """Return the optional dependencies that open ``model``: an id or folder, a GGUF file, or None for the default encoder."""
    return "gguf" if model is not None and Path(model).suffix.lower() == ".gguf" else "neural"


# Unpacked copies of GGUF files, which open in a fraction of the time.
#
# Unpacking takes half a minute for 1.5 billion weights. So the opened model is kept as a folder that transformers reads, in
# `unpacked` of `TACIT_CACHE`, else of the user's cache folder. A copy belongs to one GGUF file, by its digest, to one dtype and
# to one version of transformers; it holds the same numbers as the model that was opened from the file. It may be deleted at any
# time. Where it cannot be written, the file is unpacked each time.

_UNPACKED = "unpacked model"
_UNPACKED_FORMAT = 1

_SPARE = 1 << 30  # bytes that stay free on the disk


def copy_of(files: ModelFiles, dtype: str) -> Path:
    """Return the folder for the copy of a GGUF file with weights of ``dtype``; it may not exist."""
    return cache_folder("unpacked") / f"{files.digest}-{dtype}"


def find_copy(files: ModelFiles, dtype: str) -> Path | None:
    """Return the folder of a sound copy of a GGUF file, or None."""
    folder = copy_of(files, dtype)
    try:
        unseal(folder, _UNPACKED, _UNPACKED_FORMAT, digest=_content(files, dtype))
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
        with whole_folder(folder, _UNPACKED, _UNPACKED_FORMAT, _content(files, dtype)) as fresh:
            model.save_pretrained(fresh)
            tokenizer.save_pretrained(fresh)
            seal(fresh, _UNPACKED, _UNPACKED_FORMAT, _content(files, dtype), {})
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
