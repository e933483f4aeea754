"""Count in how many turns of talk each word stands: writes the table that ``grounding`` corrects for chance with.

    python benchmarks/talk_counts.py DIALOGUES.jsonl[.gz]... [--output reasoning/metrics/talk.json] [--least 3]

The table that ships was counted in the valid and test parts of Topical-Chat (CDLA-Sharing 1.0). Words are the lemmas of content
words (nouns, proper nouns, verbs, adjectives and adverbs that are no stop words), each counted once a turn; those that occur in
fewer than ``--least`` turns are left out.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tacit.graph.storage import file_sha256
from tacit.loaders import Dialogue, read_dialogues
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.text.linking import CONTENT_POS

BATCH = 2048


def main() -> None:
    """Count and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "reasoning" / "metrics" / "talk.json")
    parser.add_argument("--least", type=int, default=3)
    arguments = parser.parse_args()

    turns = [
        turn
        for path in arguments.dialogues
        for dialogue in read_dialogues(path, strict=True)
        if isinstance(dialogue, Dialogue)
        for turn in dialogue.turns
    ]
    analyser = load_pipeline()
    counts: Counter[str] = Counter()
    for start in range(0, len(turns), BATCH):
        for tokens in analyser.analyse(turns[start : start + BATCH]):
            counts.update(
                {token.lemma.lower() for token in tokens if token.pos in CONTENT_POS and not token.stop and token.lemma.isalpha()}
            )
    table: dict[str, Any] = {
        "about": "in how many turns of Topical-Chat each word stands; made by benchmarks/talk_counts.py",
        "licence": "CDLA-Sharing-1.0",
        "pipeline": analyser.signature,
        "sources": {path.name: file_sha256(path) for path in arguments.dialogues},
        "turns": len(turns),
        "counts": {word: count for word, count in sorted(counts.items()) if count >= arguments.least},
    }
    arguments.output.write_text(json.dumps(table, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(table['counts']):,} words in {len(turns):,} turns: {arguments.output}")


if __name__ == "__main__":
    main()
