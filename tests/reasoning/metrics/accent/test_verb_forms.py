"""Agreement of verbs with their subject, by hand."""

from __future__ import annotations

import pytest
from tacit.reasoning.metrics.accent.verb_forms import base_form, third_person

VERBS = (
    ("buy", "buys"), ("go", "goes"), ("try", "tries"), ("play", "plays"), ("watch", "watches"), ("miss", "misses"),
    ("have", "has"), ("be", "is"), ("do", "does"), ("fix", "fixes"), ("use", "uses"), ("lose", "loses"), ("die", "dies"),
    ("raise", "raises"), ("choose", "chooses"), ("ache", "aches"),
)  # fmt: skip


@pytest.mark.parametrize(("base", "third"), VERBS)
def test_verbs_are_inflected_and_uninflected(base: str, third: str) -> None:
    assert third_person(base) == third
    assert base_form(third) == base
    assert base_form(base) == base
    assert third_person(third) == third


@pytest.mark.parametrize("verb", ["bought", "walked", "was", "can", "will", "went", "to"])
def test_tense_and_modality_are_kept(verb: str) -> None:
    assert third_person(verb) == verb
    assert base_form(verb) == verb
