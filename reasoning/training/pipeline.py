"""Training the small English pipeline that tacit ships: tags, parts of speech, dependencies and lemmas from a UD treebank.

The layers are spaCy's own (shared token vectors with a window of four, a tagger, a morphologizer, a transition parser and the
rule lemmatiser), made narrow; the loop is a plain one so that it can be read. Half of what is learnt from looks like dialogue
corpora (lower case, words apart), sentences come in groups as they do in an utterance, and the weights kept are the averaged
ones of the best score on the development split. With one thread, one seed gives one pipeline.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...graph.errors import InputError, LoadError
from ..modelfile import new_folder
from .card import write_card
from .evaluation import Evaluation, evaluate, to_examples
from .lemmas import lemma_tables
from .treebank import Sentence, read_treebank

if TYPE_CHECKING:
    from spacy.language import Language

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
        output: folder to write; an existing one is replaced when it holds a pipeline and nothing else.
        seed: of the weights, the order and the dropout.
        max_steps: batches of about 700 words to learn from, >= 1; 4,000 take some eight minutes on one core.
        progress: called at every check on the development split with step, ``max_steps`` and the scores there (0..1).

    Raises:
        InputError: ``max_steps`` is below 1, or ``output`` is a folder that holds something else.
        LoadError: a split cannot be read or is empty.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    output = _check_output(Path(output))
    if max_steps < 1:
        raise InputError(f"{max_steps} training steps make no pipeline; give 1 or more")
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
    """Return ``output`` when writing there destroys nothing but a pipeline."""
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
    """Learn for ``max_steps`` batches and leave the best averaged weights in ``nlp``."""
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
    """Yield batches of groups of consecutive sentences without end, each group as written or as dialogue."""
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
    """Write ``nlp`` to ``folder``, and return it as it opens from there.

    The vocabulary keeps the strings that the components need; the treebank's own words, web and mail addresses among them,
    stay out of it.
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
