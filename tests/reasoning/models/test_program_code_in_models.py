"""Model folders that bring program code: it is never run, and what waits on stdin answers no library's question."""

from __future__ import annotations

import ast
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import ModelError, TacitError

ROOT = Path(__file__).parents[3]
OPENERS = {"from_pretrained", "SentenceTransformer", "CrossEncoder"}
WAITING = "y\n" * 20


def opening_calls(path: Path) -> list[ast.Call]:
    """Return the calls in a module that open a model, a tokenizer or a configuration of transformers or its relatives."""
    calls, text = [], path.read_text(encoding="utf-8")
    if not any(name in text for name in (*OPENERS, "from_config")):
        return []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in OPENERS or (name == "from_config" and "Auto" in ast.unparse(node.func)):
                calls.append(node)
    return calls


def test_every_call_that_opens_a_model_forbids_code() -> None:
    calls = {
        f"{path.relative_to(ROOT)}:{call.lineno}": call
        for folder in ("graph", "loaders", "reasoning", "api", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for call in opening_calls(path)
    }
    assert any(location.startswith("reasoning/models/hub.py") for location in calls)
    allowed = {
        location for location, call in calls.items() if {"trust_remote_code": "False"}.items()
        <= {word.arg: ast.unparse(word.value) for word in call.keywords}.items()
    }  # fmt: skip
    assert not calls.keys() - allowed


def openers() -> dict[str, Callable[[Path], Any]]:
    """Return every way in which the project opens a model folder that a user names."""
    from tacit.reasoning.metrics.accent.scorers.kgbert import open_kgbert
    from tacit.reasoning.metrics.accent.tails.comet import open_comet
    from tacit.reasoning.models.causal_lm import open_causal
    from tacit.reasoning.models.cross_encoder import open_cross_encoder, with_new_head
    from tacit.reasoning.models.encoder import open_encoder
    from tacit.reasoning.models.hub import find_model, is_seq2seq, open_tokenizer
    from tacit.reasoning.registry import load_metric, open_extractor

    return {
        "causal": open_causal,
        "encoder": open_encoder,
        "t5": lambda folder: open_extractor("t5", model=str(folder)),
        "comet": open_comet,
        "kg-bert": open_kgbert,
        "cross-encoder": open_cross_encoder,
        "new-head": lambda folder: with_new_head(find_model(folder), 2, "cpu", 0),
        "bertscore": lambda folder: load_metric("bertscore", encoder=str(folder)),
        "kind": lambda folder: is_seq2seq(find_model(folder)),
        "tokenizer": lambda folder: open_tokenizer(find_model(folder)),
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    from tests.reasoning.models.tiny_encoder import save_tiny_encoder

    return save_tiny_encoder(tmp_path_factory.mktemp("plain") / "tiny", modes=("mean",))


def folder_with_code(plain: Path, folder: Path, marker: Path, kind: str | None) -> Path:
    """Copy a model folder and let its settings ask for code beside it that leaves ``marker`` when it runs; return the copy."""
    shutil.copytree(plain, folder)
    (folder / "code.py").write_text(f"open({str(marker)!r}, 'w').write('ran')\nclass Own: pass\n", encoding="utf-8")
    names = ("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForSequenceClassification")
    for file, requested in (
        ("config.json", dict.fromkeys(names, "code.Own")), ("tokenizer_config.json", {"AutoTokenizer": ["code.Own", "code.Own"]}),
    ):  # fmt: skip
        settings = json.loads((folder / file).read_text(encoding="utf-8")) | {"auto_map": requested}
        if kind and file == "config.json":
            settings["model_type"] = kind
        if kind and file == "tokenizer_config.json":
            settings["tokenizer_class"] = "Own"
        (folder / file).write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "name", ["causal", "encoder", "t5", "comet", "kg-bert", "cross-encoder", "new-head", "bertscore", "kind", "tokenizer"]
)
@pytest.mark.parametrize("kind", [None, "own_kind"], ids=["known-kind", "own-kind"])
def test_code_in_a_model_folder_is_not_run(
    name: str, kind: str | None, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, marker = io.StringIO(WAITING), tmp_path / "ran"
    folder = folder_with_code(plain, tmp_path / "model", marker, kind)
    monkeypatch.setattr("sys.stdin", waiting)
    try:
        openers()[name](folder)
    except TacitError as error:
        message: TacitError | None = error
    else:
        message = None
    assert not marker.exists()
    assert waiting.read() == WAITING
    if kind is not None:
        assert isinstance(message, ModelError)
        assert "requires custom code (trust_remote_code), which tacit never runs" in str(message)


def test_no_library_reads_stdin_while_a_model_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    from tacit.reasoning.models.hub import quiet

    waiting = io.StringIO(WAITING)
    monkeypatch.setattr("sys.stdin", waiting)
    with quiet(), pytest.raises(EOFError):
        input("run it? ")
    assert waiting.read() == WAITING
    assert sys.stdin is waiting
