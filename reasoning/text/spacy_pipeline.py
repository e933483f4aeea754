"""Opening spaCy pipelines fast: without torch, without a tokenizer that is replaced, on numpy's matrix product, in bounded
memory.

The pipeline shipped with tacit was trained by ``tacit train pipeline``; any installed spaCy pipeline, or a folder with one, can
be named instead.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...graph.atomic import recover
from ...graph.errors import ModelError, reason_of

if TYPE_CHECKING:
    from spacy.language import Language

SHIPPED = Path(__file__).parents[1] / "pipeline"

_TORCH_PIPELINES = ("spacy_transformers", "spacy_curated_transformers")
_NOT_HASHED = ("README", "LICENSE", "scores.json", ".")
_PERMANENT_WORDS = 50_000  # entries of spaCy's vocabulary before memory zones are used
_ZONE_WORDS = 200_000  # words analysed in one memory zone


def open_spacy(name_or_path: str | Path, exclude: Iterable[str]) -> tuple[Language, str]:
    """Open a spaCy pipeline without some components; return it with the digest of its files."""
    shipped = name_or_path == SHIPPED
    spacy = import_spacy() if shipped else import_module("spacy")
    recover(Path(name_or_path))
    try:
        nlp = spacy.load(name_or_path, exclude=list(exclude), config=_tokenizer_from_files(spacy) if shipped else {})
    except Exception as error:  # spaCy raises OSError, ValueError, KeyError and its own errors for broken folders
        raise ModelError(
            f"the spaCy pipeline {str(name_or_path)!r} cannot be opened ({reason_of(error)}); "
            "give the name of an installed one or its folder"
        ) from error
    return nlp, folder_digest(Path(nlp.path))


def _tokenizer_from_files(spacy: Any) -> dict[str, str]:
    """Return overrides of a pipeline's configuration, so that spaCy does not first make a tokenizer with the rules of the
    language."""
    name = "tacit.TokenizerFromFiles.v1"
    if name not in spacy.registry.tokenizers:

        @spacy.registry.tokenizers(name)  # type: ignore[untyped-decorator]
        def make() -> Callable[[Language], Any]:
            return lambda nlp: spacy.tokenizer.Tokenizer(nlp.vocab)

    return {"nlp.tokenizer.@tokenizers": name}


def import_spacy() -> ModuleType:
    """Import spaCy without torch and without its command line, which take most of the processor time of scoring one item.

    spaCy's library thinc imports torch wherever it is installed, for components that run on it. It is not hidden when torch or
    thinc is imported already, or when a package for transformer pipelines is installed. To use a pipeline with other torch
    components, import torch before the pipeline is opened. spaCy imports its whole command line, with an HTTP client and a
    template engine, for the function ``spacy.info``, which does so here when it is called.
    """
    if {"spacy", "torch", "thinc"} & sys.modules.keys() or any(find_spec(package) for package in _TORCH_PIPELINES):
        return import_module("spacy")
    finder = _TorchHidden()
    sys.meta_path.insert(0, finder)
    absent = {name: ModuleType(name) for name in ("spacy.cli", "spacy.cli.info")}
    for module in absent.values():
        module.info = _spacy_info  # type: ignore[attr-defined]
    sys.modules.update(absent)
    try:
        return import_module("spacy")
    finally:
        sys.meta_path.remove(finder)
        for name in absent:
            del sys.modules[name]
        if "spacy" in sys.modules and hasattr(sys.modules["spacy"], "cli"):
            del sys.modules["spacy"].cli


class _TorchHidden(MetaPathFinder):
    """Import finder that raises ModuleNotFoundError for torch in the thread that made it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        if fullname == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


def _spacy_info(*args: Any, **kwargs: Any) -> Any:
    """Call ``spacy.cli.info``."""
    return import_module("spacy.cli.info").info(*args, **kwargs)


def multiply_fast(nlp: Language) -> None:
    """Make a pipeline on the CPU use numpy's matrix product, which is two to three times as fast there as spaCy's default."""
    from thinc.api import Model, NumpyOps

    ops = NumpyOps(use_blis=False)
    for _, component in nlp.pipeline:
        model = getattr(component, "model", None)
        for node in model.walk() if isinstance(model, Model) else ():
            if type(node.ops) is NumpyOps:  # not on a GPU, and not Apple's own operations
                node.ops = ops


def keep_freed_memory() -> None:
    """Make glibc keep the memory of one batch for the next, instead of returning tens of MB and allocating them again.

    glibc sets its threshold from the first large block that is freed; the block is never touched and costs nothing. Otherwise
    page faults take a third of the time of an analysis.
    """
    import numpy as np

    np.empty(31 << 20, dtype=np.uint8)


class VocabularyZone:
    """Bounds the memory of spaCy's vocabulary, which grows with every new word, by a memory zone that is renewed at times.

    The first words are kept outside of zones, since spaCy caches tokenisation only for permanent words, and common words come
    first.

    Attributes:
        words: analysed since the zone was renewed; whoever analyses counts them.
    """

    def __init__(self, nlp: Language, cache: dict[Any, Any]) -> None:
        """Renew the zones of ``nlp``; ``cache``, whose keys are spaCy's numbers for words, is cleared with each."""
        self._nlp, self._cache = nlp, cache
        self._zone = ExitStack()
        self._begun = False
        self.words = 0

    def renew(self) -> None:
        """Begin a new zone when it is time to."""
        if len(self._nlp.vocab) < _PERMANENT_WORDS if not self._begun else self.words < _ZONE_WORDS:
            return
        self._begun = True
        self._cache.clear()
        self._zone.close()
        self._zone.enter_context(self._nlp.memory_zone())
        self.words = 0


def with_spacy(digest: str) -> str:
    """Return a pipeline's digest together with spaCy's version, whose stop words and rules affect its results."""
    from spacy.about import __version__

    return f"{digest}@spacy-{'.'.join(__version__.split('.')[:2])}"


def folder_digest(folder: Path) -> str:
    """Return 12 hex digits of the SHA-256 of the names and bytes of a pipeline's files, without its card and licence."""
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(_NOT_HASHED) and "__pycache__" not in name:
            data = path.read_bytes()
            hasher.update(f"{name}\0{len(data)}\0".encode())
            hasher.update(data)
    return hasher.hexdigest()[:12]
