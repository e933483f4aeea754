"""Cross-encoders: an encoder of transformers with one output, which reads two texts together and predicts a rating.

The rating is in the units of the ratings that it was trained on; its configuration holds their mean and standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError
from .hub import ModelFiles, find_model, need, open_config, open_model

SCALE = "tacit_ratings"
"""Key of the configuration: mean and standard deviation of the ratings."""

_BATCH = 32
_LONGEST = 512


class RatingEncoder:
    """An open cross-encoder; see :func:`open_cross_encoder`."""

    def __init__(self, files: ModelFiles, model: Any, tokenizer: Any) -> None:
        scale: Any = getattr(model.config, SCALE, None)
        if model.config.num_labels != 1 or not _is_scale(scale):
            raise ModelError(
                f"{files.requested!r} is not a cross-encoder of ratings; give a folder that tacit train cross-encoder wrote"
            )
        self.files, self.model, self.tokenizer = files, model, tokenizer
        self._mean, self._deviation = float(scale[0]), float(scale[1])
        self._torch = need("torch", "neural")

    def predict(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the predicted rating of each pair of texts, shape (pairs,); equal pairs are read once."""
        distinct = sorted(dict.fromkeys(pairs), key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        known: dict[tuple[str, str], float] = {}
        for start in range(0, len(distinct), _BATCH):
            batch = distinct[start : start + _BATCH]
            with self._torch.inference_mode():
                logits = self.model(**tokens_of(self.tokenizer, self.model, batch)).logits
            known.update(zip(batch, logits[:, 0].double().cpu().tolist(), strict=True))
        standardised: NDArray[np.float64] = np.array([known[pair] for pair in pairs], np.float64)
        return standardised * self._deviation + self._mean


def open_cross_encoder(model: str | Path, *, device: str | None = None) -> RatingEncoder:
    """Open a cross-encoder: a folder that ``tacit train cross-encoder`` wrote."""
    need("torch", "neural")
    files = find_model(model)
    return RatingEncoder(files, *open_model("AutoModelForSequenceClassification", files, device=device, dtype="float32"))


def tokens_of(tokenizer: Any, model: Any, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a padded batch on the model's device; of a pair that is too long the longer text loses its beginning."""
    positions = getattr(model.config, "max_position_embeddings", _LONGEST)
    tokenizer.truncation_side = "left"
    encoded = tokenizer(
        [first for first, _ in pairs], [second for _, second in pairs], padding=True, truncation="longest_first",
        max_length=min(_LONGEST, positions, tokenizer.model_max_length), return_tensors="pt", verbose=False,
    )  # fmt: skip
    return {name: value.to(model.device) for name, value in encoded.items()}


def with_new_head(files: ModelFiles, outputs: int, device: str | None, seed: int) -> tuple[Any, Any]:
    """Return an encoder with a new classification head of so many outputs, with weights by ``seed``, and its tokenizer."""
    torch, transformers = need("torch", "neural"), need("transformers", "neural")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        body, tokenizer = open_model("AutoModel", files, device=device, dtype="float32")
        config = open_config(files, num_labels=outputs)
        model = transformers.AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
    getattr(model, model.base_model_prefix).load_state_dict(body.state_dict(), strict=False)
    return model.to(body.device), tokenizer


def _is_scale(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(number, int | float) and isfinite(number) for number in value)
        and value[1] > 0
    )
