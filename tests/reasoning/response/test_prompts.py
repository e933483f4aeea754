"""Which contexts become prompts, and the counted reasons for the others."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from tacit.graph.errors import InputError
from tacit.reasoning.response.prompts import Left, PromptFilter

from tests.api.conftest import Tacit

FIFTEEN = "Tracy went to the mall with a friend and they were seen by other relatives."


@pytest.mark.parametrize(
    ("context", "left"),
    [
        ("Tracy performed her function.", Left.SIMPLE),
        (FIFTEEN, Left.SIMPLE),
        (FIFTEEN.replace("other", "three other"), None),
        ("Tracy ate, and left.", None),
        ("Tracy ate. She left.", None),
        ("Tracy ate at 5.30 today", None),
        ('Tracy said "yes."', Left.SIMPLE),
        ("She ate, and left.", Left.NAMELESS),
        ("The ash fell, and it was grey.", Left.NAMELESS),
        ("taylor ate, and left.", None),
        ("They took Robin's car, and left.", None),
        (" . ", Left.BLANK),
    ],
)
def test_selection_of_prompts(context: str, left: Left | None) -> None:
    assert PromptFilter().judge(context).left == left


def test_contexts_are_distinct_and_names_in_order() -> None:
    chosen = PromptFilter()
    first, again = map(chosen.judge, ["Jordan  met Alex, and Jordan left.", "jordan met Alex and Jordan left!"])
    assert (first.text, first.names, first.left) == ("Jordan met Alex, and Jordan left.", ("Jordan", "Alex"), None)
    assert again.left is Left.REPEATED
    assert PromptFilter({"Zoe"}).judge("Zoe ate, and left.").left is None
    with pytest.raises(InputError, match="there are no names"):
        PromptFilter(())


def test_nearly_all_published_contexts_would_be_chosen(data_dir: Path) -> None:
    with gzip.open(data_dir / "dialogues" / "commonsense-dialogues-valid.jsonl.gz", "rt", encoding="utf-8") as lines:
        contexts = dict.fromkeys(json.loads(line)["context"] for line in lines)
    counts = Counter(prompt.left for prompt in map(PromptFilter().judge, contexts))
    assert counts[None] > 0.98 * len(contexts)


def test_the_command_counts_the_reasons(tacit: Tacit, tmp_path: Path) -> None:
    file = tmp_path / "contexts.jsonl"
    rows = ["Tracy ate, and left.", "Tracy ate, and left.", "Tracy ate.", "She ate, and left.", ""]
    file.write_text("".join(json.dumps({"context": row}) + "\n" for row in rows) + '{"text": 1}\n', encoding="utf-8")
    shown = tacit("prompts", file)
    assert shown.rows == [{"id": "1", "prompt": "Tracy ate, and left.", "names": ["Tracy"]}]
    assert "context is missing" in shown.err
    counts = tacit("prompts", file, "--output", tmp_path / "out.jsonl", "--json").json
    reasons = {"blank": 1, "repeated": 1, "15 words or fewer, without an inner comma or full stop": 1, "no person's name": 1}
    assert counts == {"read": 5, "kept": 1, "left_out": reasons, "errors": 1}
    (tmp_path / "names").write_text("\n", encoding="utf-8")
    assert "has no names" in tacit("prompts", file, "--names", tmp_path / "names").err
