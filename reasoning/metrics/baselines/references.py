"""What metrics share that compare a response with the responses of people at the same place: one base, and what it makes of none.

Without a reference there is nothing to compare with: the value is no number, and the note says so. Blank references are none. A
blank response has the lowest value, 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from ....graph.errors import InputError
from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.hub import need
from ...text.language import count_words

NO_REFERENCE = "no reference is given"
NO_RESPONSE = "the response is blank"


class Pair(NamedTuple):
    """A response and what it is compared with, none of them blank."""

    response: str
    references: tuple[str, ...]


class Comparison(NamedTuple):
    """What comparing gave; the pieces only where they were asked for."""

    value: float
    pieces: tuple[Piece, ...] = ()


class Compared(BatchScoring):
    """Base of a metric that compares with references; a subclass says what one comparison gives."""

    name: str
    signature: Signature

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
        """Compare each response with its references, in order."""
        return [self.compare_one(pair, explain) for pair in pairs]

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare one response with its references; for metrics that gain nothing from batches."""
        raise NotImplementedError


def flag(metric: str, option: str, value: object) -> bool:
    """Return an option that is true or false.

    Raises:
        InputError: it is neither.
    """
    if not isinstance(value, bool):
        raise InputError(f"the option {option} of {metric} is {value!r}; give true or false")
    return value


def part(name: str, value: float, *rests_on: Piece) -> Piece:
    """Return a number that a value is worked out from, which has no share of it by itself."""
    return Piece("part", value, 0.0, name=name, rests_on=rests_on)


def nearest(pair: Pair, place: int) -> tuple[Piece, ...]:
    """Return which of several references was the nearest, counted from 1; nothing where there is one."""
    return (part("nearest reference, number", place + 1),) if len(pair.references) > 1 else ()


# The metric ``length``: how many words a response has, the simplest thing that human ratings are known to go with.
#
# 0 or more, with no direction of its own: longer responses are rated better in some judgements and worse in others.

LENGTH_VERSION = 1


class Length(BatchScoring):
    """The metric; it needs neither graph nor model."""

    name = "length"

    def __init__(self) -> None:
        self.signature = Signature(self.name, (("words", "runs-with-letter-or-digit"),), LENGTH_VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:  # noqa: ARG002
        """Count the words of each response, as :func:`tacit.reasoning.text.language.count_words` does."""
        return [Score(float(count_words(item.response)), Evidence(), self.signature) for item in items]


def make_length(graph: Any = None) -> Length:  # noqa: ARG001
    """Return the metric."""
    return Length()


# The metrics ``bleu`` and ``chrf``: how many runs of words, or of characters, a response has in common with the references.
#
# Both come from sacrebleu (Post, WMT 2018), a response being a sentence: BLEU (Papineni et al., ACL 2002) with effective order,
# so that a response of two words is not judged by runs of four, and chrF2 (Popović, WMT 2015). They lie in 0..100; higher is
# nearer to the references. The signature holds sacrebleu's own fields, its version among them.

OVERLAP_VERSION = 1

SMOOTHING = ("exp", "floor", "add-k", "none")

_FIELDS = ("case", "eff", "tok", "smooth", "nc", "nw", "space")


class Bleu(Compared):
    """Sentence BLEU over all references at once."""

    name = "bleu"

    def __init__(self, *, lowercase: bool, smoothing: str) -> None:
        """See :func:`make_bleu`."""
        if smoothing not in SMOOTHING:
            raise InputError(f"bleu has no smoothing {smoothing!r}; choose from {', '.join(SMOOTHING)}")
        metrics = need("sacrebleu.metrics", "baselines")
        self._bleu = metrics.BLEU(
            lowercase=flag(self.name, "lowercase", lowercase), smooth_method=smoothing, effective_order=True
        )
        self.signature = _signature(self.name, self._bleu)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        found = self._bleu.sentence_score(pair.response, list(pair.references))
        return Comparison(min(float(found.score), 100.0), _bleu_parts(found) if explain else ())


class Chrf(Compared):
    """Sentence chrF against the reference that it is best with."""

    name = "chrf"

    def __init__(self, *, lowercase: bool, word_order: int) -> None:
        """See :func:`make_chrf`."""
        if not isinstance(word_order, int) or not 0 <= word_order <= 6:
            raise InputError(f"chrf counts no runs of {word_order} words; give 0 to 6")
        metrics = need("sacrebleu.metrics", "baselines")
        self._lowercase = flag(self.name, "lowercase", lowercase)
        self._chrf = metrics.CHRF(word_order=word_order, lowercase=lowercase)
        self.signature = _signature(self.name, self._chrf)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        scores = [float(self._chrf.sentence_score(pair.response, [reference]).score) for reference in pair.references]
        place = scores.index(max(scores))
        value = min(scores[place], 100.0)
        if not explain:
            return Comparison(value)
        texts = pair.response, pair.references[place]
        if self._lowercase:
            texts = texts[0].lower(), texts[1].lower()
        return Comparison(value, (*_runs(*texts), *nearest(pair, place)))


def make_bleu(graph: Any = None, *, lowercase: bool = False, smoothing: str = "exp") -> Bleu:  # noqa: ARG001
    """Return the metric ``bleu``.

    Args:
        lowercase: compare in lower case.
        smoothing: what stands for runs of which none is found: ``exp``, ``floor``, ``add-k`` or ``none`` (then they make it 0).

    Raises:
        InputError: an option makes no sense.
        MissingExtra: sacrebleu is not installed.
    """
    return Bleu(lowercase=lowercase, smoothing=smoothing)


def make_chrf(graph: Any = None, *, lowercase: bool = False, word_order: int = 0) -> Chrf:  # noqa: ARG001
    """Return the metric ``chrf``.

    Args:
        lowercase: compare in lower case.
        word_order: the longest runs of words that count beside those of characters; 2 makes it chrF++ (Popović, WMT 2017).

    Raises:
        InputError: an option makes no sense.
        MissingExtra: sacrebleu is not installed.
    """
    return Chrf(lowercase=lowercase, word_order=word_order)


def _signature(name: str, metric: Any) -> Signature:
    """The fields of sacrebleu's signature that hold for every response, and its version."""
    metric.sentence_score("a", ["a"])  # sacrebleu knows its signature after a first score
    info: Mapping[str, Any] = metric.get_signature().info
    parts = [(field, str(info[field])) for field in _FIELDS if field in info]
    return Signature(name, (*parts, ("sacrebleu", str(info["version"]))), OVERLAP_VERSION)


def _bleu_parts(found: Any) -> tuple[Piece, ...]:
    """How many runs of each length were found, and what brevity costs; BLEU is their geometric mean times that."""
    rows = zip(found.counts, found.totals, found.precisions, strict=True)
    parts = [
        part(f"{length}-gram precision in percent ({count} of {total})", float(precision))
        for length, (count, total, precision) in enumerate(rows, 1)
        if total
    ]
    return (*parts, part(f"brevity penalty ({found.sys_len} tokens beside {found.ref_len})", float(found.bp)))


def _runs(response: str, reference: str) -> list[Piece]:
    """For each length, the runs of characters (blanks aside) of the response, how many are in the reference, and of how many."""
    texts = "".join(response.split()), "".join(reference.split())
    rows = []
    for length in range(1, 7):
        ours, theirs = (Counter(text[at : at + length] for at in range(len(text) - length + 1)) for text in texts)
        found, given, wanted = (counts.total() for counts in (ours & theirs, ours, theirs))
        if given and wanted:
            name = f"character {length}-gram F2 in percent ({found} of {given} are right, of {wanted} wanted)"
            rows.append(part(name, 500 * found / (4 * wanted + given)))
    return rows


# The metric ``rouge_l``: the longest common subsequence of a response and a reference, as F1 (ROUGE-L; Lin, 2004).
#
# With ``m`` words in the response, ``n`` in the reference and ``k`` in the longest sequence of words that stand in both in one
# order, the value is ``2k / (m + n)``, the best over the references: 0..1, higher is nearer. Words are those of rouge-score:
# runs of ASCII letters and digits, lower-cased, so a text in another script has none and gives 0. The words in common have
# equal shares.

ROUGE_VERSION = 1


class RougeL(Compared):
    """The metric; see :func:`make`."""

    name = "rouge_l"

    def __init__(self, *, stemmer: bool) -> None:
        """See :func:`make`."""
        tokenizers = need("rouge_score.tokenizers", "baselines")
        self._tokenizer = tokenizers.DefaultTokenizer(flag(self.name, "stemmer", stemmer))
        parts = (("stemmer", "porter" if stemmer else "none"), ("rouge-score", version("rouge-score")))
        self.signature = Signature(self.name, parts, ROUGE_VERSION)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        response = self._tokenizer.tokenize(pair.response)
        best = Comparison(-1.0)
        for place, text in enumerate(pair.references):
            reference = self._tokenizer.tokenize(text)
            rows = _rows(response, reference)
            each = 2 / max(len(response) + len(reference), 1)
            value = each * _length(rows, reference)
            if value > best.value:
                words = _common(response, reference, rows) if explain else ()
                pieces = tuple(Piece("word", 1.0, each, name=f'"{word}"') for word in words)
                best = Comparison(value, (*pieces, *nearest(pair, place)) if explain else ())
        return best


def make_rouge(graph: Any = None, *, stemmer: bool = False) -> RougeL:  # noqa: ARG001
    """Return the metric.

    Args:
        stemmer: compare the stems of words of more than three letters (Porter), not the words.

    Raises:
        InputError: ``stemmer`` is neither true nor false.
        MissingExtra: rouge-score is not installed.
    """
    return RougeL(stemmer=stemmer)


def _rows(response: Sequence[str], reference: Sequence[str]) -> list[int]:
    """The table of the longest common subsequence, a row of bits for each word of the response, and one before them.

    In row ``i`` bit ``j`` is 0 where one more word is in common once word ``j`` of the reference is let in (Crochemore et al.,
    Information Processing Letters 80, 2001); whole rows are worked out at once, so 10,000 words beside 10,000 take no time.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(reference):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(reference)) - 1
    rows = [full]
    for word in response:
        row = rows[-1]
        met = row & places.get(word, 0)
        rows.append(((row + met) | (row - met)) & full)
    return rows


def _length(rows: Sequence[int], reference: Sequence[str]) -> int:
    """How many words the two have in common."""
    return len(reference) - rows[-1].bit_count()


def _common(response: Sequence[str], reference: Sequence[str], rows: Sequence[int]) -> tuple[str, ...]:
    """One longest common subsequence, read from the end of the table."""
    found = []
    at, until = len(response), len(reference)
    while at and until:
        below = (1 << until) - 1
        if (rows[at] & below).bit_count() == (rows[at - 1] & below).bit_count():
            at -= 1
        elif rows[at] >> (until - 1) & 1:
            until -= 1
        else:
            at, until = at - 1, until - 1
            found.append(reference[until])
    return tuple(reversed(found))


# The metric ``meteor``: words matched exactly, by stem and by synonym, less a penalty where they stand in another order.
#
# METEOR (Banerjee and Lavie, 2005) as nltk works it out, with the parameters of Lavie and Agarwal (WMT 2007): alpha 0.9, beta
# 3, gamma 0.5; the best over the references. It lies in 0..1, higher is nearer; ``m`` words that are those of the reference
# have ``1 - 0.5 / m^3``. Synonyms come from WordNet, which nltk downloads apart (``python -m nltk.downloader wordnet``); where
# it is not at hand they are left out, and the signature says ``synonyms:none``. The words matched have equal shares.

METEOR_VERSION = 1


class Meteor(Compared):
    """The metric; see :func:`make`."""

    name = "meteor"

    def __init__(self, *, synonyms: bool | None) -> None:
        """See :func:`make`."""
        self._meteor = need("nltk.translate.meteor_score", "baselines")
        self._tokenize = need("nltk.tokenize", "baselines").wordpunct_tokenize
        wanted = synonyms is None or flag(self.name, "synonyms", synonyms)
        wordnet = _wordnet() if wanted else None
        if synonyms and wordnet is None:
            raise InputError("nltk has no WordNet for synonyms; run: python -m nltk.downloader wordnet, or leave them out")
        self._wordnet = wordnet or _NoSynonyms()
        named = f"wordnet-{wordnet.get_version()}" if wordnet else "none"
        parts = (("tok", "wordpunct"), ("stemmer", "porter"), ("synonyms", named), ("nltk", version("nltk")))
        self.signature = Signature(self.name, parts, METEOR_VERSION)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        response = self._tokenize(pair.response)
        texts = [self._tokenize(reference) for reference in pair.references]
        values = [float(self._meteor.meteor_score([text], response, wordnet=self._wordnet)) for text in texts]
        place = values.index(max(values))
        pieces = (*self._pieces(response, texts[place], values[place]), *nearest(pair, place)) if explain else ()
        return Comparison(values[place], pieces)

    def _pieces(self, response: Sequence[str], reference: Sequence[str], value: float) -> tuple[Piece, ...]:
        """The words matched, and the numbers that they make."""
        matches, _, _ = self._meteor.align_words(response, reference, wordnet=self._wordnet)
        runs = sum(one not in {(left + 1, right + 1) for left, right in matches} for one in matches)
        found = len(matches)
        return (
            *(Piece("word", 1.0, value / found, name=_told(response[ours], reference[theirs])) for ours, theirs in matches),
            part(f"precision ({found} of {len(response)} words)", found / len(response)),
            part(f"recall ({found} of {len(reference)} words)", found / len(reference)),
            part(f"penalty ({runs} runs of {found} words)", 0.5 * (runs / found) ** 3 if found else 0.0),
        )


def make_meteor(graph: Any = None, *, synonyms: bool | None = None) -> Meteor:  # noqa: ARG001
    """Return the metric.

    Args:
        synonyms: match synonyms of WordNet; by default where nltk has it.

    Raises:
        InputError: synonyms are asked for and nltk has no WordNet.
        MissingExtra: nltk is not installed.
    """
    return Meteor(synonyms=synonyms)


class _NoSynonyms:
    """Stands in for WordNet where it is not: no word has another meaning the same."""

    def synsets(self, word: str) -> tuple[()]:  # noqa: ARG002
        """Return none."""
        return ()


def _wordnet() -> Any:
    """WordNet where nltk has it, else None."""
    wordnet = need("nltk.corpus", "baselines").wordnet
    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    return wordnet


def _told(ours: str, theirs: str) -> str:
    return f'"{ours}"' if ours.lower() == theirs.lower() else f'"{ours}" for "{theirs}"'
