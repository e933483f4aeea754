"""Texts read in packed passes: equal to each text read whole and alone, and to the last bit in any batch in half precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import ModelError

from tests.reasoning.models.tiny_causal import save_tiny_causal

pytest.importorskip("transformers")

from tacit.reasoning.models.causal_lm import CausalModel, open_causal
from tacit.reasoning.models.packed import Continued, PackedReader

KINDS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "groups": {"kind": "llama", "num_key_value_heads": 1},
    "window": {"kind": "mistral", "sliding_window": 5},
    "alone": {"kind": "gemma2", "attn_logit_softcapping": 2.0},
}
START = (5, 6, 7)
PREFIXES = ((8, 9, 10, 11, 12), (), (20, 21))
ROWS: Continued = [(0, (30, 31)), (2, (32,)), (1, (33, 34, 35, 36, 37)), (0, (38, 39, 40)), (2, (30, 31)), (0, (41,) * 9)]


@pytest.fixture(scope="module", params=KINDS)
def causal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    return open_causal(save_tiny_causal(tmp_path_factory.mktemp("packed") / "model", **KINDS[request.param]))


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    options: dict[str, Any] = {"kind": "llama", "width": 256, "positions": 512}
    return open_causal(save_tiny_causal(tmp_path_factory.mktemp("half") / "model", **options), dtype="bfloat16")


def whole(causal: CausalModel, ids: Sequence[int]) -> Any:
    """The model's own output for a text."""
    import torch

    with torch.inference_mode():
        return causal.model(input_ids=torch.tensor([list(ids)]), use_cache=False, output_hidden_states=True)


@pytest.mark.parametrize("batch_tokens", [1, 12, 1000])
@pytest.mark.parametrize("start", [START, ()])
def test_final_states_equal_those_of_each_text_alone(
    causal: CausalModel, start: tuple[int, ...], batch_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal, "batch_tokens", batch_tokens)
    reader = PackedReader(causal)
    rows = ROWS if start else [row for row in ROWS if PREFIXES[row[0]]]
    for _ in range(2):  # the second time, the start is known
        ends = reader.ends(start, PREFIXES, rows, [1], [3, 50])
        for index, (prefix, row) in enumerate(rows):
            output = whole(causal, [*start, *PREFIXES[prefix], *row])
            np.testing.assert_allclose(ends.states[index, 0], output.hidden_states[1][0, -1], rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(ends.logits[index], output.logits[0, -1, [3, 50]].double(), rtol=1e-4, atol=1e-4)
    other = reader.ends((60, *start), PREFIXES, rows, [1])
    np.testing.assert_allclose(
        other.states[0, 0], whole(causal, [60, *start, *PREFIXES[0], *ROWS[0][1]]).hidden_states[1][0, -1], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("batch_tokens", [1, 1000])
def test_losses_equal_those_of_each_text_alone(causal: CausalModel, batch_tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal, "batch_tokens", batch_tokens)
    counted = [len(row) - index % 2 for index, (_, row) in enumerate(ROWS)]
    reader = PackedReader(causal)
    for _ in range(2):  # the second time, the start is known
        losses = reader.ends(START, PREFIXES, ROWS, [], targets=counted).losses
        for (prefix, row), count, loss in zip(ROWS, counted, losses, strict=True):
            before = [*START, *PREFIXES[prefix]]
            chances = whole(causal, [*before, *row]).logits[0].double().log_softmax(-1)
            expected = -sum(float(chances[len(before) - 1 + position, token]) for position, token in enumerate(row[:count]))
            assert loss == pytest.approx(expected, rel=1e-4)
        assert losses[1] == counted[1] == 0


def test_in_half_precision_results_do_not_depend_on_the_batch(half: CausalModel) -> None:
    random = np.random.default_rng(0)
    prefixes = [tuple(random.integers(0, 300, size).tolist()) for size in (3, 70, 140, 9)]
    rows = [(index % 4, tuple(random.integers(0, 300, size).tolist())) for index, size in enumerate(random.integers(1, 60, 24))]
    counted = [len(row) for _, row in rows]
    together = PackedReader(half).ends(START, prefixes, rows, [1, 2], [3], counted)
    alone = [PackedReader(half).ends(START, prefixes, [row], [1, 2], [3], [len(row[1])]) for row in rows]
    np.testing.assert_array_equal(together.states, np.concatenate([position.states for position in alone]))
    np.testing.assert_allclose(together.logits, np.concatenate([position.logits for position in alone]), rtol=1e-12)
    order = random.permutation(len(rows))
    again = PackedReader(half).ends(START, prefixes, [rows[index] for index in order], [1, 2])
    np.testing.assert_array_equal(again.states, together.states[order])
    np.testing.assert_array_equal(together.losses, np.concatenate([position.losses for position in alone]))


def test_changes_of_the_model_are_undone(half: CausalModel) -> None:
    before = (half.model.config._attn_implementation, whole(half, [1, 2, 3]).logits)
    reader = PackedReader(half)
    with pytest.raises(IndexError):
        reader.ends(START, PREFIXES, [(0, (100_000,))], [1])  # no such token
    assert half.model.config._attn_implementation == before[0]
    assert not [layer for layer in half.model.modules() if "forward" in layer.__dict__]
    assert (whole(half, [1, 2, 3]).logits == before[1]).all()
    ends = reader.ends(START, PREFIXES, ROWS, [1])
    np.testing.assert_array_equal(ends.states, PackedReader(half).ends(START, PREFIXES, ROWS, [1]).states)


def test_a_text_beyond_the_models_length_is_refused(half: CausalModel) -> None:
    with pytest.raises(ModelError, match="reads 512 tokens, and a prompt has 604; give a model with a longer context"):
        PackedReader(half).ends(START, [(1,)], [(0, (2,) * 600)], [1])
