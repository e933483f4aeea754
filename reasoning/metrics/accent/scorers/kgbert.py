"""Tuple scorers by an encoder that reads the whole triple: ``kg-bert`` and ``cross-encoder``.

``kg-bert`` (KG-BERT, Yao et al., 2019) is the probability that a triple is true, by a sequence classifier.

The classifier reads ``head [SEP] relation [SEP] tail``. Any sequence classifier of transformers with two labels can be used,
the second of which means true; ``tacit train kg-bert`` trains one on a graph, with corrupted triples as negatives.
``cross-encoder`` is the plausibility that an encoder predicts which ``tacit train cross-encoder --tuples`` trained on labels of
people (ACCENT's table 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .....graph.errors import InputError, ModelError
from ....models.cross_encoder import RatingEncoder, open_cross_encoder
from ....models.hub import ModelFiles, find_model, need, open_model
from ..events import head_form, tail_form
from .base import Triple, TupleScore

if TYPE_CHECKING:
    from .resources import ScorerResources

MAX_LENGTH = 64

_BATCH = 64


class KgBert:
    """A triple classifier; see :func:`open_kgbert`."""

    relations = None

    def __init__(self, files: ModelFiles, model: Any, tokenizer: Any) -> None:
        if model.config.num_labels != 2 or tokenizer.sep_token is None:
            raise ModelError(f"the model {files.requested!r} is not a KG-BERT; give one with two classes and a separator token")
        self.files = files
        self.model = model
        self.tokenizer = tokenizer
        self._torch = need("torch", "neural")

    @property
    def signature(self) -> str:
        return f"kg-bert-2({self.files.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the probability that each tuple is true, in 0..1."""
        texts = [classifier_input(triple, self.tokenizer.sep_token) for triple in tuples]
        distinct = sorted(dict.fromkeys(texts), key=lambda text: (len(text), text))
        known: dict[str, float] = {}
        for start in range(0, len(distinct), _BATCH):
            batch = distinct[start : start + _BATCH]
            encoded = self.tokenizer(
                batch, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt", verbose=False
            )  # fmt: skip
            with self._torch.inference_mode():
                logits = self.model(**{name: value.to(self.model.device) for name, value in encoded.items()}).logits
            chances = np.asarray(logits.double().softmax(-1)[:, 1].cpu().numpy())
            known.update(zip(batch, chances.tolist(), strict=True))
        return [TupleScore(known[text]) for text in texts]


def open_kgbert(model: str | Path, *, device: str | None = None) -> KgBert:
    """Open a triple classifier, a folder or an id of the hub."""
    need("torch", "neural")
    files = find_model(model)
    return KgBert(files, *open_model("AutoModelForSequenceClassification", files, device=device, dtype="float32"))


def classifier_input(triple: Triple, separator: str) -> str:
    """Return the classifier's input for a triple."""
    head, relation, tail = triple
    return f"{head_form(head)} {separator} {relation} {separator} {tail_form(tail, relation)}"


def make_kgbert(resources: ScorerResources, *, model: str | Path | None = None) -> KgBert:
    """Return the scorer over the triple classifier ``model``."""
    if model is None:
        raise InputError("the scorer kg-bert needs a model; name the folder that tacit train kg-bert wrote")
    return open_kgbert(model, device=resources.device)


class TuplePlausibility:
    """The scorer ``cross-encoder`` over one model."""

    relations = None

    def __init__(self, encoder: RatingEncoder) -> None:
        self.encoder = encoder

    @property
    def signature(self) -> str:
        return f"cross-encoder-2({self.encoder.files.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the predicted plausibility of each tuple, cut to 0..1."""
        predictions = self.encoder.predict([pair_of(triple) for triple in tuples])
        return [TupleScore(value) for value in np.clip(predictions, 0, 1).tolist()]


def pair_of(triple: Triple) -> tuple[str, str]:
    """Return the two texts of a tuple that a cross-encoder reads."""
    head, relation, tail = triple
    return f"{head_form(head)} {relation}", tail_form(tail, relation)


def make_cross_encoder(resources: ScorerResources, *, model: str | Path | None = None) -> TuplePlausibility:
    """Return the scorer over the cross-encoder ``model``."""
    if model is None:
        raise InputError("the scorer cross-encoder needs a model; name the folder that tacit train cross-encoder --tuples wrote")
    return TuplePlausibility(open_cross_encoder(model, device=resources.device))
