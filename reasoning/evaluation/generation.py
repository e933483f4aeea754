"""Measures of generated texts against references: BLEU, METEOR, ROUGE-L, CIDEr, cosine of sentence embeddings; distinct n-grams.

Each takes pairs of a generated text and its references and returns one number for all of them. BLEU (Papineni et al., ACL 2002)
comes from sacrebleu; METEOR and ROUGE-L are means of the metrics ``meteor`` and ``rouge_l``, best over the references; CIDEr is
written here after pycocoevalcap, which needs Java for its tokens. Words of BLEU, CIDEr and distinct n-grams are those of nltk's
Treebank tokenizer, lower-cased and without punctuation, as pycocoevalcap has them but for abbreviations.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.item import Item
from ..models.hub import need
from ..text.language import straight_apostrophes

Pair = tuple[str, Sequence[str]]
"""A generated text and its references; at least one of these is not blank."""

CIDER_LENGTH = 4
CIDER_SIGMA = 6.0
CIDER_SCALE = 10.0

_PUNCTUATION = frozenset((*"'`.?!,:-;", "''", "``", "--", "...", "(", ")", "[", "]", "{", "}", '"'))
_SENTENCE_END = re.compile(r"([.!?])(?=\s)")

Words = tuple[str, ...]


def bleu(pairs: Sequence[Pair], order: int = 2) -> float:
    """Return corpus BLEU up to n-grams of ``order`` words, in 0..1, without smoothing."""
    _check(pairs)
    if order < 1:
        raise InputError(f"the order of BLEU must be >= 1, not {order}")
    scorer = need("sacrebleu.metrics", "baselines").BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
    longest = max(len(references) for _, references in pairs)
    references = [[" ".join(words(text)) for text in references if text.strip()] for _, references in pairs]
    streams = [[texts[index] if index < len(texts) else None for texts in references] for index in range(longest)]
    return min(float(scorer.corpus_score([" ".join(words(text)) for text, _ in pairs], streams).score) / 100, 1.0)


def meteor(pairs: Sequence[Pair]) -> float:
    """Return the mean of the metric ``meteor``, in 0..1: matches of words and stems, and of synonyms where nltk has WordNet."""
    from ..metrics.baselines.references import make_meteor

    return _mean(make_meteor(), pairs)


def rouge_l(pairs: Sequence[Pair]) -> float:
    """Return the mean of the metric ``rouge_l``, in 0..1: F1 of the longest common subsequence."""
    from ..metrics.baselines.references import make_rouge

    return _mean(make_rouge(), pairs)


def cider(pairs: Sequence[Pair]) -> float:
    """Return CIDEr as pycocoevalcap computes it, the mean of :func:`cider_each`, in 0..10."""
    return float(cider_each(pairs).mean())


def cider_each(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Return CIDEr of each text, shape (pairs,), in 0..10 (Vedantam et al., CVPR 2015: CIDEr-D).

    With ``g(n)`` the vector of n-grams, counts times ``log(pairs / texts whose references have the n-gram)``, a text ``h`` has
    for a reference ``r`` the similarity ``min(g(h), g(r)) g(r) / (|g(h)| |g(r)|)``, times ``exp(-d^2 / 72)`` for ``d`` the
    difference of their numbers of bigrams; the mean over n = 1..4 and over the references is multiplied by 10. Rarity is that
    of these references, so one pair alone has 0, and figures of sets of different sizes cannot be compared.
    """
    _check(pairs)
    references = [[_ngrams(words(text)) for text in texts if text.strip()] for _, texts in pairs]
    frequency = Counter(ngram for text_counts in references for ngram in {ngram for counts in text_counts for ngram in counts})
    largest = math.log(len(pairs))
    rarity = {ngram: largest - math.log(number) for ngram, number in frequency.items()}
    scores = np.zeros(len(pairs))
    for index, ((text, _), reference_counts) in enumerate(zip(pairs, references, strict=True)):
        own = _ngrams(words(text))
        scores[index] = CIDER_SCALE * np.mean([_likeness(own, counts, rarity, largest) for counts in reference_counts])
    return scores


def distinct_n(pairs: Sequence[Pair], n: int = 2) -> float:
    """Return the share of distinct n-grams among all of the generated texts, in 0..1 (Li et al., NAACL 2016); NaN without any."""
    if n < 1:
        raise InputError(f"n of distinct n-grams must be >= 1, not {n}")
    counts: Counter[Words] = Counter()
    for text, _ in pairs:
        tokens = words(text)
        counts.update(tokens[at : at + n] for at in range(len(tokens) - n + 1))
    return len(counts) / counts.total() if counts else math.nan


def similarity(pairs: Sequence[Pair], encoder: Any) -> float:
    """Return the mean cosine of the embeddings of each text and its nearest reference, in -1..1; 0 for a blank text.

    Args:
        encoder: of :func:`tacit.reasoning.models.encoder.open_encoder`.

    Raises:
        InputError: there are no pairs, or a text has no reference.
    """
    _check(pairs)
    texts = list(dict.fromkeys(text for own, references in pairs for text in (own, *references) if text.strip()))
    unit = dict(zip(texts, encoder.encode(texts), strict=True))
    best = [
        max(float(unit[own] @ unit[reference]) for reference in references if reference.strip()) if own.strip() else 0.0
        for own, references in pairs
    ]
    return float(np.mean(best))


class Measures(NamedTuple):
    """Names and values of the measures, and how they were computed."""

    values: dict[str, float]
    signature: str


def measure(pairs: Sequence[Pair], encoder: Any = None) -> Measures:
    """Return BLEU-1 and -2, METEOR, ROUGE-L, CIDEr, distinct-1 and -2, the mean number of words, and cosines with an ``encoder``.

    Raises:
        InputError: there are no pairs, or a text has no reference.
        MissingExtra: sacrebleu, rouge-score or nltk is not installed.
    """
    from ..metrics.baselines.references import make_meteor, make_rouge

    values = {
        "bleu-1": bleu(pairs, 1), "bleu-2": bleu(pairs, 2), "meteor": meteor(pairs), "rouge-l": rouge_l(pairs),
        "cider": cider(pairs),
    }  # fmt: skip
    named = [f"sacrebleu:{version('sacrebleu')}", str(make_meteor().signature), str(make_rouge().signature), "cider-d:4,6"]
    if encoder is not None:
        values["similarity"] = similarity(pairs, encoder)
        named.append(f"encoder:{encoder.signature}")
    values |= {"distinct-1": distinct_n(pairs, 1), "distinct-2": distinct_n(pairs, 2)}
    values["words"] = float(np.mean([len(words(text)) for text, _ in pairs]))
    return Measures(values, "|".join(["generation", *named, f"words:nltk-{version('nltk')}", "v:1"]))


def words(text: str) -> Words:
    """Return the words of a text, lower-cased and without punctuation: ``Don't go!`` -> ``do``, ``n't``, ``go``."""
    tokens = _tokenizer().tokenize(_SENTENCE_END.sub(r" \1", straight_apostrophes(text)).lower())
    return tuple(word for word in tokens if word not in _PUNCTUATION)


@cache
def _tokenizer() -> Any:
    return need("nltk.tokenize", "baselines").TreebankWordTokenizer()


def _check(pairs: Sequence[Pair]) -> None:
    if not pairs:
        raise InputError("there is no generated text to measure; give at least one with its references")
    for number, (text, references) in enumerate(pairs, 1):
        if isinstance(references, str) or not any(reference.strip() for reference in references):
            raise InputError(f"text {number} ({text[:40]!r}) has no reference; give a list with at least one that is not blank")


def _mean(metric: Any, pairs: Sequence[Pair]) -> float:
    """Return the mean of a metric that compares with references; a blank text has 0."""
    _check(pairs)
    scores = metric.score_checked([Item((), text, references=tuple(references)) for text, references in pairs], False)
    return float(np.mean([score.value for score in scores]))


def _ngrams(tokens: Words) -> Counter[Words]:
    """Return the counts of all n-grams of one to four words."""
    return Counter(tokens[at : at + n] for n in range(1, CIDER_LENGTH + 1) for at in range(len(tokens) - n + 1))


def _likeness(own: Counter[Words], reference: Counter[Words], rarity: dict[Words, float], largest: float) -> float:
    """Return CIDEr of a text for one reference, in 0..1; an n-gram of no reference has the rarity ``largest``."""
    dots, sizes = np.zeros(CIDER_LENGTH), np.zeros((2, CIDER_LENGTH))
    bigrams = [sum(count for ngram, count in counts.items() if len(ngram) == 2) for counts in (own, reference)]
    for row, counts in enumerate((own, reference)):
        for ngram, count in counts.items():
            sizes[row, len(ngram) - 1] += (count * rarity.get(ngram, largest)) ** 2
    for ngram in own.keys() & reference.keys():
        dots[len(ngram) - 1] += min(own[ngram], reference[ngram]) * reference[ngram] * rarity[ngram] ** 2
    norm = np.sqrt(sizes[0] * sizes[1])
    cosines = np.divide(dots, norm, out=np.zeros(CIDER_LENGTH), where=norm > 0)
    return float(cosines.mean()) * math.exp(-((bigrams[0] - bigrams[1]) ** 2) / (2 * CIDER_SIGMA**2))
