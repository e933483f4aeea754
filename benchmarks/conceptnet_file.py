"""A synthetic file in ConceptNet's assertion format, of any size: 34 million lines are as many as ConceptNet 5.7 has.

The official file cannot be shipped, so the benchmarks of loading write this one. Shapes of lines follow the datasets that make up
ConceptNet 5.7 (Wiktionary, Open Mind Common Sense, WordNet, Verbosity, DBPedia), with senses, surface texts and several sources.
Lines are ordered by relation, language and head, about as the official ones are, because that decides how well the file
compresses and where a load finds its nodes. A tenth of the lines is English at both ends, in the relations' official shares;
the shares of the other relations and of the languages are estimates. Half
of the ends are drawn by power laws, so that a few hubs hold a large part of all assertions. No line occurs twice.

With a real file of ConceptNet's format (``--real``), its lines come first within their relations and count as part of the total.
"""

from __future__ import annotations

import argparse
import gzip
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_WORDS_PER_LINE = 0.45
"""Words of all languages for each line; the official file has .83 URIs a line, with senses and external URLs."""
_FORMS = 0.55
"""Share of a language's words that are inflected forms, which occur as heads of FormOf only."""
_CHUNK = 20_000
_ENDINGS = 4096
_CONTEXTS = 3000

_LARGE = {
    "en": 0.12, "fr": 0.13, "la": 0.11, "it": 0.09, "es": 0.08, "de": 0.07, "ru": 0.06, "pt": 0.04, "fi": 0.04, "ja": 0.04,
    "zh": 0.03, "nl": 0.03, "pl": 0.02, "sh": 0.02, "bg": 0.02,
}  # fmt: skip
_OTHER_CODES = (
    "af ang ar ast az be ca cs cy da el enm eo et eu fa fil fo fro ga gd gl grc gv he hi hsb hu hy io is ka kk ko ku lt lv mg mk "
    "ms mul no non nrf nv oc ro rup sa se sk sl sq sv sw ta te th tr uk ur vi vo"
)
_SCRIPTS = {
    "бвгджзклмнпрстфхц:аеиоу": "ru bg be mk uk kk",
    "かきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわん": "ja",
    "人大中国水火山学生天年月日本子女小上下左右手足口目耳木林森田力男金土石花草虫犬鳥魚車門": "zh",
    "가나다라마바사아자차카타파하고노도로모보소오조초": "ko",
    "بتثجحخدرزسشصطعفقكلمنهوي": "ar fa ur",
    "βγδζθκλμνπρστφχ:αεηιου": "el grc",
    "कखगघचछजटठडतथदनपबमयरलवसह": "hi sa",
}
_LATIN = "bcdfghlmnprstvz:aeiou"

# relation, share of the lines that are English at both ends, form of the line
_ENGLISH = (
    ("RelatedTo", 0.47, "wiktionary"), ("FormOf", 0.11, "form"), ("DerivedFrom", 0.09, "wiktionary"),
    ("HasContext", 0.07, "context"), ("IsA", 0.07, "wordnet"), ("Synonym", 0.065, "wordnet"), ("UsedFor", 0.015, "omcs"),
    ("EtymologicallyRelatedTo", 0.01, "wiktionary"), ("SimilarTo", 0.01, "wordnet"), ("AtLocation", 0.01, "omcs"),
    ("HasSubevent", 0.01, "omcs"), ("HasPrerequisite", 0.01, "omcs"), ("CapableOf", 0.01, "omcs"), ("Antonym", 0.01, "verbosity"),
    ("Causes", 0.01, "omcs"), ("PartOf", 0.01, "wordnet"), ("MannerOf", 0.01, "wordnet"), ("dbpedia/genre", 0.01, "dbpedia"),
)  # fmt: skip
# the same for the other lines
_OTHERS = (
    ("ExternalURL", 0.19, "url"), ("FormOf", 0.28, "form"), ("RelatedTo", 0.18, "wiktionary"), ("Synonym", 0.16, "wiktionary"),
    ("DerivedFrom", 0.06, "wiktionary"), ("HasContext", 0.06, "context"), ("IsA", 0.03, "wordnet"),
    ("EtymologicallyRelatedTo", 0.02, "wiktionary"), ("EtymologicallyDerivedFrom", 0.01, "wiktionary"),
    ("Antonym", 0.01, "wiktionary"),
)  # fmt: skip

_DETAILS = {
    "wiktionary": (
        '{{"dataset": "/d/wiktionary/{language}", "license": "cc:by-sa/4.0", "sources": [{{"contributor": '
        '"/s/resource/wiktionary/{language}", "process": "/s/process/wikiparsec/2"}}], "weight": {whole}}}'
    ),
    "omcs": (
        '{{"dataset": "/d/conceptnet/4/{language}", "license": "cc:by/4.0", "sources": [{{"activity": '
        '"/s/activity/omcs/omcs1_possibly_free_text", "contributor": "/s/contributor/omcs/user{user}"}}], "surfaceEnd": "{end}", '
        '"surfaceStart": "{start}", "surfaceText": "Something you find at [[{end}]] is [[{start}]]", "weight": {weight}}}'
    ),
    "wordnet": (
        '{{"dataset": "/d/wordnet/3.1", "license": "cc:by/4.0", "sources": [{{"contributor": "/s/resource/wordnet/rdf/3.1"}}], '
        '"surfaceEnd": "{end}", "surfaceStart": "{start}", "surfaceText": "[[{start}]] is a type of [[{end}]]", "weight": 2.0}}'
    ),
    "verbosity": (
        '{{"dataset": "/d/verbosity", "license": "cc:by/4.0", "sources": [{{"contributor": "/s/resource/verbosity", "process": '
        '"/s/process/split_words"}}, {{"contributor": "/s/resource/verbosity"}}], "surfaceEnd": "{end}", "surfaceStart": '
        '"{start}", "surfaceText": "[[{start}]] is the opposite of [[{end}]]", "weight": {weight}}}'
    ),
    "dbpedia": (
        '{{"dataset": "/d/dbpedia/en", "license": "cc:by-sa/4.0", "sources": [{{"activity": "/s/activity/dbpedia/2015-10", '
        '"contributor": "/s/resource/dbpedia/2015/en"}}], "weight": 0.5}}'
    ),
}
_DETAILS |= {"form": _DETAILS["wiktionary"], "context": _DETAILS["wiktionary"], "url": _DETAILS["dbpedia"]}
_PLAIN = ("wiktionary", "form", "context")
"""Forms of a line without surface texts."""
_SENSES = {
    "wiktionary": ("", "/n", "", "/n", "/v", "/a"), "form": ("/n", "/v", "/a", "/v"), "context": ("/n", "", "/v", "/n"),
    "wordnet": ("/n/wn/act", "/n/wn/animal", "/n/wn/artifact", "/v/wn/motion"),
}  # fmt: skip

Numbers = NDArray[np.int64]


class Words:
    """The words of a language: a beginning and one of 4,096 endings, as text for a number below ``count``."""

    def __init__(self, language: str, count: int, rng: np.random.Generator) -> None:
        letters = next((script for script, codes in _SCRIPTS.items() if language in codes.split()), _LATIN)
        first, _, second = letters.partition(":")
        syllables = [a + b for a in first for b in second] if second else list(first)
        self.count = max(count, 8)
        self.lemmas = max(int(self.count * (1 - _FORMS)), 4)
        endings = rng.permutation(len(syllables) ** 3)[:_ENDINGS].tolist()
        size = len(syllables)
        texts = sorted(syllables[n % size] + syllables[n // size % size] + syllables[n // size // size] for n in endings)
        self._endings, self._size = texts, len(texts)
        beginnings: set[str] = set()
        while len(beginnings) < self.count // self._size + 1:
            picks = rng.integers(0, size, rng.integers(0, 4)).tolist()
            beginnings.add("".join(syllables[pick] for pick in picks) + ("_" if picks and not picks[0] % 4 else ""))
        self._beginnings = sorted(beginnings)

    def text(self, number: int) -> str:
        """Return the word of this number."""
        beginning, ending = divmod(number, self._size)
        text: str = self._beginnings[beginning] + self._endings[ending]
        return text


class Block(NamedTuple):
    """Lines of one relation whose heads are of one language: ``number`` of them, with a form of :data:`_DETAILS`."""

    relation: str
    language: str
    form: str
    number: int


def lines(count: int, seed: int = 0, real: Path | None = None) -> Iterator[str]:
    """Yield ``count`` lines, without newlines, the same for the same arguments; those of ``real`` are among them."""
    rng = np.random.default_rng(seed)
    real_lines: dict[str, list[str]] = {}
    if real is not None:
        with gzip.open(real, "rt", encoding="utf-8") as file:
            for line in file:
                real_lines.setdefault(line.split("\t", 2)[1].removeprefix("/r/"), []).append(line.rstrip("\n"))
    other_codes = _OTHER_CODES.split()
    shares = _LARGE | {code: (1 - sum(_LARGE.values())) / len(other_codes) for code in other_codes}
    vocabulary = {code: Words(code, int(share * count * _WORDS_PER_LINE), rng) for code, share in shares.items()}
    blocks = _blocks(count - sum(map(len, real_lines.values())), shares)
    for relation in sorted({*real_lines, *(block.relation for block in blocks)}):
        yield from real_lines.get(relation, ())
        for block in blocks:
            if block.relation == relation:
                yield from _lines(block, vocabulary, rng)


def _blocks(count: int, shares: dict[str, float]) -> list[Block]:
    """Return blocks of ``count`` lines in total, by language within each relation."""
    english = count // 10
    blocks = [Block(name, "en", form, int(english * share)) for name, share, form in _ENGLISH]
    for name, share, form in _OTHERS:
        for code in sorted(shares):
            if form != "form" or code != "en":
                blocks.append(Block(name, code, form, int((count - english) * share * shares[code])))
    remainder = count - sum(block.number for block in blocks)
    largest = max(range(len(blocks)), key=lambda index: blocks[index].number)
    blocks[largest] = blocks[largest]._replace(number=blocks[largest].number + remainder)
    return blocks


def _hubs(rng: np.random.Generator, among: int, count: int) -> Numbers:
    """Draw ``count`` of ``among`` numbers by Zipf's law, the frequent ones at scattered places."""
    rank = np.exp(rng.random(count) * np.log(among)).astype(np.int64) - 1
    numbers: Numbers = (rank * 7_919 + 13) % among
    return numbers


def _lines(block: Block, vocabulary: dict[str, Words], rng: np.random.Generator) -> Iterator[str]:
    relation, language, form, count = block
    if not count:
        return
    words, number_drawn = vocabulary[language], count + count // 8 + 16
    within_language = (relation, form) in {(name, of) for name, _, of in _ENGLISH} and language == "en" and form != "wiktionary"
    if form == "form":
        head = rng.integers(words.lemmas, words.count, number_drawn)
    else:
        head = np.where(
            rng.random(number_drawn) < 0.75, rng.integers(0, words.lemmas, number_drawn), _hubs(rng, words.lemmas, number_drawn)
        )
    codes = sorted(vocabulary)
    own_code, english = codes.index(language), codes.index("en")
    if form in ("form", "url") or within_language:
        code = np.full(number_drawn, own_code)
    elif form == "context":
        code = np.full(number_drawn, english)
    else:
        others = np.array([own_code, english, *map(codes.index, ("fr", "de", "ru"))])
        code = others[rng.choice(5, number_drawn, p=(0.3, 0.4, 0.1, 0.1, 0.1))]
    sizes = np.array([vocabulary[name].lemmas for name in codes])[code]
    if form == "context":
        sizes = np.minimum(sizes, _CONTEXTS)
    scattered = (rng.random(number_drawn) * sizes).astype(np.int64)
    tail = np.where(rng.random(number_drawn) < 0.5, scattered, 0)
    for size in np.unique(sizes).tolist():
        indices = np.flatnonzero((tail == 0) & (sizes == size))
        tail[indices] = _hubs(rng, size, len(indices))
    keys = np.unique((head << 34) | (tail << 8) | code)
    while len(keys) > count:
        keys = np.delete(keys, rng.choice(len(keys), len(keys) - count, replace=False))
    weights = np.round(np.sqrt(rng.integers(1, 30, len(keys))), 3).tolist()
    details, senses = _DETAILS[form], _SENSES.get(form, ("",))
    plain = details.format(language=language, whole="1.0") if form in _PLAIN else ""
    texts = [vocabulary[name] for name in codes]
    columns = ((keys >> 34).tolist(), (keys >> 8 & 0x3FFFFFF).tolist(), (keys & 0xFF).tolist(), weights)
    for head_number, tail_number, tail_code, weight in zip(*columns, strict=True):
        start, end = words.text(head_number), texts[tail_code].text(tail_number)
        from_, to = f"/c/{language}/{start}{senses[(head_number + tail_number) % len(senses)]}", f"/c/{codes[tail_code]}/{end}"
        if form == "url":
            to = f"http://{language}.dbpedia.org/resource/{end.capitalize()}"
        elif form == "wordnet":
            to += senses[0]
        yield f"/a/[/r/{relation}/,{from_}/,{to}/]\t/r/{relation}\t{from_}\t{to}\t" + (
            plain
            or details.format(
                language=language,
                user=head_number % 997,
                weight=weight,
                whole="1.0",
                start=start.replace("_", " "),
                end=end.replace("_", " "),
            )
        )
    missing = count - len(keys)
    for number in range(missing):  # a small vocabulary has too few pairs: tails that occur once
        from_, to = f"/c/{language}/{words.text(number % words.lemmas)}", f"/c/{language}/{words.text(0)}_{number}"
        yield f"/a/[/r/{relation}/,{from_}/,{to}/]\t/r/{relation}\t{from_}\t{to}\t{_DETAILS['dbpedia'].format()}"


def write(path: Path, count: int, seed: int = 0, real: Path | None = None) -> int:
    """Write ``count`` lines to ``path`` as gzip, at gzip's own level 6, and return the number of bytes before compression."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, 31)
    pending: deque[Future[bytes]] = deque()
    size = 0
    chunk: list[str] = []
    with path.open("wb") as file, ThreadPoolExecutor(1) as thread:

        def compress() -> None:
            nonlocal size
            data = "".join(f"{line}\n" for line in chunk).encode()
            size += len(data)
            chunk.clear()
            pending.append(thread.submit(compressor.compress, data))
            while len(pending) > 4:
                file.write(pending.popleft().result())

        for line in lines(count, seed, real):
            chunk.append(line)
            if len(chunk) == _CHUNK:
                compress()
        compress()
        for future in pending:
            file.write(future.result())
        file.write(compressor.flush())
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", type=Path)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", type=Path, help="a gzip file of ConceptNet's format whose lines are to be among them")
    arguments = parser.parse_args()
    size = write(arguments.path, arguments.lines, arguments.seed, arguments.real)
    print(f"{arguments.lines:,} lines, {size:,} bytes, {arguments.path.stat().st_size:,} compressed")


if __name__ == "__main__":
    main()
