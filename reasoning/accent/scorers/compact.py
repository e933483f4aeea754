"""The compact model's arrays, and its file: two small towers on sentence embeddings, a pool of known tails for each relation,
and the triples that they come from.

A head's embedding and a relation make a query, a tail's embedding and the relation a key; the tails whose keys lie nearest to
the query are what the model expects. The file is one safetensors: numbers and text only, so opening a stranger's runs nothing.
Texts are kept as a byte for every few numbers of their vectors (:mod:`.quantise`), so the whole is a few megabytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import ModelError
from ...modelfile import digest_of, pack, read_model, unpack
from ..events import head_form
from .quantise import CENTROIDS, Quantised, kept

FILE = "retriever.safetensors"
FORMAT = "tacit tail retriever"
VERSION = 2

_LARGEST = 256 * 2**20
_WEIGHTS = ("in", "bias", "relation", "out")

Vectors = NDArray[np.float32]


class Scale(NamedTuple):
    """Mean and standard deviation of a score over tuples that nobody judged."""

    mean: float
    spread: float


Scales = Mapping[str, Mapping[str, Scale]]


@dataclass(frozen=True)
class Tower:
    """One hidden layer: ``unit(out @ silu(in @ x + bias + relation[r]))``.

    Attributes:
        weights: by name: ``in`` (d, hidden), ``bias`` (hidden,), ``relation`` (relations, hidden), ``out`` (hidden, keys).
    """

    weights: Mapping[str, Vectors]

    def __call__(self, vectors: Vectors, relation: int) -> Vectors:
        """Return the keys of ``vectors``, shape (n, d), under a relation; shape (n, keys), unit length."""
        hidden = vectors @ self.weights["in"] + self.weights["bias"] + self.weights["relation"][relation]
        keys = (hidden / (1.0 + np.exp(-hidden))) @ self.weights["out"]
        unit: Vectors = keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), 1e-12)
        return unit


@dataclass(frozen=True)
class Compact:
    """A retriever that is ready to be asked.

    Attributes:
        relations: names, by number; texts: heads, and tails as :func:`tacit.reasoning.accent.statements.statement`s.
        members: for each relation the numbers of the tails in its pool, ascending.
        triples: for each relation the numbers of head and tail of each triple whose tail is in the pool, ascending, shape (n, 2).
        basis: directions along which texts are kept, shape (d, rank); kept: the vectors of the texts along them, quantised.
        query, key: the towers of heads and of tails; encoder: name and signature of the sentence encoder.
        scales: by the name of a score, for each relation, its mean and spread over tuples that nobody judged.
        facts: how it was made; digest: 12 hex digits of the file.
    """

    relations: tuple[str, ...]
    texts: tuple[str, ...]
    members: tuple[NDArray[np.int64], ...]
    triples: tuple[NDArray[np.int64], ...]
    basis: Vectors
    kept: Quantised
    query: Tower
    key: Tower
    encoder: tuple[str, str]
    scales: Scales = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def said(self, text: int) -> str:
        """Return a text by its number as an event is written now; older models hold ``PersonX breathings``."""
        return head_form(self.texts[text])


def to_bytes(model: Compact) -> bytes:
    """Return the file of a model; equal models give equal bytes."""
    packed = zlib.compress("".join(f"{text}\n" for text in model.texts).encode("utf-8"), 9)
    arrays: dict[str, Any] = {
        "codes": model.kept.codes,
        "books": model.kept.books.astype(np.float16),
        "basis": model.basis.astype(np.float16),
        "members": np.concatenate([*model.members, np.zeros(0, dtype=np.int64)]).astype(np.int32),
        "sizes": np.array([len(one) for one in model.members], dtype=np.int32),
        "triples": np.concatenate([*model.triples, np.zeros((0, 2), dtype=np.int64)]).astype(np.int32),
        "counts": np.array([len(one) for one in model.triples], dtype=np.int32),
        "texts": np.frombuffer(packed, dtype=np.uint8),
    }
    for name, tower in (("query", model.query), ("key", model.key)):
        arrays |= {f"{name}.{part}": tower.weights[part].astype(np.float16) for part in _WEIGHTS}
    head = {
        "format": FORMAT, "version": VERSION, "relations": list(model.relations), "encoder": list(model.encoder),
        "facts": dict(model.facts),
        "scales": {name: {relation: list(scale) for relation, scale in by.items()} for name, by in model.scales.items()},
    }  # fmt: skip
    return pack(arrays, head)


def open_compact(path: Path | str | None = None) -> Compact:
    """Open a retriever's file, or the folder that holds one; by default the one that ships with tacit.

    Raises:
        ModelError: there is none, or it is no whole model of this kind.
    """
    place = Path(__file__).parents[1] / "model" if path is None else Path(path)
    return from_bytes(*read_model(place, FILE, "tail retriever", "tacit train retriever", _LARGEST))


def from_bytes(data: bytes, name: str) -> Compact:
    """Return the model in a file's bytes; ``name`` is for errors.

    Raises:
        ModelError: it is no whole model of this kind.
    """
    try:
        return _built(*unpack(data, FORMAT, VERSION), digest_of(data))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, zlib.error) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"{name} is no tail retriever ({reason}); give one that tacit train retriever wrote") from error


def _built(head: Mapping[str, Any], arrays: Mapping[str, Any], digest: str) -> Compact:
    texts = tuple(zlib.decompress(arrays["texts"].tobytes()).decode("utf-8").split("\n")[:-1])
    relations = tuple(map(str, head["relations"]))
    basis = arrays["basis"].astype(np.float32)
    books, codes = arrays["books"].astype(np.float32), arrays["codes"]
    if books.ndim != 3 or codes.shape != (len(texts), len(books)) or codes.dtype != np.uint8 or books.shape[1] != CENTROIDS:
        raise ValueError("the shapes of its texts do not fit together")
    members, triples = (
        tuple(part.astype(np.int64) for part in np.split(arrays[name], np.cumsum(arrays[sizes])[:-1]))
        for name, sizes in (("members", "sizes"), ("triples", "counts"))
    )
    query, key = (Tower({part: arrays[f"{name}.{part}"].astype(np.float32) for part in _WEIGHTS}) for name in ("query", "key"))
    for tower, other in ((query, key), (key, query)):
        width, hidden = tower.weights["in"].shape
        fits = (
            width == basis.shape[0]
            and tower.weights["bias"].shape == (hidden,)
            and tower.weights["relation"].shape == (len(relations), hidden)
            and tower.weights["out"].shape == (hidden, other.weights["out"].shape[1])
        )
        if not fits:
            raise ValueError("the shapes of its towers do not fit together")
    inside = all(len(one) and one.min() >= 0 and one.max() < len(texts) for one in (*members, *triples))
    paired = arrays["triples"].shape[1:] == (2,) and len(members) == len(triples) == len(relations)
    if books.shape[0] * books.shape[2] != basis.shape[1] or not paired or not inside:
        raise ValueError("the shapes of its texts do not fit together")
    name, signature = head["encoder"]
    scales = {
        str(score): {str(relation): Scale(float(scale[0]), float(scale[1])) for relation, scale in by.items()}
        for score, by in head["scales"].items()
    }
    if any(set(by) != set(relations) or min(scale.spread for scale in by.values()) <= 0 for by in scales.values()):
        raise ValueError("its scales do not fit its relations")
    return Compact(
        relations, texts, members, triples, basis, kept(books, codes), query, key, (str(name), str(signature)), scales,
        dict(head["facts"]), digest,
    )  # fmt: skip
