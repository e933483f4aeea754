"""Measuring a pipeline on treebank sentences, as they are written and as dialogue corpora write them.

The pipeline sees raw text and makes its own tokens, so a wrong token costs every score that it takes part in, as in spaCy's own
tables. Lemmas are compared as the treebank has them, case included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .treebank import Sentence

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.training import Example


@dataclass(frozen=True, slots=True)
class Scores:
    """Accuracies of one pipeline on one kind of text, each in 0..1: tokens, treebank tags, universal parts of speech, features,
    lemmas, lemmas with case ignored, unlabelled and labelled attachment, and the F score of sentence boundaries."""

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
    """Scores on the same ``sentences`` (their number), as ``written`` and as ``dialogue`` (lower case, words apart)."""

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
    """Return the scores of ``nlp`` on ``sentences``, taken three at a time as neighbours in a text."""
    written = [sentences[i : i + 3] for i in range(0, len(sentences), 3)]
    dialogue = [[sentence.as_dialogue() for sentence in group] for group in written]
    words = sum(len(sentence.words) for sentence in sentences)
    return Evaluation(_scores(nlp, written), _scores(nlp, dialogue), len(sentences), words)


def _scores(nlp: Language, groups: Iterable[Sequence[Sentence]]) -> Scores:
    """Run ``nlp`` over raw text and compare."""
    from spacy.scorer import Scorer

    examples = to_examples(nlp, groups)
    for example, doc in zip(examples, nlp.pipe([example.predicted for example in examples]), strict=True):
        example.predicted = doc
    found: dict[str, Any] = Scorer(nlp=nlp).score(examples)
    found |= Scorer.score_token_attr(examples, "uncased", getter=lambda token, _: token.lemma_.lower())
    names = ("token_acc", "tag_acc", "pos_acc", "morph_acc", "lemma_acc", "uncased_acc", "dep_uas", "dep_las", "sents_f")
    return Scores(*(round(float(found.get(name) or 0.0), 4) for name in names))


def to_examples(nlp: Language, groups: Iterable[Sequence[Sentence]]) -> list[Example]:
    """Return one spaCy example a group of sentences: the raw text beside the treebank's analysis."""
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
