"""The head that combines judges: a weighted sum of features, with exact shares; the file of fitted heads.

A feature counts as far as it differs from the mean over the choices of its instance, so that only the comparison of choices
matters. The score of a choice is the sum over features of weight times difference, and the share of a judge is its part of this
sum: for a linear model with the instance's own choices as background these are the Shapley values (Lundberg and Lee, NeurIPS
2017, section 4.2), and shares add up to the score exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError, reason_of
from ..models.modelfile import digest_of, read_model
from .judges import FORM, FormModel

Matrix = NDArray[np.float64]

SHIPPED = Path(__file__).parent / "choice_head"
FILE = "choice-head.json"
FORMAT = "tacit choice head"
VERSION = 1
TRAIN = "tacit train choice-head"

_LARGEST = 2**22


@dataclass(frozen=True, eq=False)
class Head:
    """Weights of features."""

    features: tuple[str, ...]  # `judge.feature`, in the order of the columns
    weights: Matrix  # of differences from the mean over the choices, shape (features,)
    name: str  # for signatures

    def shares(self, values: Matrix) -> Matrix:
        """Return the share of each feature in the score of each choice of an instance, shape (choices, features)."""
        return centred(values) * self.weights

    def scores(self, values: Matrix) -> Matrix:
        """Return the score of each choice, shape (choices,); the scores of an instance have the mean 0."""
        result: Matrix = self.shares(values).sum(axis=1)
        return result


def centred(values: Matrix) -> Matrix:
    """Return features minus their mean over the choices of the instance."""
    result: Matrix = values - values.mean(axis=0)
    return result


class Heads:
    """Fitted heads for some judges and each choice of them, with the model of the judge ``answers``; one small JSON file.

    Attributes:
        form: the model of the judge ``answers``.
        weights: by judges, joined by `` + ``, the weights of their features.
        facts: training data and figures, plain values for JSON.
        digest: of the file.
    """

    def __init__(
        self, form: FormModel, weights: Mapping[str, Mapping[str, float]], facts: Mapping[str, Any], digest: str = ""
    ) -> None:
        self.form, self.weights, self.facts, self.digest = form, weights, facts, digest

    def head(self, features: Sequence[str]) -> Head:
        """Return the head for some judges' features, ``judge.feature``.

        The features of a judge that was not fitted are log-odds and have the weight 1. The others then have the weights that were
        fitted together with ``answers``, since a model that reads the choices is influenced by their form, as ``answers`` is.
        """
        judges = list(dict.fromkeys(name.partition(".")[0] for name in features))
        known = [judge for judge in judges if judge in self.weights]
        beside = known if len(known) == len(judges) else {*known, "answers"}
        fitted = self.weights.get(joined(beside), {})
        weights = [fitted.get(name, 0.0) if name.partition(".")[0] in known else 1.0 for name in features]
        return Head(tuple(features), np.array(weights), self.digest)

    def to_bytes(self) -> bytes:
        """Return the file; equal heads give equal bytes."""
        data = {
            "format": FORMAT, "version": VERSION, "facts": dict(self.facts), "heads": self.weights,
            "form": self.form.form, "terms": self.form.terms,
        }  # fmt: skip
        return (json.dumps(data, indent=0, ensure_ascii=False, allow_nan=False) + "\n").encode()


def joined(judges: Iterable[str]) -> str:
    """Return the key of some judges in :attr:`Heads.weights`, whatever their order."""
    return " + ".join(sorted(judges))


def heads_from(data: bytes, name: str) -> Heads:
    """Return the heads in a file's bytes; ``name`` names it in errors."""
    try:
        content = json.loads(data)
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise ValueError(f"its format is {content['format']!r}, version {content['version']!r}")
        weights = {str(judges): _numbers(values) for judges, values in content["heads"].items()}
        form, terms = _numbers(content["form"]), _numbers(content["terms"])
        if set(form) != set(FORM):
            raise ValueError(f"its weights of form are not those of {', '.join(FORM)}")
        own = digest_of(json.dumps([form, terms], sort_keys=True).encode())
        return Heads(FormModel(form, terms, own), weights, dict(content["facts"]), digest_of(data))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{name} is not a file of heads ({reason_of(error)}); give one that {TRAIN} wrote") from error


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return a mapping of names to finite numbers; raise ValueError for others."""
    result = {str(name): float(value) for name, value in values.items()}
    if not all(map(isfinite, result.values())):
        raise ValueError("it contains numbers that are not finite")
    return result


def open_heads(path: Path | str) -> Heads:
    """Open a file of heads, or the folder that holds one."""
    return heads_from(*read_model(Path(path), FILE, "head", TRAIN, _LARGEST))


@cache
def shipped_heads() -> Heads:
    """Return the heads that ship; their card is beside them in ``choice_head/README.md``."""
    return open_heads(SHIPPED)
