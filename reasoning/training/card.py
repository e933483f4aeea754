"""The model card that travels with a trained pipeline, and its licence; its numbers were measured at the end of training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from .evaluation import Evaluation, Scores

_LABELS = {
    "token": "tokens", "tag": "treebank tags (XPOS)", "pos": "parts of speech (UPOS)", "morph": "features", "lemma": "lemmas",
    "lemma_uncased": "lemmas, case ignored",
    "uas": "unlabelled attachment", "las": "labelled attachment", "sentence": "sentence boundaries (F)",
}  # fmt: skip

_CARD = """\
# ewt_dialogue_sm

A small English spaCy pipeline for dialogue text: token vectors, treebank tags, parts of speech with features, dependencies and
lemmas. tacit uses it to find concepts in utterances; it loads with `spacy.load` alone.

| | |
|---|---|
| trained on | UD English-EWT, train split; half of the text in lower case with a space between all words |
| chosen on | the dev split (mean of tags, parts of speech, lemmas and labelled attachment) |
| command | `tacit train pipeline TREEBANK_DIR --output DIR --seed {seed} --max-steps {max_steps}` |
| seed | {seed} |
| spaCy | {spacy} |
| size | {size:.1f} MB |
| licence | CC BY-SA 4.0, as the treebank's (see LICENSE) |

## Scores

Measured on the whole test split, {sentences:,} sentences and {words:,} words, from raw text, in percent.

| | as written | as dialogue |
|---|---|---|
{rows}

"As dialogue" is the same text in lower case with its words apart, as DailyDialog and its kin are written. In the
row "lemmas" a lower-case "london" whose gold lemma is "London" counts as wrong.

## Data

{files}

Silveira, Dozat, de Marneffe, Bowman, Connor, Bauer and Manning (2014): *A Gold Standard Dependency Corpus for English*, LREC.
The text comes from weblogs, newsgroups, emails, reviews and answers; other kinds of text will fare worse, and what these sites
say about people is in the data that was learnt from.
"""

_LICENSE = """\
ewt_dialogue_sm is licensed under the Creative Commons Attribution-ShareAlike 4.0 International Licence (CC BY-SA 4.0).
The text of the licence: https://creativecommons.org/licenses/by-sa/4.0/legalcode

It was trained on Universal Dependencies English-EWT, which is available under CC BY-SA 4.0:
https://github.com/UniversalDependencies/UD_English-EWT (Natalia Silveira, Timothy Dozat, Christopher Manning,
Sebastian Schuster, Ethan Chi, John Bauer, Miriam Connor, Marie-Catherine de Marneffe, Nathan Schneider, Sam Bowman,
Hanzhi Zhu, Daniel Galbraith and the other contributors named there).
"""


def write_card(folder: Path, result: Evaluation, *, seed: int, max_steps: int, files: Sequence[Path]) -> None:
    """Write ``README.md``, ``LICENSE`` and ``scores.json`` into the pipeline's ``folder``."""
    from spacy.about import __version__

    rows = []
    for name in (field.name for field in fields(Scores)):
        written, dialogue = 100 * getattr(result.written, name), 100 * getattr(result.dialogue, name)
        rows.append(f"| {_LABELS[name]} | {written:.1f} | {dialogue:.1f} |")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    sums = [f"- `{path.name}`, sha256 `{hashlib.sha256(path.read_bytes()).hexdigest()}`" for path in files]
    card = _CARD.format(
        seed=seed, max_steps=max_steps, spacy=__version__, size=size, sentences=result.sentences, words=result.words,
        rows="\n".join(rows), files="\n".join(sums),
    )  # fmt: skip
    (folder / "README.md").write_text(card, encoding="utf-8")
    (folder / "LICENSE").write_text(_LICENSE, encoding="utf-8")
    (folder / "scores.json").write_text(json.dumps(result.to_dict(), indent=2) + "\n", encoding="utf-8")
