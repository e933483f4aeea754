"""Two processes, of which one has another hash seed, give the same rows, evidence and signatures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.index import build_from_rows, open_index_directory
from tacit.graph.model import Assertion
from tacit.reasoning import load_metric, score_items
from tacit.reasoning.text.language import SpacyAnalyser

from tests.reasoning.metrics.grade.tiny_grade import tiny_checkpoint
from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.test_score_items import ITEMS as SAID
from tests.reasoning.training.tiny_dialogues import tiny_dialogues

ITEMS: list[tuple[Any, Any, Any]] = [
    *SAID[:7],
    ("eight", ["My dog is at home.", "the dog wants a bone " * 200], "Give it a bone, or " + "food " * 100),
]
PROGRAM = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from tests.reasoning import test_two_processes as t; "
)


def scored(folder: Path) -> tuple[list[str], list[Any]]:
    """The rows of ``grounding`` as they are printed, and the rows of metrics with models."""
    with open_index_directory(folder / "index") as index:
        grounding = load_metric("grounding", index)
        encoder = folder / "encoder"
        neural = [
            load_metric("grade", index, model=folder / "grade", encoder=encoder),
            load_metric("coherence", checkpoint=folder / "coherence", encoder=encoder),
        ]
        printed = [json.dumps(row.to_dict(explain=True)) for row in score_items(ITEMS, [grounding], batch_size=5, explain=True)]
        rows = [row.to_dict() for row in score_items(ITEMS, neural, batch_size=5)]
        return printed, [*rows, *(str(metric.signature) for metric in neural)]


@pytest.fixture
def folder(world: list[Assertion], analyser: SpacyAnalyser, tmp_path: Path) -> Path:
    """An index, and tiny checkpoints of two metrics over one tiny encoder."""
    pytest.importorskip("transformers")
    from tacit.reasoning.metrics.grade.checkpoint import save_checkpoint
    from tacit.reasoning.models.encoder import open_encoder
    from tacit.reasoning.training.coherence import train_coherence
    from tacit.reasoning.training.recipe import CoherenceRecipe, HeadRecipe

    encoder = open_encoder(save_tiny_encoder(tmp_path / "encoder", modes=("mean",)))
    with open_index_directory(build_from_rows(world, tmp_path / "index")) as index:
        save_checkpoint(tiny_checkpoint(index, analyser, encoder), tmp_path / "grade", "")
    (tmp_path / "coherence").mkdir()
    recipe = CoherenceRecipe(head=HeadRecipe(width=8, epochs=4, batch=32))
    train_coherence({"tiny": tiny_dialogues(80)}, encoder, tmp_path / "coherence", recipe=recipe)
    return tmp_path


def test_two_processes_give_the_same_rows(folder: Path) -> None:
    printed, rows = scored(folder)
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    program = PROGRAM + f"print(t.json.dumps(t.scored(t.Path({str(folder)!r}))))"
    output = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
    )
    there_printed, there_rows = json.loads(output.stdout)
    assert there_printed == printed
    assert len(printed) == len(ITEMS)
    *there_items, there_grade, there_coherence = there_rows
    *items, grade, coherence = json.loads(json.dumps(rows))
    assert (there_grade, there_coherence) == (grade, coherence)
    for there, here in zip(there_items, items, strict=True):
        assert there.pop("scores", {}) == pytest.approx(here.pop("scores", {}), abs=1e-6, nan_ok=True)
        assert there == here
    assert sum(row.get("error") is None for row in items) >= 5
