"""Training the small English spaCy pipeline that tacit ships: tags, parts of speech, dependencies and lemmas from a UD treebank.

spaCy does the training, with the configuration ``pipeline.cfg``; this module converts the treebank to DocBin files, starts it and
measures the result. The training text occurs twice: as written, and as in dialogue corpora (lower case, spaces between all
tokens). Sentences come in groups, as in an utterance. With one thread, one seed gives one pipeline.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.atomic import check_folder, new_folder
from ...graph.errors import InputError, LoadError, reason_of
from .card import write_card

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

CONFIG = Path(__file__).with_name("pipeline.cfg")

Progress = Callable[[int, int, Mapping[str, float]], object]

_COLUMNS = 10
_NUMBER = re.compile(r"\d+([-.]\d+)?")
_LARGEST_GROUP = 4
_DEV_SENTENCES = 600
_SMALL_TREEBANK = 1000
_LOGGER = "tacit.progress.v1"


def train_pipeline(
    train: Path | str,
    dev: Path | str,
    test: Path | str,
    output: Path | str,
    *,
    seed: int = 0,
    max_steps: int = 4000,
    progress: Progress | None = None,
) -> Evaluation:
    """Train a pipeline on CoNLL-U files, write it to ``output`` with its model card, and return its scores on the test split.

    The weights kept are the averaged ones with the best scores on the first 600 sentences of the development split. ``max_steps``
    batches have about 700 words each; 4,000 take about ten minutes on one core. ``progress`` is called after every batch with the
    step, ``max_steps`` and the latest scores of spaCy on the development split (``tag_acc``, ``dep_las`` …; 0..1).
    """
    output = Path(output)
    check_folder(output, "meta.json", "a pipeline")
    if max_steps < 1:
        raise InputError(f"max_steps is {max_steps}; it must be >= 1")
    splits = {}
    for name, path in (("train", train), ("dev", dev), ("test", test)):
        splits[name] = read_treebank(path)
        if not splits[name]:
            raise LoadError(f"{path} holds no sentence; give the {name} split of a Universal Dependencies treebank")
    with tempfile.TemporaryDirectory() as scratch:
        nlp = _trained(splits["train"], splits["dev"], Path(scratch), seed, max_steps, progress)
    output.resolve().parent.mkdir(parents=True, exist_ok=True)
    with new_folder(output) as fresh:
        result = evaluate(_save(nlp, fresh), splits["test"])
        write_card(fresh, result, seed=seed, max_steps=max_steps, files=[Path(train), Path(dev), Path(test)])
    return result


# Reading a treebank.


def read_treebank(path: Path | str) -> list[Doc]:
    """Return the sentences of a CoNLL-U file (gzip when its name ends in ``.gz``), in order, each as a spaCy document."""
    from spacy.training.converters.conllu_to_docs import conllu_to_docs

    path = Path(path)
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise LoadError(f"{path} cannot be read as CoNLL-U text: {error}; give a Universal Dependencies file") from error
    sentences = "\n\n".join(_sentences(text, path))
    try:
        docs = list(conllu_to_docs(sentences, n_sents=1, no_print=True)) if sentences else []  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise LoadError(f"{path} is not CoNLL-U: {reason_of(error)}; give a Universal Dependencies file") from error
    for token in (token for doc in docs for token in doc if token.lemma_ == "_"):
        token.lemma_ = token.text
    return docs


def _sentences(text: str, path: Path) -> Iterator[str]:
    """Yield the lines of each sentence without comments, after checking what spaCy's converter reports without a line number."""
    lines: list[str] = []
    words = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        columns = line.split("\t")
        if not line and lines:
            heads = [int(columns[6]) for columns in (row.split("\t") for row in lines) if columns[0].isdecimal()]
            if max(heads, default=0) > words:
                raise LoadError(f"{path}:{number} ends a sentence of {words} words with a head {max(heads)}; check the file")
            yield "\n".join(lines)
            lines, words = [], 0
        elif line and not line.startswith("#"):
            if len(columns) != _COLUMNS:
                raise LoadError(f"{path}:{number} has {len(columns)} columns where CoNLL-U has {_COLUMNS}; check the file")
            words += columns[0].isdecimal()
            if not _NUMBER.fullmatch(columns[0]) or (columns[0].isdecimal() and not columns[6].isdecimal()):
                raise LoadError(f"{path}:{number} is not CoNLL-U: its number or its head is wrong; check the file")
            lines.append(line)


def as_dialogue(doc: Doc, *, lemmas: bool = False) -> Doc:
    """Return ``doc`` in lower case with spaces between all words; with ``lemmas``, its lemmas in lower case too."""
    from spacy.tokens import Doc

    return Doc(
        doc.vocab,
        words=[token.text.lower() for token in doc],
        spaces=[True] * len(doc),
        tags=[token.tag_ for token in doc],
        pos=[token.pos_ for token in doc],
        morphs=[str(token.morph) for token in doc],
        lemmas=[token.lemma_.lower() if lemmas else token.lemma_ for token in doc],
        heads=[token.head.i for token in doc],
        deps=[token.dep_ for token in doc],
    )


def _grouped(docs: Sequence[Doc], sizes: Iterable[int]) -> list[Doc]:
    """Return consecutive sentences joined into documents of the given sizes."""
    from spacy.tokens import Doc

    result, start = [], 0
    for size in sizes:
        if start >= len(docs):
            break
        result.append(Doc.from_docs(list(docs[start : start + size]), ensure_whitespace=False))
        start += size
    return result


# Training.


def _trained(
    train: Sequence[Doc], dev: Sequence[Doc], scratch: Path, seed: int, max_steps: int, progress: Progress | None
) -> Language:
    """Train in the folder ``scratch``, and return the best pipeline."""
    import spacy
    from spacy.tokens import DocBin
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train as run

    rng = random.Random(seed)
    written = _grouped(train, (rng.randint(1, _LARGEST_GROUP) for _ in train))
    DocBin(docs=[*written, *(as_dialogue(doc, lemmas=True) for doc in written)]).to_disk(scratch / "train.spacy")
    checked = _grouped(dev[:_DEV_SENTENCES], [3] * len(dev))
    DocBin(docs=[*checked, *map(as_dialogue, checked)]).to_disk(scratch / "dev.spacy")
    overrides: dict[str, Any] = {
        "paths.train": str(scratch / "train.spacy"), "paths.dev": str(scratch / "dev.spacy"), "system.seed": seed,
        "training.max_steps": max_steps, "training.eval_frequency": max(1, min(500, max_steps // 4)),
        "training.logger": {"@loggers": _LOGGER},
    }  # fmt: skip
    if len(train) < _SMALL_TREEBANK:
        overrides |= {"components.parser.min_action_freq": 1, "components.trainable_lemmatizer.min_tree_freq": 1}
    spacy.util.registry.loggers.register(_LOGGER, func=_logger(max_steps, progress))
    nlp = init_nlp(spacy.util.load_config(CONFIG, overrides=overrides))
    (scratch / "output").mkdir()
    run(nlp, scratch / "output", stdout=io.StringIO(), stderr=io.StringIO())
    best = spacy.load(scratch / "output" / "model-best")
    best.config["paths"] |= {"train": None, "dev": None}
    best.config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False}
    return best


def _logger(max_steps: int, progress: Progress | None) -> Callable[[], Any]:
    """Return a logger for spaCy that calls ``progress`` after every step."""

    def setup(*_: Any) -> Any:
        step, scores = 0, {}

        def log_step(info: dict[str, Any] | None) -> None:
            nonlocal step, scores
            if info is not None:
                scores = {name: value for name, value in info["other_scores"].items() if isinstance(value, float)}
            if progress is not None:
                progress(min(step, max_steps), max_steps, scores)
            step += 1

        return log_step, lambda: None

    return lambda: setup


def _save(nlp: Language, folder: Path) -> Language:
    """Write ``nlp`` to ``folder``, without strings that no component needs, and return it as loaded from there."""
    import spacy
    from spacy.lang.en import English

    nlp.meta.update({
        "name": "ewt_dialogue_sm", "version": "1.0.0", "license": "CC BY-SA 4.0", "author": "tacit",
        "description": "Small English pipeline for tacit, trained on UD English-EWT, half of it lower-cased.",
    })  # fmt: skip
    strings = set(English().vocab.strings)
    strings.update(label for labels in nlp.pipe_labels.values() for label in labels if isinstance(label, str))
    for tree in nlp.get_pipe("trainable_lemmatizer").label_data["trees"]:  # type: ignore[attr-defined]
        strings.update(tree[key] for key in ("orig", "subst") if key in tree)
    nlp.to_disk(folder)
    (folder / "vocab" / "strings.json").write_text(json.dumps(sorted(strings), indent=0) + "\n", encoding="utf-8")
    return spacy.load(folder)


# Evaluation on treebank sentences, as written and as in dialogue corpora.
#
# The pipeline tokenises raw text, so a wrong token lowers every score, as in spaCy's evaluation. Lemmas are compared with case.


@dataclass(frozen=True, slots=True)
class Scores:
    """Accuracies of one pipeline on one kind of text, each in 0..1: tokens, treebank tags, universal parts of speech, features,
    lemmas, lemmas ignoring case, unlabelled and labelled attachment, and the F1 of sentence boundaries."""

    token: float
    tag: float
    pos: float
    morph: float
    lemma: float
    lemma_uncased: float
    uas: float
    las: float
    sentence: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores on the same sentences, as ``written`` and as ``dialogue`` (lower case, spaced); numbers of sentences and words."""

    written: Scores
    dialogue: Scores
    sentences: int
    words: int

    def summary(self) -> dict[str, float]:
        """The mean of tag, pos, lemma and las over both kinds of text, and those four, by name."""
        names = ("tag", "pos", "lemma", "las")
        parts = {name: (getattr(self.written, name) + getattr(self.dialogue, name)) / 2 for name in names}
        return {"mean": sum(parts.values()) / len(parts), **parts}


def evaluate(nlp: Language, sentences: Sequence[Doc]) -> Evaluation:
    """Return the scores of ``nlp`` on ``sentences``, in groups of three consecutive ones."""
    written = _grouped(sentences, [3] * len(sentences))
    return Evaluation(
        _scores(nlp, written), _scores(nlp, [as_dialogue(doc) for doc in written]), len(sentences), sum(map(len, sentences))
    )


def _scores(nlp: Language, docs: Sequence[Doc]) -> Scores:
    """Run ``nlp`` on raw text and compare with the treebank."""
    from spacy.scorer import Scorer
    from spacy.tokens import DocBin
    from spacy.training import Example

    own = DocBin(docs=docs).get_docs(nlp.vocab)  # the scorer looks the treebank's strings up in one vocabulary
    examples = [Example(predicted, doc) for predicted, doc in zip(nlp.pipe([doc.text for doc in docs]), own, strict=True)]
    scores: dict[str, Any] = Scorer(nlp=nlp).score(examples)
    scores |= Scorer.score_token_attr(examples, "uncased", getter=lambda token, _: token.lemma_.lower())
    names = ("token_acc", "tag_acc", "pos_acc", "morph_acc", "lemma_acc", "uncased_acc", "dep_uas", "dep_las", "sents_f")
    return Scores(*(round(float(scores.get(name) or 0.0), 4) for name in names))
