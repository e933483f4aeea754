"""Baselines that need no model: ``length``, and the metrics that compare with reference responses: BLEU, chrF, ROUGE-L and
METEOR.

:class:`Compared` is a metric that compares with references. Without a reference the score is NaN, with a note; blank
references do not count. A blank response has the lowest score, 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from ....graph.errors import InputError
from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.hub import need
from ...text.turns import count_words

NO_REFERENCE = "no reference is given"
NO_RESPONSE = "the response is blank"


class Pair(NamedTuple):
    """A response and its references, none of them blank."""

    response: str
    references: tuple[str, ...]


class Comparison(NamedTuple):
    """The result of a comparison; the pieces only if an explanation was requested."""

    value: float
    pieces: tuple[Piece, ...] = ()


class Compared(BatchScoring):
    """A metric that compares each response with its references by ``compare_one``; subclasses may compare in batches."""

    def __init__(self, name: str, signature: Signature, compare_one: Callable[[Pair, bool], Comparison]) -> None:
        self.name, self.signature, self._compare_one = name, signature, compare_one

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score responses against their references; ``explain`` adds the pieces."""
        pairs = [Pair(item.response, tuple(text for text in item.references if text.strip())) for item in items]
        compared = iter(self.compare([pair for pair in pairs if pair.response.strip() and pair.references], explain))
        scores = []
        for pair in pairs:
            if not pair.references:
                scores.append(Score(float("nan"), Evidence(note=NO_REFERENCE), self.signature))
            elif not pair.response.strip():
                scores.append(Score(0.0, Evidence(note=NO_RESPONSE), self.signature))
            else:
                value, pieces = next(compared)
                scores.append(Score(value, Evidence(pieces), self.signature))
        return scores

    def compare(self, pairs: Sequence[Pair], explain: bool) -> Sequence[Comparison]:
        """Compare each response with its references, in order; the pieces only with ``explain``."""
        return [self._compare_one(pair, explain) for pair in pairs]


def part(name: str, value: float, *rests_on: Piece) -> Piece:
    """Return a piece for a number that the score is computed from, without a share."""
    return Piece("part", value, 0.0, name=name, rests_on=rests_on)


def nearest(pair: Pair, index: int) -> tuple[Piece, ...]:
    """Return a piece with the number, from 1, of the nearest of several references; nothing for a single one."""
    return (part("nearest reference, number", index + 1),) if len(pair.references) > 1 else ()


# The metric ``length``: number of words of a response, the simplest baseline.
#
# >= 0, without a direction: longer responses are rated better in some judgement sets and worse in others.

LENGTH_VERSION = 1


class Length(BatchScoring):
    """The metric; needs neither graph nor model."""

    name = "length"

    def __init__(self) -> None:
        self.signature = Signature(self.name, (("words", "runs-with-letter-or-digit"),), LENGTH_VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:  # noqa: ARG002
        """Count the words of each response, as :func:`tacit.reasoning.text.turns.count_words` does."""
        return [Score(float(count_words(item.response)), Evidence(), self.signature) for item in items]


def make_length() -> Length:
    """Return the metric."""
    return Length()


# The metrics ``bleu`` and ``chrf``: overlap of n-grams of words, or of characters, with the references.
#
# Both come from sacrebleu (Post, WMT 2018), with a response as a sentence: BLEU (Papineni et al., ACL 2002) with effective
# order, so that a response of two words is not scored by 4-grams, and chrF2 (Popović, WMT 2015). They lie in 0..100; higher is
# nearer to the references. The signature has sacrebleu's own fields, including its version.

OVERLAP_VERSION = 1

_FIELDS = ("case", "eff", "tok", "smooth", "nc", "nw", "space")


def make_bleu(*, lowercase: bool = False) -> Compared:
    """Return the metric ``bleu``: sentence BLEU over all references at once.

    Args:
        lowercase: compare in lower case.
    """
    bleu = need("sacrebleu.metrics", "baselines").BLEU(lowercase=lowercase, effective_order=True)

    def compare(pair: Pair, explain: bool) -> Comparison:
        score = bleu.sentence_score(pair.response, list(pair.references))
        return Comparison(min(float(score.score), 100.0), _bleu_parts(score) if explain else ())

    return Compared("bleu", _signature("bleu", bleu), compare)


def make_chrf(*, lowercase: bool = False) -> Compared:
    """Return the metric ``chrf``: sentence chrF, the best over the references.

    Args:
        lowercase: compare in lower case.
    """
    chrf = need("sacrebleu.metrics", "baselines").CHRF(lowercase=lowercase)

    def compare(pair: Pair, explain: bool) -> Comparison:
        scores = [float(chrf.sentence_score(pair.response, [reference]).score) for reference in pair.references]
        index = scores.index(max(scores))
        value = min(scores[index], 100.0)
        if not explain:
            return Comparison(value)
        texts = pair.response, pair.references[index]
        if lowercase:
            texts = texts[0].lower(), texts[1].lower()
        return Comparison(value, (*_runs(*texts), *nearest(pair, index)))

    return Compared("chrf", _signature("chrf", chrf), compare)


def _signature(name: str, metric: Any) -> Signature:
    """Return a signature with the fields of sacrebleu's that hold for every response, and its version."""
    metric.sentence_score("a", ["a"])  # sacrebleu's signature exists only after a first score
    info: Mapping[str, Any] = metric.get_signature().info
    parts = [(field, str(info[field])) for field in _FIELDS if field in info]
    return Signature(name, (*parts, ("sacrebleu", str(info["version"]))), OVERLAP_VERSION)


def _bleu_parts(score: Any) -> tuple[Piece, ...]:
    """Return the n-gram precisions and the brevity penalty; BLEU is their geometric mean times the penalty."""
    rows = zip(score.counts, score.totals, score.precisions, strict=True)
    parts = [
        part(f"{length}-gram precision in percent ({count} of {total})", float(precision))
        for length, (count, total, precision) in enumerate(rows, 1)
        if total
    ]
    return (*parts, part(f"brevity penalty ({score.sys_len} tokens beside {score.ref_len})", float(score.bp)))


def _runs(response: str, reference: str) -> list[Piece]:
    """Return for each length of character n-grams a piece with the numbers of matches, and of those in response and reference."""
    ngrams = need("sacrebleu.metrics.helpers", "baselines").extract_all_char_ngrams
    rows = []
    counted = zip(ngrams(response, 6, False), ngrams(reference, 6, False), strict=True)
    for length, (ours, theirs) in enumerate(counted, 1):
        shared, in_response, in_reference = (counts.total() for counts in (ours & theirs, ours, theirs))
        if in_response and in_reference:
            name = f"character {length}-gram F2 in percent ({shared} of {in_response} are right, of {in_reference} wanted)"
            rows.append(part(name, 500 * shared / (4 * in_reference + in_response)))
    return rows


# The metric ``rouge_l``: F1 of the longest common subsequence of a response and a reference (ROUGE-L; Lin, 2004).
#
# With ``m`` words in the response, ``n`` in the reference and ``k`` in their longest common subsequence, the score is ``2k / (m
# + n)``, the best over the references: 0..1, higher is nearer. Words are those of rouge-score: runs of ASCII letters and
# digits, lower-cased, so a text in another script has none and a score of 0. The common words have equal shares.

ROUGE_VERSION = 1


def make_rouge(*, stemmer: bool = False) -> Compared:
    """Return the metric ``rouge_l``.

    Args:
        stemmer: compare the stems of words of more than three letters (Porter) instead of the words.
    """
    tokenize = need("rouge_score.tokenizers", "baselines").DefaultTokenizer(stemmer).tokenize

    def compare(pair: Pair, explain: bool) -> Comparison:
        response = tokenize(pair.response)
        best = Comparison(-1.0)
        for index, text in enumerate(pair.references):
            reference = tokenize(text)
            rows = _rows(response, reference)
            share = 2 / max(len(response) + len(reference), 1)
            value = share * (len(reference) - rows[-1].bit_count())
            if value > best.value:
                words = _common(response, reference, rows) if explain else ()
                pieces = tuple(Piece("word", 1.0, share, name=f'"{word}"') for word in words)
                best = Comparison(value, (*pieces, *nearest(pair, index)) if explain else ())
        return best

    parts = (("stemmer", "porter" if stemmer else "none"), ("rouge-score", version("rouge-score")))
    return Compared("rouge_l", Signature("rouge_l", parts, ROUGE_VERSION), compare)


def _rows(response: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Return the table of the longest common subsequence, a row of bits for each prefix of the response, beginning with the
    empty one.

    In row ``i`` bit ``j`` is 0 where word ``j`` of the reference extends the common subsequence (Crochemore et al., Information
    Processing Letters 80, 2001); whole rows are computed at once, so that texts of 10,000 words are fast.
    """
    occurrences: dict[str, int] = {}  # of a word, as bits
    for index, word in enumerate(reference):
        occurrences[word] = occurrences.get(word, 0) | 1 << index
    full = (1 << len(reference)) - 1
    rows = [full]
    for word in response:
        row = rows[-1]
        met = row & occurrences.get(word, 0)
        rows.append(((row + met) | (row - met)) & full)
    return rows


def _common(response: Sequence[str], reference: Sequence[str], rows: Sequence[int]) -> tuple[str, ...]:
    """Return one longest common subsequence, read from the end of the table."""
    words = []
    at, until = len(response), len(reference)
    while at and until:
        below = (1 << until) - 1
        if (rows[at] & below).bit_count() == (rows[at - 1] & below).bit_count():
            at -= 1
        elif rows[at] >> (until - 1) & 1:
            until -= 1
        else:
            at, until = at - 1, until - 1
            words.append(reference[until])
    return tuple(reversed(words))


# The metric ``meteor``: words matched exactly, by stem and by synonym, with a penalty for differences in order.
#
# METEOR (Banerjee and Lavie, 2005) as computed by nltk, with the parameters of Lavie and Agarwal (WMT 2007): alpha 0.9, beta 3,
# gamma 0.5; the best over the references. It lies in 0..1, higher is nearer; ``m`` words equal to the reference score ``1 - 0.5
# / m^3``. Synonyms come from WordNet, which nltk downloads separately (``python -m nltk.downloader wordnet``); without it
# synonyms are not matched, and the signature has ``synonyms:none``. The matched words have equal shares.

METEOR_VERSION = 1


def make_meteor(*, synonyms: bool | None = None) -> Compared:
    """Return the metric ``meteor``.

    Args:
        synonyms: match synonyms of WordNet; by default if nltk has it.
    """
    nltk = need("nltk.translate.meteor_score", "baselines")
    tokenize = need("nltk.tokenize", "baselines").wordpunct_tokenize
    wordnet = _wordnet() if synonyms is None or synonyms else None
    if synonyms and wordnet is None:
        raise InputError("nltk has no WordNet for synonyms; run: python -m nltk.downloader wordnet, or set synonyms to false")
    known = wordnet or _NoSynonyms()

    def compare(pair: Pair, explain: bool) -> Comparison:
        response = tokenize(pair.response)
        texts = [tokenize(reference) for reference in pair.references]
        values = [float(nltk.meteor_score([text], response, wordnet=known)) for text in texts]
        index = values.index(max(values))
        if not explain:
            return Comparison(values[index])
        matches, _, _ = nltk.align_words(response, texts[index], wordnet=known)
        pieces = _meteor_pieces(response, texts[index], matches, values[index])
        return Comparison(values[index], (*pieces, *nearest(pair, index)))

    named = f"wordnet-{wordnet.get_version()}" if wordnet else "none"
    parts = (("tok", "wordpunct"), ("stemmer", "porter"), ("synonyms", named), ("nltk", version("nltk")))
    return Compared("meteor", Signature("meteor", parts, METEOR_VERSION), compare)


def _meteor_pieces(
    response: Sequence[str], reference: Sequence[str], matches: Sequence[tuple[int, int]], value: float
) -> tuple[Piece, ...]:
    """Return the matched words, the precision, the recall and the penalty for runs."""
    runs = sum(match not in {(ours + 1, theirs + 1) for ours, theirs in matches} for match in matches)
    number = len(matches)
    return (
        *(Piece("word", 1.0, value / number, name=_word_pair(response[ours], reference[theirs])) for ours, theirs in matches),
        part(f"precision ({number} of {len(response)} words)", number / len(response)),
        part(f"recall ({number} of {len(reference)} words)", number / len(reference)),
        part(f"penalty ({runs} runs of {number} words)", 0.5 * (runs / number) ** 3 if number else 0.0),
    )


class _NoSynonyms:
    """Replacement for WordNet that has no synonyms."""

    def synsets(self, word: str) -> tuple[()]:  # noqa: ARG002
        """Return no synonyms."""
        return ()


def _wordnet() -> Any:
    wordnet = need("nltk.corpus", "baselines").wordnet
    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    return wordnet


def _word_pair(ours: str, theirs: str) -> str:
    return f'"{ours}"' if ours.lower() == theirs.lower() else f'"{ours}" for "{theirs}"'
