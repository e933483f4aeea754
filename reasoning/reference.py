"""Reference distributions: the percentile of a score among those of human responses.

A raw value says little by itself (is a ``coherence`` of 2.25 good?). A reference holds the values of one metric on human
responses of a corpus of dialogues (``true``), and on responses drawn from other dialogues of that corpus after the same
histories (``random``), both as 201 quantiles. A score's percentile is the share of true responses with its value or a lower
one, in per cent and in steps of 0.5.

A reference belongs to one signature: metric, version, options, pipeline, models and graph. Scores with other options, models or
versions have no percentile, since their distribution differs. Scores over another graph have one against the reference of the
graph that there is, and their signature names that graph, so that every user has a scale, though a rough one. References ship
with tacit in ``reasoning/references``; those that ``tacit train reference`` makes for other graphs or options are in the user's
cache folder, or in ``TACIT_CACHE``, and take precedence.
"""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..graph.atomic import write_file
from ..graph.errors import ModelError
from ..graph.schema import shape
from ..graph.storage import cache_folder

if TYPE_CHECKING:
    from .base import Signature

QUANTILES = 201
SHIPPED = Path(__file__).parent / "references"
SAMPLE = SHIPPED / "sample"
"""References over the sample graph. It is so small that they are of no use for other graphs."""

GRAPH = "graph"
"""The part of a signature with the digest of the graph."""

_OTHER_GRAPH = " with the graph "
_FORMAT = 1
_STEP = 100 / (QUANTILES - 1)


@shape("reference=label", "random_median", "above")
@dataclass(frozen=True)
class Reference:
    """The distribution of one metric's values on true and on random responses.

    Attributes:
        name: name of the corpus, e.g. ``topical-chat``.
        signature: signature of the scores, as text, without the part that names a reference.
        true, random: 201 ascending quantiles each, from the minimum to the maximum: at index ``i`` the least value that at
            least ``i / 2`` per cent of the responses do not exceed.
        above: share of pairs of one true and one random response in which the true one has the greater value, 0..1; ties count
            half.
        facts: how it was made: numbers of responses, files with their digests, licence, seed, command.
    """

    name: str
    signature: str
    true: tuple[float, ...]
    random: tuple[float, ...]
    above: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """8 hex digits of the SHA-256 of the signature and the quantiles."""
        decisive = json.dumps([self.signature, self.true, self.random])
        return hashlib.sha256(decisive.encode()).hexdigest()[:8]

    @cached_property
    def own_signature(self) -> Signature:
        """The signature, parsed."""
        from .base import Signature

        return Signature.from_text(self.signature)

    @property
    def label(self) -> str:
        """The name in signatures, e.g. ``topical-chat@1f0c22c1``."""
        return f"{self.name}@{self.digest}"

    def percentile(self, value: float) -> float | None:
        """Return the share of true responses with ``value`` or less, 0..100 in steps of 0.5; None when ``value`` is NaN."""
        if isnan(value):
            return None
        return max(bisect_right(self.true, value) - 1, 0) * _STEP

    @property
    def random_median(self) -> float:
        """The percentile of the median random response, 0..100."""
        return max(bisect_right(self.true, self.random[QUANTILES // 2]) - 1, 0) * _STEP

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read back the content of a file, which ``str`` gives."""
        facts = dict(json.loads(text))
        if facts.pop("format") != _FORMAT:
            raise ValueError(f"its format is not version {_FORMAT}")
        true, random = (tuple(float(value) for value in facts.pop(key)) for key in ("true", "random"))
        for quantiles in (true, random):
            if len(quantiles) != QUANTILES or list(quantiles) != sorted(quantiles) or any(map(isnan, quantiles)):
                raise ValueError(f"it does not hold {QUANTILES} ascending quantiles")
        name, signature, above = str(facts.pop("name")), str(facts.pop("signature")), float(facts.pop("above"))
        return cls(name, signature, true, random, above, facts)

    def __str__(self) -> str:
        """Return the content of its file: JSON with one line for each fact and for each list of quantiles."""
        head = {"format": _FORMAT, "name": self.name, "signature": self.signature, "above": self.above}
        row = {**head, **self.facts, "true": self.true, "random": self.random}
        return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in row.items()) + "\n}\n"


def quantiles_of(values: Sequence[float]) -> tuple[float, ...]:
    """Return 201 quantiles, each one of ``values``: at index ``i`` the least that at least ``i / 2`` per cent of them do not
    exceed."""
    ordered = sorted(float(value) for value in values)
    last = QUANTILES - 1
    return tuple(ordered[max(-(-index * len(ordered) // last) - 1, 0)] for index in range(QUANTILES))


def own_folder() -> Path:
    """Return the folder of the user's own references: ``references`` in ``TACIT_CACHE``, else in the user's cache folder."""
    return cache_folder("references")


def find_reference(signature: Signature) -> tuple[Reference, str] | None:
    """Return the reference for scores under ``signature``, and its name in their signature; None when there is none.

    A reference for this graph comes before one made with another graph, and among these the user's own before one that ships.
    """
    folders = (own_folder(), SHIPPED, SAMPLE)
    known = [_read_all(folder, signature.metric, _stamp(folder, signature.metric)) for folder in folders]
    text, graph = str(signature), dict(signature.parts).get(GRAPH)
    for references in known:
        if text in references:
            return references[text], references[text].label
    for references in known[: folders.index(SAMPLE)] if graph is not None else ():
        for reference in references.values():
            digest = dict(reference.own_signature.parts).get(GRAPH)
            if digest is not None and reference.own_signature == replace(signature, parts=with_graph(signature, digest)):
                return reference, f"{reference.label}{_OTHER_GRAPH}{digest}"
    return None


def with_graph(signature: Signature, digest: str) -> tuple[tuple[str, str], ...]:
    """Return the parts of a signature with another graph's digest."""
    return tuple((name, digest if name == GRAPH else value) for name, value in signature.parts)


def other_graph(signature: Signature) -> str:
    """Return the digest of the graph that the reference in a signature was made with; empty when it is the scores' own graph."""
    return dict(signature.parts).get("reference", "").partition(_OTHER_GRAPH)[2]


def references_of(metric: str, folders: Sequence[Path] | None = None) -> list[Reference]:
    """Return all references of ``metric`` in ``folders``, by default the user's own and then the shipped ones."""
    searched = (own_folder(), SHIPPED) if folders is None else folders
    return [reference for folder in searched for reference in _read_all(folder, metric, _stamp(folder, metric)).values()]


def file_name(metric: str, signature: str) -> str:
    """Return the name of the file of a metric's reference under ``signature``."""
    return f"{metric}.{hashlib.sha256(signature.encode()).hexdigest()[:12]}.json"


def write_reference(folder: Path, metric: str, reference: Reference) -> Path:
    """Write a reference to ``folder`` atomically, replacing one for the same signature; return its path."""
    path = folder / file_name(metric, reference.signature)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, str(reference).encode())
    except OSError as error:
        raise ModelError(f"the reference cannot be written to {folder}: {error.strerror}; name another folder") from error
    return path


def _stamp(folder: Path, metric: str) -> tuple[tuple[str, int, int], ...]:
    """Return names, times and sizes of a metric's reference files in ``folder``, which change when the references do."""
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.startswith(f"{metric}.") and entry.name.endswith(".json")]
        return tuple(sorted((entry.name, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in entries))
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _read_all(folder: Path, metric: str, stamp: tuple[tuple[str, int, int], ...]) -> dict[str, Reference]:  # noqa: ARG001
    result = {}
    for name, *_ in stamp:
        path = folder / name
        try:
            reference = Reference.from_text(path.read_text(encoding="utf-8"))
            _ = reference.own_signature  # a malformed one is an error of this file
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"the reference {path} cannot be read ({error}); delete it, or make it again") from error
        result[reference.signature] = reference
    return result
