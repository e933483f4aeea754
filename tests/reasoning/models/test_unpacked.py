"""Unpacked copies of GGUF files: they hold the same numbers, are never half-written, and are made again when they are damaged."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("gguf")

from tacit.graph.storage import HEADER
from tacit.reasoning.models.causal_lm import CausalModel, open_causal

from .tiny_causal import save_tiny_causal
from .tiny_gguf import save_tiny_gguf

DIALOGUES = [["i have a dog", "give it a bone"], ["we went to the beach"]]
STORED_WARNING = r"the unpacked weights of tiny\.gguf \(\d+ MB\) are kept in .*unpacked"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    save_tiny_causal(tmp_path / "llama", kind="llama")
    return save_tiny_gguf(tmp_path / "llama", tmp_path / "tiny.gguf")


def copies(file: Path) -> list[Path]:
    return sorted((file.parent / "cache" / "unpacked").glob("*"))


def same(causal: CausalModel, other: CausalModel) -> bool:
    """Whether two models have the same weights, tokens and losses, bit by bit."""
    mine, its = causal.model.state_dict(), other.model.state_dict()
    text = [" give it a bone", "<s> çok güzel 😀"]
    return (
        all(np.array_equal(mine[name].float().numpy(), its[name].float().numpy()) for name in mine.keys() | its.keys())
        and causal.tokens(text) == other.tokens(text)
        and np.array_equal(causal.losses(DIALOGUES), other.losses(DIALOGUES))
        and (causal.signature, causal.begin, causal.end) == (other.signature, other.begin, other.end)
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_second_opening_reads_the_unpacked_copy(file: Path, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RuntimeWarning, match=STORED_WARNING):
        first = open_causal(file, dtype=dtype)
    assert [copy.name for copy in copies(file)] == [f"{first.files.digest}-{dtype}"]
    monkeypatch.setitem(sys.modules, "gguf", None)  # without which no GGUF file is read
    assert same(first, open_causal(file, dtype=dtype))


def test_another_file_under_the_same_name_has_its_own_copy(file: Path) -> None:
    with pytest.warns(RuntimeWarning, match=STORED_WARNING):
        first = open_causal(file)
    save_tiny_causal(file.parent / "other", kind="llama", seed=5)
    save_tiny_gguf(file.parent / "other", file)
    with pytest.warns(RuntimeWarning, match=STORED_WARNING):
        second = open_causal(file)
    assert len(copies(file)) == 2
    assert not same(first, second)


class Damage(NamedTuple):
    name: str
    content: Any


@pytest.mark.parametrize("damage", [Damage("model.safetensors", None), Damage(HEADER, b""), Damage("tokenizer.json", b"{}")])
def test_a_damaged_copy_is_replaced(file: Path, damage: Damage) -> None:
    with pytest.warns(RuntimeWarning, match=STORED_WARNING):
        first = open_causal(file)
    path = copies(file)[0] / damage.name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data if damage.content is None else damage.content)
    with pytest.warns(RuntimeWarning, match=STORED_WARNING):
        assert same(first, open_causal(file))
    assert same(first, open_causal(file))


def test_a_copy_of_another_transformers_version_is_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RuntimeWarning, match=STORED_WARNING):
        open_causal(file)
    monkeypatch.setattr("transformers.__version__", "99.0")
    with pytest.warns(RuntimeWarning, match=STORED_WARNING):
        open_causal(file)
    assert len(copies(file)) == 1


def test_a_failed_copy_leaves_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("transformers.PreTrainedTokenizerBase.save_pretrained", fails)
    with pytest.warns(RuntimeWarning, match="cannot be kept in .*the disk is gone.*; it is unpacked each time"):
        assert np.isfinite(open_causal(file).losses(DIALOGUES)).all()
    assert copies(file) == []


def test_without_room_on_the_disk_there_is_no_copy(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(file.parent)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=1 << 30))
    assert np.isfinite(open_causal(file).losses(DIALOGUES)).all()
    assert copies(file) == []
