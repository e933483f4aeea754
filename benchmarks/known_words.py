"""Writes the words that the check of texts knows, ``reasoning/text/words.txt``: frequent words of three free corpora.

    python benchmarks/known_words.py DATA_DIR [--least 8]

Topical-Chat's turns (CDLA-Sharing-1.0), the sentences of UD English-EWT (CC BY-SA 4.0), and the distinct heads and tails of
ATOMIC-2020 (CC BY 4.0), which is about everyday life. A word is kept that occurs ``--least`` times in all of them together.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parents[1] / "reasoning" / "text" / "words.txt"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

_PLACEHOLDERS = {f"person{letter}{ending}" for letter in "xyz" for ending in ("", "'s")}


def _lines(files: list[Path]) -> Iterator[str]:
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield line.rstrip("\n")


def texts(data: Path) -> Iterator[str]:
    """Yield the texts of the three corpora in the folders of ``data``."""
    for line in _lines(sorted(data.glob("dialogues/topical-chat-*.jsonl.gz"))):
        yield from json.loads(line)["turns"]
    for line in _lines(sorted(data.glob("treebank/en_ewt-*.conllu.gz"))):
        if line.startswith("# text = "):
            yield line.removeprefix("# text = ")
    phrases = _lines([data / "atomic2020" / f"{part}.tsv.gz" for part in ("train", "dev", "test")])
    yield from sorted({phrase for line in phrases for phrase in line.split("\t")[::2]})


def main() -> None:
    """Count and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--least", type=int, default=8)
    options = parser.parse_args()
    if options.data is None:
        print("not written: name a folder with dialogues, treebank and atomic2020")
        return
    counts = Counter(word.replace("’", "'") for text in texts(options.data) for word in _WORD.findall(text.lower()))
    words = sorted(word for word, number in counts.items() if number >= options.least and word not in _PLACEHOLDERS)
    FILE.write_text("\n".join(words) + "\n", encoding="utf-8")
    print(f"{len(words):,} words written to {FILE}")


if __name__ == "__main__":
    main()
