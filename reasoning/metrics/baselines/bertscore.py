"""The metric ``bertscore``: token-level cosine similarity of response and reference by contextual embeddings.

BERTScore (Zhang et al., ICLR 2020, section 3): precision is the mean over the response's tokens of the highest cosine to a
token of the reference, recall the same from the reference, and the score their F1, the best over the references. It lies in
-1..1 (in practice 0..1); higher is nearer. As in the authors' code, the encoder's special tokens can be matched but have no
weight; there are no idf weights and no rescaling. Texts that are longer than the encoder's positions lose their end.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError, ModelError
from ...base import Piece, Signature
from ...models.batching import batches_by_length, padded
from ...models.hub import ModelFiles, find_model, need, open_model, tokens_a_batch
from .references import Compared, Comparison, Pair, nearest

VERSION = 1
DEFAULT_ENCODER = "roberta-large"

# Layers that the authors of BERTScore found best on WMT 2016 (their table of models); for other models the last layer is used.
BEST_LAYERS = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "roberta-base": 10,
    "roberta-large": 17,
    "distilbert-base-uncased": 5,
}

_POSITIONS = 512
_NO_LIMIT = 1_000_000


class _Embedded(NamedTuple):
    """A text's tokens as written, which of them have weight, and their unit vectors, shape (tokens, size)."""

    tokens: tuple[str, ...]
    weighted: NDArray[np.bool_]
    vectors: NDArray[np.float32]


class BertScore(Compared):
    """The metric over one encoder; see :func:`make`."""

    name = "bertscore"

    def __init__(self, files: ModelFiles, model: Any, tokenizer: Any, *, layer: int | None, batch_tokens: int | None) -> None:
        layers = model.config.num_hidden_layers
        self.layer = BEST_LAYERS.get(files.name, layers) if layer is None else layer
        if not isinstance(self.layer, int) or not 0 <= self.layer <= layers:
            raise InputError(f"the layer of the encoder {files.requested!r} must be from 0 to {layers}, not {self.layer}")
        if not tokenizer.is_fast:
            raise ModelError(f"the tokenizer of {files.requested!r} gives no offsets; give an encoder with a fast tokenizer")
        self.files = files
        self._model = model
        self._tokenizer = tokenizer
        self._batch_tokens = tokens_a_batch(batch_tokens, model)
        self._torch = need("torch", "neural")
        limit = tokenizer.model_max_length
        self._most = int(limit if limit < _NO_LIMIT else getattr(model.config, "max_position_embeddings", _POSITIONS) - 2)
        plain, blank = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", " a"))
        self._before = "" if plain == blank else " "  # byte-level tokenizers treat a word after a space differently

    def own_signature(self) -> Signature:
        parts = (("encoder", self.files.signature), ("layer", str(self.layer)), ("idf", "no"), ("rescaled", "no"))
        return Signature(self.name, (*parts, ("transformers", version("transformers").split(".")[0])), VERSION)

    def compare(self, pairs: Sequence[Pair], explain: bool) -> Sequence[Comparison]:
        """Compare each response with its references; all distinct texts are embedded together."""
        embedded = self._embedded(list(dict.fromkeys(text for pair in pairs for text in (pair.response, *pair.references))))
        return [self._best_comparison(pair, embedded, explain) for pair in pairs]

    def _best_comparison(self, pair: Pair, embedded: dict[str, _Embedded], explain: bool) -> Comparison:
        response = embedded[pair.response]
        comparisons = [_match(response, embedded[reference], explain) for reference in pair.references]
        index = max(range(len(comparisons)), key=lambda index: comparisons[index].value)
        value, pieces = comparisons[index]
        return Comparison(value, (*pieces, *nearest(pair, index)) if explain else ())

    def _embedded(self, texts: Sequence[str]) -> dict[str, _Embedded]:
        if not texts:
            return {}
        cleaned = [self._before + text.strip() for text in texts]
        coded = self._tokenizer(
            cleaned, truncation=True, max_length=self._most, return_offsets_mapping=True, return_special_tokens_mask=True
        )
        ids, offsets, special = coded["input_ids"], coded["offset_mapping"], coded["special_tokens_mask"]
        result = {}
        for batch in batches_by_length([len(row) for row in ids], self._batch_tokens):
            for index, vectors in zip(batch, self._vectors([ids[index] for index in batch]), strict=True):
                names = self._tokenizer.convert_ids_to_tokens(ids[index])
                spans = zip(names, offsets[index], special[index], strict=True)
                tokens = tuple(name if mark else cleaned[index][start:end].strip() for name, (start, end), mark in spans)
                result[texts[index]] = _Embedded(tokens, ~np.array(special[index], dtype=bool), vectors)
        return result

    def _vectors(self, ids: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Return the unit vectors of a batch of texts at the chosen layer."""
        torch = self._torch
        rows, inside = padded(ids, self._tokenizer.pad_token_id or 0)
        tokens, mask = (torch.from_numpy(array).to(self._model.device) for array in (rows, inside.astype(np.int64)))
        with torch.inference_mode():
            states = self._model(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states[self.layer]
            unit = torch.nn.functional.normalize(states.float(), dim=-1).cpu().numpy()
        return [unit[row, : len(row_ids)] for row, row_ids in enumerate(ids)]


def make(
    *,
    encoder: str | Path = DEFAULT_ENCODER,
    layer: int | None = None,
    device: str | None = None,
    batch_tokens: int | None = None,
) -> BertScore:
    """Return the metric.

    Args:
        encoder: a folder that transformers saved, or an id of the hub.
        layer: layer of the embeddings, 0 (without context) to the last; by default the one that BERTScore's authors found best
            for the model, else the last.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
        batch_tokens: most tokens in a batch, padding included; affects speed and memory only. By default 1,024 on a CPU, 16,384
            elsewhere.
    """
    need("torch", "neural")
    files = find_model(encoder)
    model, tokenizer = open_model("AutoModel", files, device=device, dtype="float32")
    return BertScore(files, model, tokenizer, layer=layer, batch_tokens=batch_tokens)


def _match(response: _Embedded, reference: _Embedded, explain: bool) -> Comparison:
    """Match the tokens of two texts greedily; precision and recall share the F1 equally."""
    cosines = response.vectors @ reference.vectors.T
    ours, theirs = cosines[response.weighted].max(1, initial=-1), cosines[:, reference.weighted].max(0, initial=-1)
    if not len(ours) or not len(theirs):
        return Comparison(0.0)
    precision, recall = float(ours.mean(dtype=np.float64)), float(theirs.mean(dtype=np.float64))
    value = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    if not explain:
        return Comparison(min(value, 1.0))
    sides = (
        ("precision", precision, _pairs(response, reference, cosines, value / 2)),
        ("recall", recall, _pairs(reference, response, cosines.T, value / 2)),
    )
    return Comparison(
        min(value, 1.0), tuple(Piece("side", mean, value / 2, name=name, rests_on=rows) for name, mean, rows in sides)
    )


def _pairs(tokens_of: _Embedded, nearest_in: _Embedded, cosines: NDArray[np.float32], share: float) -> tuple[Piece, ...]:
    """Return each token with its most similar token of the other text; the shares add up to ``share``."""
    rows = np.flatnonzero(tokens_of.weighted)
    matches = cosines[rows].argmax(1)
    values = cosines[rows, matches].astype(np.float64)
    total = values.sum()
    return tuple(
        Piece(
            "match",
            float(value),
            share * float(value / total),
            name=f'"{tokens_of.tokens[row]}" like "{nearest_in.tokens[match]}"',
        )
        for row, match, value in zip(rows, matches, values, strict=True)
    )
