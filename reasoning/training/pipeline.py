"""Training the small English spaCy pipeline that tacit ships: tags, parts of speech, dependencies and lemmas from a UD treebank.

The components are spaCy's (shared token vectors with a window of four, a tagger, a morphologizer, a transition parser and the
rule lemmatiser) with small layers, trained by a plain loop. Half of the training text is made to look like dialogue corpora
(lower case, spaces between all tokens), sentences come in groups as in an utterance, and the averaged weights with the best score
on the development split are kept. With one thread, one seed gives one pipeline.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from ...graph.errors import InputError, LoadError
from ..models.modelfile import new_folder
from .card import write_card

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.training import Example

# Reading a Universal Dependencies treebank (CoNLL-U, plain or gzip).
#
# A sentence keeps its syntactic words ("do", "n't"), the spaces between them, and the columns for training. It has two variants:
# as written, and as in dialogue corpora (lower case, spaces between all tokens), which most input of tacit looks like.

_COLUMNS = 10


class Word(NamedTuple):
    """One syntactic word: its form, lemma, universal tag, treebank tag, features, head (index in the sentence; its own for the
    root), relation to the head, and whether a space follows it."""

    form: str
    lemma: str
    pos: str
    tag: str
    features: str
    head: int
    relation: str
    space: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of one sentence in order, and whether it starts a new document."""

    words: tuple[Word, ...]
    new_document: bool = False

    @property
    def text(self) -> str:
        """The sentence as it is written."""
        return "".join(word.form + " " * word.space for word in self.words).rstrip()

    def as_dialogue(self) -> Sentence:
        """Return the sentence in lower case with spaces between all words."""
        return replace(self, words=tuple(word._replace(form=word.form.lower(), space=True) for word in self.words))


def read_treebank(path: Path | str) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U file (gzip when its name ends in ``.gz``), in order.

    Ranges (``2-3 don't``) are used for spaces only; empty nodes (``8.1``) are skipped.

    Raises:
        LoadError: the file cannot be opened, is not UTF-8, is a damaged gzip file, or a line is not CoNLL-U.
    """
    path = Path(path)
    try:
        with _open(path) as lines:
            yield from _sentences(lines, path)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise LoadError(f"{path} cannot be read as CoNLL-U text: {error}; give a Universal Dependencies file") from error


def _open(path: Path) -> IO[str]:
    """Open ``path`` as text, through gzip when its name ends in ``.gz``."""
    if path.suffix == ".gz":
        return cast("IO[str]", gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")


def _sentences(lines: IO[str], path: Path) -> Iterator[Sentence]:
    """Group the lines of an open file into sentences."""
    rows: list[list[str]] = []
    new_document = False
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n")
        if line.startswith("#"):
            new_document = new_document or line.startswith("# newdoc")
        elif line:
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                raise LoadError(f"{path}:{number} has {len(columns)} columns where CoNLL-U has {_COLUMNS}; check the file")
            rows.append(columns)
        elif rows:
            yield _sentence(rows, new_document, path, number)
            rows, new_document = [], False
    if rows:
        yield _sentence(rows, new_document, path, number)


def _sentence(rows: list[list[str]], new_document: bool, path: Path, line: int) -> Sentence:
    """Build one sentence from its columns; ``line`` is its last line, for error messages."""
    words: list[Word] = []
    range_end, range_space = 0, True
    try:
        for identity, form, lemma, pos, tag, features, head, relation, _, misc in rows:
            space = "SpaceAfter=No" not in misc
            if "-" in identity:
                range_end, range_space = int(identity.split("-")[1]), space
            elif "." not in identity:
                index = int(identity)
                if index <= range_end:
                    space = range_space and index == range_end
                parent = int(head) - 1 if head != "0" else index - 1
                lemma = form if lemma == "_" else lemma
                words.append(Word(form, lemma, pos, tag, "" if features == "_" else features, parent, relation, space))
    except ValueError as error:
        raise LoadError(f"{path}: the sentence that ends at line {line} is not CoNLL-U: {error}; check the file") from error
    if not all(0 <= word.head < len(words) for word in words):
        raise LoadError(f"{path}: the sentence that ends at line {line} has a head outside the sentence; check the file")
    return Sentence(tuple(words), new_document)


# Lemma tables for spaCy's rule lemmatiser, from a treebank: suffix rules by part of speech, and exceptions.
#
# The rules of a part of speech form a decision list, longest suffix first (after the memory-based learning of Daelemans & van den
# Bosch): ``-ied -> -y`` comes before ``-ed``, and a longer suffix has a rule of its own only where the shorter one is wrong.
# Words of the treebank that the rules lemmatise wrongly become exceptions. The tables are plain data.

_LONGEST = 6
_SUPPORT = 2
_OPEN = ("NOUN", "VERB", "ADJ", "ADV", "AUX")
_LOWER_CASE = ["", ""]  # matches every word; without it spaCy keeps the case of words that no rule matches ("The")


def is_base_form(word: Word) -> bool:
    """Return whether spaCy's English lemmatiser treats ``word`` as its own lemma, without its tables."""
    features = set(word.features.split("|"))
    if word.pos == "NOUN" and "Number=Sing" in features:
        return True
    if "VerbForm=Inf" in features or "Degree=Pos" in features:
        return True
    finite = {"VerbForm=Fin", "Tense=Pres"} <= features
    return word.pos == "VERB" and finite and not any(feature.startswith("Number=") for feature in features)


def lemma_tables(words: Iterable[Word]) -> dict[str, dict[str, Any]]:
    """Return the tables ``lemma_rules``, ``lemma_exc`` and ``lemma_index`` (empty) for spaCy's rule lemmatiser.

    Proper nouns have no tables, so spaCy keeps them as written. The order of ``words`` does not matter.
    """
    seen: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for word in words:
        if word.pos != "PROPN" and not is_base_form(word):
            seen[word.pos.lower()][word.form.lower()][word.lemma] += 1
    rules: dict[str, list[list[str]]] = {}
    exceptions: dict[str, dict[str, list[str]]] = {}
    for pos, forms in sorted(seen.items()):
        best = {form: min(lemmas.items(), key=lambda item: (-item[1], item[0]))[0] for form, lemmas in sorted(forms.items())}
        rules[pos] = [*(suffix_rules(best) if pos.upper() in _OPEN else []), _LOWER_CASE]
        exceptions[pos] = {form: [lemma] for form, lemma in best.items() if apply_rules(form, rules[pos]) != lemma}
    return {"lemma_rules": dict(rules), "lemma_exc": exceptions, "lemma_index": {}}


def suffix_rules(lemma_of: dict[str, str]) -> list[list[str]]:
    """Return ``[suffix, replacement]`` pairs, longest suffix first, that turn most of the forms into their lemmas."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for form, lemma in lemma_of.items():
        for length in range(1, min(_LONGEST, len(form) - 1) + 1):
            stem = form[:-length]
            if lemma.startswith(stem) and lemma.lower() == lemma:
                votes[form[-length:]][lemma[len(stem) :]] += 1
    rules: dict[str, str] = {}
    for suffix, replacements in sorted(votes.items(), key=lambda item: (len(item[0]), item[0])):
        replacement, count = min(replacements.items(), key=lambda item: (-item[1], item[0]))
        shorter = next((suffix[i:] for i in range(1, len(suffix)) if suffix[i:] in rules), None)
        default = suffix[: -len(shorter)] + rules[shorter] if shorter else suffix
        if count >= _SUPPORT and replacement != default:
            rules[suffix] = replacement
    return [[suffix, rules[suffix]] for suffix in sorted(rules, key=lambda suffix: (-len(suffix), suffix))]


def apply_rules(form: str, rules: list[list[str]]) -> str:
    """Return the lemma by the first rule whose suffix ``form`` ends in; ``form`` itself when there is none."""
    return next((form[: -len(old)] + new for old, new in rules if form.endswith(old) and len(form) > len(old)), form)


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def evaluate(nlp: Language, sentences: Sequence[Sentence]) -> Evaluation:
    """Return the scores of ``nlp`` on ``sentences``, in groups of three consecutive ones."""
    written = [sentences[i : i + 3] for i in range(0, len(sentences), 3)]
    dialogue = [[sentence.as_dialogue() for sentence in group] for group in written]
    words = sum(len(sentence.words) for sentence in sentences)
    return Evaluation(_scores(nlp, written), _scores(nlp, dialogue), len(sentences), words)


def _scores(nlp: Language, groups: Iterable[Sequence[Sentence]]) -> Scores:
    """Run ``nlp`` on raw text and compare with the treebank."""
    from spacy.scorer import Scorer

    examples = to_examples(nlp, groups)
    for example, doc in zip(examples, nlp.pipe([example.predicted for example in examples]), strict=True):
        example.predicted = doc
    found: dict[str, Any] = Scorer(nlp=nlp).score(examples)
    found |= Scorer.score_token_attr(examples, "uncased", getter=lambda token, _: token.lemma_.lower())
    names = ("token_acc", "tag_acc", "pos_acc", "morph_acc", "lemma_acc", "uncased_acc", "dep_uas", "dep_las", "sents_f")
    return Scores(*(round(float(found.get(name) or 0.0), 4) for name in names))


def to_examples(nlp: Language, groups: Iterable[Sequence[Sentence]]) -> list[Example]:
    """Return one spaCy example per group of sentences: the raw text and the treebank's analysis."""
    from spacy.training import Example

    references = [_reference(nlp, group) for group in groups]
    return [Example(nlp.make_doc(reference.text), reference) for reference in references]


def _reference(nlp: Language, sentences: Sequence[Sentence]) -> Doc:
    """Return the gold analysis of neighbouring sentences as one document."""
    from spacy.tokens import Doc

    offsets = []
    total = 0
    for sentence in sentences:
        offsets.append(total)
        total += len(sentence.words)
    words = [word for sentence in sentences for word in sentence.words]
    starts = set(offsets)
    return Doc(
        nlp.vocab,
        words=[word.form for word in words],
        spaces=[word.space for word in words],
        tags=[word.tag for word in words],
        pos=[word.pos for word in words],
        morphs=[word.features for word in words],
        lemmas=[word.lemma for word in words],
        heads=[offset + word.head for offset, s in zip(offsets, sentences, strict=True) for word in s.words],
        deps=["ROOT" if word.relation == "root" else word.relation for word in words],
        sent_starts=[index in starts for index in range(total)],
    )


# Training.

Progress = Callable[[int, int, dict[str, float]], None]

_BATCH_WORDS = 700
_DROPOUT = 0.1
_LARGEST_GROUP = 4
_DIALOGUE_SHARE = 0.5
_DEV_SENTENCES = 600
_SMALL_TREEBANK = 1000

_CONFIG = """
[nlp]
lang = "en"
pipeline = ["tok2vec", "tagger", "morphologizer", "parser", "lemmatizer"]
batch_size = 256

[components]

[components.tok2vec]
factory = "tok2vec"

[components.tok2vec.model]
@architectures = "spacy.Tok2Vec.v2"

[components.tok2vec.model.embed]
@architectures = "spacy.MultiHashEmbed.v2"
width = 64
attrs = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
rows = [5000, 1000, 2500, 1000]
include_static_vectors = false

[components.tok2vec.model.encode]
@architectures = "spacy.MaxoutWindowEncoder.v2"
width = 64
depth = 4
window_size = 1
maxout_pieces = 3

[components.tagger]
factory = "tagger"
label_smoothing = 0.05

[components.tagger.model]
@architectures = "spacy.Tagger.v2"

[components.tagger.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 64

[components.morphologizer]
factory = "morphologizer"
label_smoothing = 0.05

[components.morphologizer.model]
@architectures = "spacy.Tagger.v2"

[components.morphologizer.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 64

[components.parser]
factory = "parser"
min_action_freq = 30

[components.parser.model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "parser"
extra_state_tokens = false
hidden_width = 64
maxout_pieces = 2
use_upper = true

[components.parser.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 64

[components.lemmatizer]
factory = "lemmatizer"
mode = "rule"
"""


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

    Args:
        train, dev, test: the splits, plain or gzip.
        output: folder to write; an existing pipeline is replaced.
        seed: of the weights, the order and the dropout.
        max_steps: number of batches of about 700 words, >= 1; 4,000 take about eight minutes on one core.
        progress: called at every evaluation on the development split with step, ``max_steps`` and the scores (0..1).

    Raises:
        InputError: ``max_steps`` is below 1, or ``output`` is a folder that holds something else.
        LoadError: a split cannot be read or is empty.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    output = _check_output(Path(output))
    if max_steps < 1:
        raise InputError(f"max_steps is {max_steps}; it must be >= 1")
    splits = {}
    for name, path in (("train", train), ("dev", dev), ("test", test)):
        splits[name] = list(read_treebank(path))
        if not splits[name]:
            raise LoadError(f"{path} holds no sentence; give the {name} split of a Universal Dependencies treebank")
    nlp = _build(splits["train"], seed)
    _fit(nlp, splits["train"], splits["dev"], seed, max_steps, progress)
    output.resolve().parent.mkdir(parents=True, exist_ok=True)
    with new_folder(output) as fresh:
        result = evaluate(_save(nlp, fresh), splits["test"])
        write_card(fresh, result, seed=seed, max_steps=max_steps, files=[Path(train), Path(dev), Path(test)])
    return result


def _check_output(output: Path) -> Path:
    """Return ``output`` if it is new, empty or a pipeline, and so may be replaced."""
    if output.exists() and not (output.is_dir() and (not any(output.iterdir()) or (output / "meta.json").is_file())):
        raise InputError(f"{output} holds something other than a pipeline; give a new folder for --output")
    return output


def _build(sentences: Sequence[Sentence], seed: int) -> Language:
    """Return an untrained pipeline whose labels and lemma tables come from ``sentences``."""
    from spacy.lang.en import English
    from spacy.lookups import Lookups
    from thinc.api import Config, fix_random_seed

    fix_random_seed(seed)
    rare = {"components.parser.min_action_freq": 30 if len(sentences) >= _SMALL_TREEBANK else 1}
    nlp: Language = English.from_config(Config().from_str(_CONFIG, overrides=rare))
    lookups = Lookups()
    for name, table in lemma_tables(word for sentence in sentences for word in sentence.words).items():
        lookups.add_table(name, table)
    nlp.get_pipe("lemmatizer").initialize(lookups=lookups)  # type: ignore[attr-defined]
    learnt = [name for name in nlp.pipe_names if name != "lemmatizer"]
    examples = to_examples(nlp, [[sentence] for sentence in sentences])
    with nlp.select_pipes(enable=learnt):
        nlp.initialize(lambda: examples)
    return nlp


def _fit(
    nlp: Language, train: Sequence[Sentence], dev: Sequence[Sentence], seed: int, max_steps: int, progress: Progress | None
) -> None:
    """Train for ``max_steps`` batches and leave the best averaged weights in ``nlp``."""
    from thinc.api import Adam

    optimizer = Adam(0.001, L2=0.01, grad_clip=1.0, use_averages=True)
    check_every = max(1, min(500, max_steps // 4))
    best, kept = -1.0, b""
    check = dev[:_DEV_SENTENCES]
    batches = _batches(train, random.Random(seed))
    learnt = [name for name in nlp.pipe_names if name != "lemmatizer"]
    for step in range(1, max_steps + 1):
        optimizer.learn_rate = 0.001 * min(1.0, step / 200) * max(0.05, 1 - step / max_steps)
        with nlp.select_pipes(enable=learnt):
            nlp.update(to_examples(nlp, next(batches)), drop=_DROPOUT, sgd=optimizer)
        if step % check_every == 0 or step == max_steps:
            with nlp.use_params(optimizer.averages):
                scores = evaluate(nlp, check).summary()
                if scores["mean"] > best:
                    best, kept = scores["mean"], nlp.to_bytes(exclude=["tokenizer", "lemmatizer"])
            if progress is not None:
                progress(step, max_steps, scores)
    nlp.from_bytes(kept, exclude=["tokenizer", "lemmatizer"])


def _batches(sentences: Sequence[Sentence], rng: random.Random) -> Iterator[list[list[Sentence]]]:
    """Yield batches of groups of consecutive sentences, endlessly, each group as written or as dialogue."""
    while True:
        groups: list[list[Sentence]] = []
        size = 0
        for sentence in sentences:
            if not groups or len(groups[-1]) >= size or sentence.new_document:
                groups.append([])
                size = rng.randint(1, _LARGEST_GROUP)
            groups[-1].append(sentence)
        rng.shuffle(groups)
        batch: list[list[Sentence]] = []
        words = 0
        for group in groups:
            batch.append([s.as_dialogue() for s in group] if rng.random() < _DIALOGUE_SHARE else group)
            words += sum(len(sentence.words) for sentence in group)
            if words >= _BATCH_WORDS:
                yield batch
                batch, words = [], 0
        if batch:
            yield batch


def _save(nlp: Language, folder: Path) -> Language:
    """Write ``nlp`` to ``folder``, and return it as loaded from there.

    The vocabulary keeps only the strings that the components need, so that the treebank's words (web and mail addresses among
    them) are not shipped.
    """
    import spacy
    from spacy.lang.en import English

    nlp.meta.update({
        "name": "ewt_dialogue_sm", "version": "1.0.0", "license": "CC BY-SA 4.0", "author": "tacit",
        "description": "Small English pipeline for tacit, trained on UD English-EWT, half of it lower-cased.",
    })  # fmt: skip
    strings = set(English().vocab.strings)
    strings.update(label for labels in nlp.pipe_labels.values() for label in labels)
    nlp.to_disk(folder)
    (folder / "vocab" / "strings.json").write_text(json.dumps(sorted(strings), indent=0) + "\n", encoding="utf-8")
    return spacy.load(folder)
