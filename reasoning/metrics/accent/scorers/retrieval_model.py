"""The compact retrieval model: two towers over sentence embeddings, a pool of known tails per relation, and their triples.

The query tower maps a head's embedding and a relation to a query, the key tower a tail's embedding and the relation to a key;
the tails whose keys have the largest dot products with the query are the expected ones. The file is one safetensors file of
numbers and text, so opening one from an untrusted source runs no code. Embeddings of texts are product-quantised, one byte for
several dimensions, which keeps the file at a few megabytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....graph.compiling import compiled
from .....graph.errors import ModelError, reason_of
from ....models.modelfile import digest_of, pack, read_model, unpack
from ..events import head_form

FILE = "retriever.safetensors"
FORMAT = "tacit tail retriever"
VERSION = 2

_LARGEST = 256 * 2**20
_WEIGHTS = ("in", "bias", "relation", "out")

Vectors = NDArray[np.float32]


class Scale(NamedTuple):
    """Mean and standard deviation of a score over random pairs of heads and tails."""

    mean: float
    spread: float


Scales = Mapping[str, Mapping[str, Scale]]


@dataclass(frozen=True)
class Tower:
    """One hidden layer: ``unit(out @ silu(in @ x + bias + relation[r]))``."""

    # By name: `in` (d, hidden), `bias` (hidden,), `relation` (relations, hidden), `out` (hidden, keys).
    weights: Mapping[str, Vectors]

    def __call__(self, vectors: Vectors, relation: int) -> Vectors:
        """Return the keys of ``vectors``, shape (n, d), under a relation; shape (n, keys), of unit length."""
        hidden = vectors @ self.weights["in"] + self.weights["bias"] + self.weights["relation"][relation]
        keys = (hidden / (1.0 + np.exp(-hidden))) @ self.weights["out"]
        unit: Vectors = keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), 1e-12)
        return unit


@dataclass(frozen=True)
class RetrievalModel:
    """A retrieval model."""

    relations: tuple[str, ...]  # names, by number
    texts: tuple[str, ...]  # heads, and tails as statements (verbalise.statement)
    members: tuple[NDArray[np.int64], ...]  # for each relation the numbers of the tails in its pool, ascending
    # For each relation the numbers of head and tail of each triple whose tail is in the pool, ascending, shape (n, 2).
    triples: tuple[NDArray[np.int64], ...]
    basis: Vectors  # projection of embeddings before quantisation, shape (d, rank)
    embeddings: Quantised  # the quantised embeddings of the texts
    query: Tower  # query, key: the towers of heads and of tails
    key: Tower
    encoder: tuple[str, str]  # name and signature of the sentence encoder
    # By the name of a score and by relation, its mean and standard deviation over random pairs.
    scales: Scales = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)  # training data, settings and measurements
    digest: str = ""  # 12 hex digits of the file

    def text(self, text: int) -> str:
        """Return a text by its number, in the current wording of events; older models hold ``PersonX breathings``."""
        return head_form(self.texts[text])


def to_bytes(model: RetrievalModel) -> bytes:
    """Return the file of a model; equal models give equal bytes."""
    packed = zlib.compress("".join(f"{text}\n" for text in model.texts).encode("utf-8"), 9)
    arrays: dict[str, Any] = {
        "codes": model.embeddings.codes,
        "books": model.embeddings.books.astype(np.float16),
        "basis": model.basis.astype(np.float16),
        "members": np.concatenate([*model.members, np.zeros(0, dtype=np.int64)]).astype(np.int32),
        "sizes": np.array([len(rows) for rows in model.members], dtype=np.int32),
        "triples": np.concatenate([*model.triples, np.zeros((0, 2), dtype=np.int64)]).astype(np.int32),
        "counts": np.array([len(rows) for rows in model.triples], dtype=np.int32),
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


def open_retrieval_model(path: Path | str | None = None) -> RetrievalModel:
    """Open a retriever's file, or the folder that holds one; by default the one that ships with tacit."""
    folder = Path(__file__).parents[1] / "model" if path is None else Path(path)
    return from_bytes(*read_model(folder, FILE, "tail retriever", "tacit train retriever", _LARGEST))


def from_bytes(data: bytes, name: str) -> RetrievalModel:
    """Return the model in a file's bytes; ``name`` names it in errors."""
    try:
        return _built(*unpack(data, FORMAT, VERSION), digest_of(data))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, zlib.error) as error:
        raise ModelError(
            f"{name} is not a tail retriever ({reason_of(error)}); give one that tacit train retriever wrote"
        ) from error


def _built(head: Mapping[str, Any], arrays: Mapping[str, Any], digest: str) -> RetrievalModel:
    texts = tuple(zlib.decompress(arrays["texts"].tobytes()).decode("utf-8").split("\n")[:-1])
    relations = tuple(map(str, head["relations"]))
    basis = arrays["basis"].astype(np.float32)
    books, codes = arrays["books"].astype(np.float32), arrays["codes"]
    if books.ndim != 3 or codes.shape != (len(texts), len(books)) or codes.dtype != np.uint8 or books.shape[1] != CENTROIDS:
        raise ValueError("the shapes of its texts do not match")
    members, triples = (
        tuple(part.astype(np.int64) for part in np.split(arrays[name], np.cumsum(arrays[sizes])[:-1]))
        for name, sizes in (("members", "sizes"), ("triples", "counts"))
    )
    query, key = (Tower({part: arrays[f"{name}.{part}"].astype(np.float32) for part in _WEIGHTS}) for name in ("query", "key"))
    for tower, opposite in ((query, key), (key, query)):
        width, hidden = tower.weights["in"].shape
        fits = (
            width == basis.shape[0]
            and tower.weights["bias"].shape == (hidden,)
            and tower.weights["relation"].shape == (len(relations), hidden)
            and tower.weights["out"].shape == (hidden, opposite.weights["out"].shape[1])
        )
        if not fits:
            raise ValueError("the shapes of its towers do not match")
    inside = all(len(rows) and rows.min() >= 0 and rows.max() < len(texts) for rows in (*members, *triples))
    paired = arrays["triples"].shape[1:] == (2,) and len(members) == len(triples) == len(relations)
    if books.shape[0] * books.shape[2] != basis.shape[1] or not paired or not inside:
        raise ValueError("the shapes of its texts do not match")
    name, signature = head["encoder"]
    scales = {
        str(score): {str(relation): Scale(float(scale[0]), float(scale[1])) for relation, scale in by.items()}
        for score, by in head["scales"].items()
    }
    if any(set(by) != set(relations) or min(scale.spread for scale in by.values()) <= 0 for by in scales.values()):
        raise ValueError("its scales do not match its relations")
    return RetrievalModel(
        relations, texts, members, triples, basis, quantised(books, codes), query, key, (str(name), str(signature)), scales,
        dict(head["facts"]), digest,
    )  # fmt: skip


# Product quantisation (Jégou et al., TPAMI 2011).
#
# A vector is cut into parts, and each part is stored as the number of the nearest of 256 centroids. The dot product with another
# vector is a sum of table look-ups, without decoding the stored vectors.

Codes = NDArray[np.uint8]

CENTROIDS = 256

_ROUNDS = 12
_SAMPLE = 20_000
_BLOCK = 8192


@dataclass(frozen=True)
class Quantised:
    """Product-quantised vectors."""

    books: Vectors  # centroids of each part, shape (parts, 256, width)
    codes: Codes  # the nearest of them, shape (n, parts)
    lengths: Vectors  # of the decoded vectors, shape (n,); dot products are divided by them, so decoded vectors have unit length

    def vectors(self, rows: NDArray[np.int64]) -> Vectors:
        """Return the decoded vectors of ``rows``, shape (rows, parts * width), of unit length."""
        decoded = self.books[np.arange(len(self.books)), self.codes[rows]].reshape(len(rows), -1)
        unit: Vectors = decoded / self.lengths[rows, None]
        return unit

    def part(self, rows: NDArray[np.int64]) -> Quantised:
        """Return the quantised vectors of ``rows`` alone."""
        return Quantised(self.books, self.codes[rows], self.lengths[rows])

    def products(self, vector: Vectors, rows: NDArray[np.int64] | None = None) -> Vectors:
        """Return the dot products of ``vector``, shape (parts * width,), with the vectors of ``rows``, by default all."""
        parts, _, width = self.books.shape
        table = np.einsum("pkw,pw->pk", self.books, vector.reshape(parts, width))
        rows = np.arange(len(self.codes)) if rows is None else rows
        result: Vectors = _looked_up(table.astype(np.float32), self.codes, self.lengths, rows)
        return result


@compiled
def _looked_up(table, codes, lengths, rows):  # type: ignore[no-untyped-def]
    """For each row, the sum of its codes' entries in ``table``, shape (parts, 256), divided by its length."""
    result = np.empty(len(rows), np.float32)
    parts = codes.shape[1]
    even = parts - parts % 4
    for index in range(len(rows)):
        row = rows[index]
        # Four independent sums, so that additions do not wait for one another.
        one, two, three, four = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for part in range(0, even, 4):
            one += table[part, codes[row, part]]
            two += table[part + 1, codes[row, part + 1]]
            three += table[part + 2, codes[row, part + 2]]
            four += table[part + 3, codes[row, part + 3]]
        for part in range(even, parts):
            one += table[part, codes[row, part]]
        result[index] = ((one + two) + (three + four)) / lengths[row]
    return result


def quantised(books: Vectors, codes: Codes) -> Quantised:
    """Return quantised vectors from their centroids and codes."""
    lengths = np.empty(len(codes), dtype=np.float32)
    parts = np.arange(len(books))
    for start in range(0, len(codes), _BLOCK):
        decoded = books[parts, codes[start : start + _BLOCK]]
        lengths[start : start + _BLOCK] = np.sqrt((decoded.astype(np.float64) ** 2).sum((1, 2)))
    return Quantised(books, codes, np.maximum(lengths, 1e-6))


def quantise(vectors: Vectors, parts: int, seed: int) -> Quantised:
    """Quantise ``vectors``, shape (n, d), to ``parts`` bytes each, where ``parts`` divides d, by Lloyd's algorithm on a
    sample, from distinct vectors drawn with ``seed``."""
    random = np.random.default_rng(seed)
    cut = vectors.reshape(len(vectors), parts, -1)
    sample = cut[np.sort(random.permutation(len(cut))[:_SAMPLE])]
    books = np.zeros((parts, CENTROIDS, cut.shape[2]), dtype=np.float32)
    codes = np.zeros((len(cut), parts), dtype=np.uint8)
    for part in range(parts):
        distinct = np.unique(sample[:, part], axis=0)
        centroids = distinct[np.sort(random.permutation(len(distinct))[:CENTROIDS])].astype(np.float32)
        for _ in range(_ROUNDS):
            nearest = _nearest(sample[:, part], centroids)
            counts = np.bincount(nearest, minlength=len(centroids))
            sums = np.stack([np.bincount(nearest, weights, len(centroids)) for weights in sample[:, part].T], axis=1)
            moved = sums / np.maximum(counts, 1)[:, None]
            centroids = np.where(counts[:, None] > 0, moved, centroids).astype(np.float32)
        # In the file's precision, so that a model gives the same numbers before and after it is written.

        centroids = centroids.astype(np.float16).astype(np.float32)
        books[part, : len(centroids)] = centroids
        codes[:, part] = _nearest(cut[:, part], centroids)
    return quantised(books, codes)


def _nearest(points: Vectors, centroids: Vectors) -> NDArray[np.int64]:
    offsets = (centroids * centroids).sum(1) / 2
    result = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), _BLOCK):
        result[start : start + _BLOCK] = (points[start : start + _BLOCK] @ centroids.T - offsets).argmax(1)
    return result
