"""Arrays of an interrupted training: each is computed once, and a file that cannot be used is named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import ModelError
from tacit.reasoning.training.checkpoints import stored_arrays


def test_arrays_are_computed_once_for_each_identity(tmp_path: Path) -> None:
    calls = []

    def compute() -> dict[str, np.ndarray]:
        calls.append(len(calls))
        return {"a": np.array([[len(calls)]], np.float64)}

    folder = tmp_path / "new" / "folder"
    values = [stored_arrays(folder, ["text", number], compute)["a"].tolist() for number in (1, 2, 1)]
    assert values == [[[1]], [[2]], [[1]]]
    assert len(calls) == 2


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    start_again = f"; delete {re.escape(str(tmp_path))} to start again$"
    with pytest.raises(ModelError, match=f"its array a contains numbers that are not finite{start_again}"):
        stored_arrays(tmp_path, "text", lambda: {"a": np.array([np.inf])})
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ModelError, match=rf"the checkpoint {re.escape(str(file))} cannot be used: its arrays .*{start_again}"):
        stored_arrays(tmp_path, "text", dict)
