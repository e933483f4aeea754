"""The pipeline that ships: small, licensed, loadable by spaCy alone, and as good as its card says."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import pytest
from tacit.reasoning.text.language import SHIPPED
from tacit.reasoning.training.pipeline import evaluate, read_treebank


def test_it_is_small_and_licensed() -> None:
    size = sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file())
    assert 1e6 < size < 6e6
    assert "CC BY-SA 4.0" in (SHIPPED / "LICENSE").read_text(encoding="utf-8")


def test_the_card_shows_the_measured_scores() -> None:
    scores = json.loads((SHIPPED / "scores.json").read_text(encoding="utf-8"))
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    for name, label in (("tag", "treebank tags (XPOS)"), ("lemma", "lemmas"), ("las", "labelled attachment")):
        assert f"| {label} | {100 * scores['written'][name]:.1f} | {100 * scores['dialogue'][name]:.1f} |" in card
    assert "tacit train pipeline" in card
    assert "seed" in card


def test_it_holds_no_web_or_mail_address_and_no_folder_of_the_treebank_or_the_machine_that_made_it() -> None:
    for path in SHIPPED.rglob("*"):
        if path.is_file() and path.name not in ("README.md", "LICENSE"):
            content = path.read_bytes()
            assert not re.search(rb"https?://[a-z]|www\.|[a-z]@[a-z]+\.[a-z]{2}|/home/|/tmp/|/work/", content), path


@pytest.mark.slow
def test_scores_can_be_had_again(data_dir: Path) -> None:
    import spacy

    sentences = list(islice(read_treebank(data_dir / "treebank" / "en_ewt-test.conllu.gz"), 400))
    found = evaluate(spacy.load(SHIPPED), sentences)
    card = json.loads((SHIPPED / "scores.json").read_text(encoding="utf-8"))
    for kind, got in (("written", found.written), ("dialogue", found.dialogue)):
        for name, value in card[kind].items():
            near = 0.1 if name == "sentence" else 0.05  # a slice of one genre has sentences of its own kind
            assert getattr(got, name) == pytest.approx(value, abs=near), (kind, name)
