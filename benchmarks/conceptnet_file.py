"""A synthetic file in ConceptNet's assertion format: many languages, realistic line lengths, about a tenth English at both ends.

The official file cannot be shipped, so the loading benchmark writes this one. Shapes of lines follow the datasets that make up
ConceptNet 5.7 (Wiktionary, Open Mind Common Sense, WordNet, Verbosity, DBPedia, JMDict), with senses, surface texts and several
sources; lines are sorted as the official ones are, because that decides how well the file compresses.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ENGLISH_SHARE = 0.1
_BATCH = 100_000

_LANGUAGES = (
    "fr",
    "de",
    "la",
    "it",
    "es",
    "ru",
    "pt",
    "ja",
    "zh",
    "nl",
    "fi",
    "pl",
    "sh",
    "bg",
    "ar",
    "ko",
    "ms",
    "eo",
    "ca",
    "enm",
)
_SYLLABLES = {
    "ru": "ба ве ги до жу ла ме ни по ру са те", "bg": "ба ве ги до жу ла ме ни по ру са те",
    "ja": "か き く け こ さ し す せ そ た ち", "zh": "人 大 中 国 水 火 山 学 生 天 年 月",
    "ar": "با تي سو لا مي نو را كي دا فو", "ko": "가 나 다 라 마 바 사 아 자 차",
}  # fmt: skip
_LATIN = "ba ce di fo gu la me ni po ru sa te vi lo ka tion er an in es el or"

_WIKTIONARY = (
    '{{"dataset": "/d/wiktionary/{0}", "license": "cc:by-sa/4.0", "sources": [{{"contributor": "/s/resource/wiktionary/{0}", '
    '"process": "/s/process/wikiparsec/2"}}], "weight": 1.0}}'
)
_OMCS = (
    '{{"dataset": "/d/conceptnet/4/en", "license": "cc:by/4.0", "sources": [{{"activity": '
    '"/s/activity/omcs/omcs1_possibly_free_text", "contributor": "/s/contributor/omcs/user{0}"}}], "surfaceEnd": "{2}", '
    '"surfaceStart": "{1}", "surfaceText": "You are likely to find [[{1}]] in [[{2}]]", "weight": {3}}}'
)
_WORDNET = (
    '{{"dataset": "/d/wordnet/3.1", "license": "cc:by/4.0", "sources": [{{"contributor": "/s/resource/wordnet/rdf/3.1"}}], '
    '"surfaceEnd": "{1}", "surfaceStart": "{0}", "surfaceText": "[[{0}]] is a type of [[{1}]]", "weight": 2.0}}'
)
_VERBOSITY = (
    '{{"dataset": "/d/verbosity", "license": "cc:by/4.0", "sources": [{{"contributor": "/s/resource/verbosity", "process": '
    '"/s/process/split_words"}}, {{"contributor": "/s/resource/verbosity"}}], "surfaceEnd": "{1}", "surfaceStart": "{0}", '
    '"surfaceText": "[[{0}]] is related to [[{1}]]", "weight": {2}}}'
)
_DBPEDIA = (
    '{"dataset": "/d/dbpedia/en", "license": "cc:by-sa/4.0", "sources": [{"activity": "/s/activity/dbpedia/2015-10", '
    '"contributor": "/s/resource/dbpedia/2015/en"}], "weight": 0.5}'
)


def _words(language: str, count: int, rng: np.random.Generator) -> list[str]:
    syllables = _SYLLABLES.get(language, _LATIN).split()
    sizes = rng.integers(2, 5, count)
    picks = rng.integers(0, len(syllables), (count, 4))
    words = ["".join(syllables[j] for j in row[:size]) for row, size in zip(picks.tolist(), sizes.tolist(), strict=True)]
    return [word if i % 4 else f"{word}_{words[i // 2]}" for i, word in enumerate(words)]


def lines(count: int, seed: int = 0) -> Iterator[str]:
    """Yield ``count`` lines, without newlines, the same for the same seed; ``ENGLISH_SHARE`` of them English at both ends."""
    rng = np.random.default_rng(seed)
    vocabulary = {language: _words(language, 40_000, rng) for language in ("en", *_LANGUAGES)}
    written = 0
    while written < count:
        batch = min(_BATCH, count - written)
        english = rng.random(batch) < ENGLISH_SHARE
        languages = rng.zipf(1.6, (batch, 2)) % len(_LANGUAGES)
        words = (rng.zipf(1.3, (batch, 2)) + rng.integers(0, 20_000, (batch, 2))) % 40_000
        kinds = rng.random(batch)
        weights = np.round(np.sqrt(rng.integers(1, 30, batch)), 3)
        rows = []
        columns = (english.tolist(), languages.tolist(), words.tolist(), kinds.tolist(), weights.tolist())
        for both, (first, second), (a, b), kind, weight in zip(*columns, strict=True):
            rows.append(_line(vocabulary, both, _LANGUAGES[first], _LANGUAGES[second], a, b, kind, weight))
        rows.sort()
        yield from rows
        written += batch


def _line(
    vocabulary: dict[str, list[str]], both: bool, first: str, second: str, a: int, b: int, kind: float, weight: float
) -> str:
    if both:
        head, tail = vocabulary["en"][a], vocabulary["en"][b]
        start, end = head.replace("_", " "), tail.replace("_", " ")
        if kind < 0.6:
            return _assertion("RelatedTo", f"/c/en/{head}/n", f"/c/en/{tail}", _WIKTIONARY.format("en"))
        if kind < 0.7:
            return _assertion("IsA", f"/c/en/{head}/n", f"/c/en/{tail}/n/wn/act", _WORDNET.format(start, end))
        if kind < 0.87:
            return _assertion("AtLocation", f"/c/en/{head}", f"/c/en/{tail}", _OMCS.format(a % 997, start, end, weight))
        if kind < 0.95:
            return _assertion("RelatedTo", f"/c/en/{head}", f"/c/en/{tail}", _VERBOSITY.format(start, end, weight))
        return _assertion("dbpedia/genre", f"/c/en/{head}", f"/c/en/{tail}", _DBPEDIA)
    head, tail = f"/c/{first}/{vocabulary[first][a]}", f"/c/{second}/{vocabulary[second][b]}"
    if kind < 0.03:
        return _assertion("ExternalURL", head, f"http://{first}.dbpedia.org/resource/{vocabulary[first][a]}", _DBPEDIA)
    if kind < 0.4:
        return _assertion("FormOf", head + "/v", f"/c/{first}/{vocabulary[first][b]}/v", _WIKTIONARY.format(first))
    if kind < 0.6:
        return _assertion("Synonym", head, f"/c/en/{vocabulary['en'][b]}", _WIKTIONARY.format("en"))
    if kind < 0.7:
        return _assertion("RelatedTo", f"/c/en/{vocabulary['en'][a]}/n", tail + "/n", _WIKTIONARY.format("en"))
    return _assertion("RelatedTo", head, tail, _WIKTIONARY.format("fr"))


def _assertion(relation: str, head: str, tail: str, rest: str) -> str:
    return f"/a/[/r/{relation}/,{head}/,{tail}/]\t/r/{relation}\t{head}\t{tail}\t{rest}"


def write(path: Path, count: int, seed: int = 0) -> int:
    """Write ``count`` lines to ``path`` as gzip, at gzip's own level 6, and return the number of bytes before compression."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, 31)
    size = 0
    pending: list[str] = []
    with path.open("wb") as file:
        for line in lines(count, seed):
            pending.append(line)
            if len(pending) == 20_000:
                data = ("\n".join(pending) + "\n").encode()
                size += len(data)
                file.write(compressor.compress(data))
                pending.clear()
        data = "".join(line + "\n" for line in pending).encode()
        size += len(data)
        file.write(compressor.compress(data) + compressor.flush())
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("path", type=Path)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    size = write(arguments.path, arguments.lines, arguments.seed)
    print(f"{arguments.lines:,} lines, {size:,} bytes, {arguments.path.stat().st_size:,} compressed")


if __name__ == "__main__":
    main()
