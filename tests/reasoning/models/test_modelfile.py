"""Model files: what is written is read back, and foreign and damaged files are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import ModelError
from tacit.reasoning.models.modelfile import arrays_in, pack, read_model, unpack


def test_files_round_trip_and_are_deterministic() -> None:
    arrays = {"b": np.arange(6, dtype=np.float32).reshape(2, 3).T, "a": np.array([1, 2], dtype=np.int64)}
    data = pack(arrays, {"format": "kind", "version": 1, "z": 1.5, "a": "ü"})
    assert data == pack(dict(reversed(arrays.items())), {"a": "ü", "z": 1.5, "version": 1, "format": "kind"})
    described, unpacked = unpack(data, "kind", 1)
    assert described == {"format": "kind", "version": 1, "z": 1.5, "a": "ü"}
    assert {name: array.tolist() for name, array in unpacked.items()} == {"a": [1, 2], "b": [[0, 3], [1, 4], [2, 5]]}
    assert arrays_in(data).keys() == arrays.keys()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "its header does not name the format 'kind'"),
        (b"\xff" * 40, "its header does not name the format 'kind'"),
        (pack({"a": np.zeros(1)}, {"format": "other", "version": 1}), "its header does not name the format 'kind'"),
        (pack({"a": np.zeros(1)}, {"format": "kind", "version": 2}), "its format is version 2, and this tacit reads version 1"),
        (pack({"a": np.zeros(9)}, {"format": "kind", "version": 1})[:-1], "its arrays cannot be read"),
        (pack({"a": np.array([np.nan])}, {"format": "kind", "version": 1}), "its array a contains numbers that are not finite"),
    ],
)
def test_foreign_and_damaged_files_are_named(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        unpack(data, "kind", 1)


def test_unreadable_files_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"12345")
    with pytest.raises(ModelError, match=r"large is larger than any probe; give one that tacit train llm-probe wrote$"):
        read_model(tmp_path / "large", "f", "probe", "tacit train llm-probe", 4)
    with pytest.raises(ModelError, match=r"there is no probe at .*none; make one with: tacit train llm-probe$"):
        read_model(tmp_path / "none", "f", "probe", "tacit train llm-probe", 4)
