"""Tokens with lemmas and parts of speech, by a spaCy pipeline.

The rest of this package uses the protocol :class:`Analyser`, so that another tagger can replace spaCy. The pipeline shipped
with tacit was trained by ``tacit train pipeline``; any installed spaCy pipeline, or a folder with one, can be named instead.
Only the components for lemmas and parts of speech are run.
"""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...graph.atomic import recover
from ...graph.errors import ModelError, reason_of
from ..lru_cache import LruCache

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.pipeline import Lemmatizer

SHIPPED = Path(__file__).parents[1] / "pipeline"

_TORCH_PIPELINES = ("spacy_transformers", "spacy_curated_transformers")

_UNUSED_COMPONENTS = (
    "parser", "senter", "sentencizer", "ner", "entity_ruler", "entity_linker", "textcat", "textcat_multilabel",
)  # fmt: skip
_NOT_HASHED = ("README", "LICENSE", "scores.json", ".")
_BATCH = 256  # texts
_BATCH_CHARACTERS = 1_000_000
_CACHED_TEXTS = 5_000
_LONGEST_CACHED = 1_000  # characters of a text
_PERMANENT_WORDS = 50_000  # entries of spaCy's vocabulary before memory zones are used
_ZONE_WORDS = 200_000  # words analysed in one memory zone
_ATTRIBUTES = ("ORTH", "LEMMA", "POS", "MORPH", "IDX", "LENGTH")
_TO_PREPARE = re.compile(r"(?<=\w)\s*(?P<sign>['’‘`´])\s+(?=(?:ll|m|s|t|d|re|ve)\b)|\S{100}(?=\S)", re.IGNORECASE)


_Prepared = tuple[str, list[int] | None]
_Key = tuple[int, int, int, int]


class Token(NamedTuple):
    """One token of a text, a word or a punctuation mark.

    Attributes:
        text: as written; start, end: character offsets in the original text.
        lemma: dictionary form as the pipeline gives it.
        pos: universal part of speech (``NOUN``, ``VERB``, …).
        stop: it, or its lemma, is a stop word of the pipeline's language.
    """

    text: str
    start: int
    end: int
    lemma: str
    pos: str
    stop: bool


class Analyser(Protocol):
    """Finds tokens, lemmas and parts of speech."""

    @property
    def signature(self) -> str:
        """Short text that changes whenever the analysis may change; part of the signature of every score that uses it."""

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text, without white space, in order."""


def prepare(text: str) -> _Prepared:
    """Return ``text`` as a tokeniser can process it, and the offset in ``text`` of each character and the end (None: unchanged).

    Clitics are joined: ``I ’ ll`` and ``don ' t``, as tokenised corpora write them, become ``I’ll`` and ``don't``. Long runs such
    as "((((…", which would take the tokeniser quadratic time, are split every 100 characters.
    """
    parts: list[str] = []
    offsets: list[int] = []
    done = 0
    for match in _TO_PREPARE.finditer(text):
        sign = match["sign"]
        until = match.start() if sign else match.end()
        parts += (text[done:until], sign or " ")
        offsets += (*range(done, until), match.start("sign") if sign else until)
        done = match.end()
    if not parts:
        return text, None
    return "".join((*parts, text[done:])), [*offsets, *range(done, len(text) + 1)]


class SpacyAnalyser:
    """An :class:`Analyser` over a spaCy pipeline; thread-safe: threads wait for one another.

    The tokens of the last few thousand texts are cached, so that metrics that share an analyser analyse each turn once.
    """

    def __init__(self, nlp: Language, digest: str) -> None:
        """Wrap ``nlp``, whose files have the given ``digest``, and disable the components that are not needed."""
        self.nlp = nlp
        self.digest = digest
        unused = [name for name in nlp.pipe_names if name in _UNUSED_COMPONENTS]
        if "morphologizer" in nlp.pipe_names and "attribute_ruler" not in nlp.pipe_names:
            unused += [name for name in ("tagger",) if name in nlp.pipe_names]
        for name in unused:
            nlp.disable_pipe(name)
        multiply_fast(nlp)
        keep_freed_memory()
        lemmatizer = lemmatizer_of_words(nlp)
        self._skipped = [lemmatizer.name] if lemmatizer else []
        self._kinds = _Kinds(nlp, lemmatizer)
        self._lock = threading.Lock()
        self._cache: LruCache[str, list[Token]] = LruCache(_CACHED_TEXTS)
        self._zone = VocabularyZone(nlp, self._kinds)
        trial = self.analyse(["The dogs were eating their bones."])[0]
        name = f"{nlp.meta['lang']}_{nlp.meta['name']}"
        for attribute, component in (("lemma", "lemmatizer"), ("pos", "morphologizer or tagger")):
            if not any(getattr(token, attribute) for token in trial):
                raise ModelError(f"the spaCy pipeline {name} gives no {attribute}; choose one that has a {component}")

    @property
    def language(self) -> str:
        """Two-letter code of the pipeline's language."""
        return str(self.nlp.lang)

    @property
    def signature(self) -> str:
        """Digest of the pipeline's files, and spaCy's version, whose stop words and rules affect the analysis."""
        return with_spacy(self.digest)

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text, without white space, in order."""
        known = {text: self._cache.get(text) for text in texts}
        fresh = [text for text, tokens in known.items() if tokens is None]
        for text, tokens in zip(fresh, self._read(fresh), strict=True):
            known[text] = tokens
            if len(text) <= _LONGEST_CACHED:
                self._cache.put(text, tokens)
        return [list(known[text] or ()) for text in texts]

    def _read(self, texts: Sequence[str]) -> Iterator[list[Token]]:
        found: list[list[Token]] = []
        with self._lock:
            for batch in _batches([prepare(text) for text in texts]):
                self._zone.renew()
                docs = self.nlp.pipe((text for text, _ in batch), batch_size=_BATCH, disable=self._skipped)
                found += [self._tokens(doc, offsets) for doc, (_, offsets) in zip(docs, batch, strict=True)]
        return iter(found)

    def _tokens(self, doc: Any, offsets: list[int] | None) -> list[Token]:
        """Copy the tokens of a spaCy document."""
        self._zone.words += len(doc)
        kinds = self._kinds
        tokens = []
        for place, (word, lemma_so_far, part, features, start, length) in enumerate(doc.to_array(_ATTRIBUTES).tolist()):
            key = word, lemma_so_far, part, features
            kind = kinds[key] if key in kinds else kinds.learn(key, doc[place])
            if kind is None:
                continue
            end = start + length
            if offsets is not None:
                start, end = offsets[start], offsets[end - 1] + 1
            text, lemma, pos, stop = kind
            tokens.append(Token(text, start, end, lemma, pos, stop))
        return tokens


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


class _Kinds(dict[_Key, tuple[str, str, str, bool] | None]):
    """Text, lemma, part of speech and stop word flag by spaCy's ids of a word, its preliminary lemma, part of speech and
    features.

    The value is None for white space. Words repeat so often that this cache takes most of the time off copying tokens from
    spaCy.
    """

    def __init__(self, nlp: Language, lemmatizer: Lemmatizer | None) -> None:
        """Read texts from the vocabulary of ``nlp``; ``lemmatizer`` gives the lemmas that the pipeline leaves open."""
        self._vocab = nlp.vocab
        self._stop_words = frozenset(nlp.Defaults.stop_words)
        self._lemmatizer = lemmatizer

    def learn(self, key: _Key, token: Any) -> tuple[str, str, str, bool] | None:
        """Compute and store the entry of ``key``; ``token`` is one token of that kind."""
        text, lemma, pos = (self._vocab.strings[number] for number in key[:3])
        if self._lemmatizer is not None and (self._lemmatizer.overwrite or not lemma):
            lemma = self._lemmatizer.lemmatize(token)[0]
        stop = text.lower() in self._stop_words or lemma.lower() in self._stop_words
        kind = self[key] = None if self._vocab[text].is_space else (text, lemma, pos, stop)
        return kind


def lemmatizer_of_words(nlp: Language) -> Lemmatizer | None:
    """Return the pipeline's last component when it is a rule lemmatizer, which gives one lemma to all words of one kind.

    It can then be run once for each kind of word instead of once for each word. Subclasses other than spaCy's English one are
    not returned, since their rules may read more than a word's text, part of speech and features.
    """
    from spacy.lang.en.lemmatizer import EnglishLemmatizer
    from spacy.pipeline import Lemmatizer

    last: Any = nlp.pipeline[-1][1] if nlp.pipeline else None
    return last if type(last) in (Lemmatizer, EnglishLemmatizer) and last.mode == "rule" else None


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


def _batches(prepared: Sequence[_Prepared]) -> Iterator[list[_Prepared]]:
    batch: list[_Prepared] = []
    characters = 0
    for one in prepared:
        if len(batch) == _BATCH or (batch and characters + len(one[0]) > _BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(one)
        characters += len(one[0])
    if batch:
        yield batch


def load_pipeline(name_or_path: str | Path | None = None) -> SpacyAnalyser:
    """Open a spaCy pipeline for analysis: the one shipped with tacit, an installed one by name, or one in a folder.

    Raises:
        ModelError: it does not exist or cannot be opened, or it gives no lemmas or parts of speech.
    """
    return SpacyAnalyser(*open_spacy(SHIPPED if name_or_path is None else name_or_path, _UNUSED_COMPONENTS))


class _TorchHidden(MetaPathFinder):
    """Import finder that raises ModuleNotFoundError for torch in the thread that made it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        if fullname == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


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


def _spacy_info(*args: Any, **kwargs: Any) -> Any:
    """Call ``spacy.cli.info``."""
    return import_module("spacy.cli.info").info(*args, **kwargs)


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


def with_spacy(digest: str) -> str:
    """Return a pipeline's digest together with spaCy's version, whose stop words and rules affect its results."""
    from spacy.about import __version__

    return f"{digest}@spacy-{'.'.join(__version__.split('.')[:2])}"


def open_analyser(pipeline: Analyser | str | Path | None = None) -> Analyser:
    """Return ``pipeline`` if it is an analyser, else the spaCy pipeline of that name (default: the shipped one), opened once."""
    return _opened(pipeline) if pipeline is None or isinstance(pipeline, (str, Path)) else pipeline


def is_english(analyser: Analyser) -> bool:
    """Return whether an analyser reads English; true for one without the attribute ``language``."""
    return getattr(analyser, "language", "en") == "en"


@lru_cache(maxsize=4)
def _opened(pipeline: str | Path | None) -> SpacyAnalyser:
    return load_pipeline(pipeline)


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
