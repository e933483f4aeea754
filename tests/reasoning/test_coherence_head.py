"""The head of response selection with hidden layers: cosines and summands by hand, and files that give back what was written."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import ModelError
from tacit.reasoning.metrics.coherence.checkpoint import Floats, Hidden, SelectionHead, load_head


def test_a_hidden_layer_adds_to_what_each_turn_gives(tmp_path: Path) -> None:
    random = np.random.default_rng(0)

    def some(*shape: int) -> Floats:
        return random.normal(size=shape).astype(np.float32)

    linear = SelectionHead(some(5), np.abs(some(5)) + 1, some(10, 3), some(3), some(5, 3), some(3))
    hidden = Hidden(some(3, 5, 4), some(3, 4), some(3, 4, 3))
    head = dataclasses.replace(linear, hidden=hidden)
    last, before, responses = some(3, 2, 5)
    before[1] = np.nan
    cosines, summands = head.fits(last, before, responses)
    np.testing.assert_allclose(summands.sum(axis=1), cosines, atol=1e-6)
    assert summands[1, 1] == 0
    for row in range(2):
        given = []
        for text, (vector, map_) in enumerate(
            zip((last, before, responses), (head.context[:5], head.context[5:], head.response), strict=True)
        ):
            standard = (vector[row].astype(np.float64) - head.mean) / head.scale
            unit = np.maximum(standard @ hidden.inner[text] + hidden.inner_bias[text], 0)
            given.append(np.nan_to_num(standard @ map_ + unit @ hidden.outer[text]))
        context, answer = given[0] + given[1] + head.context_bias, given[2] + head.response_bias
        lengths = np.linalg.norm(context) * np.linalg.norm(answer)
        expected = [given[0] @ answer / lengths, given[1] @ answer / lengths, head.context_bias @ answer / lengths]
        np.testing.assert_allclose(summands[row], expected, atol=1e-5)
    file = tmp_path / "head.safetensors"
    file.write_bytes(head.to_bytes())
    opened = load_head(file)
    assert opened.to_bytes() == head.to_bytes() != linear.to_bytes()
    np.testing.assert_allclose(opened.fits(last, before, responses)[0], cosines, atol=1e-2)
    assert opened.hidden is not None
    for broken in ({"outer": opened.hidden.outer[:, 1:]}, {"inner_bias": opened.hidden.inner_bias * np.nan}):
        file.write_bytes(dataclasses.replace(opened, hidden=dataclasses.replace(opened.hidden, **broken)).to_bytes())
        with pytest.raises(ModelError, match="selection head"):
            load_head(file)
