"""What every backend's answers share: checked arguments and name resolution over a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain

from .errors import InputError
from .lemma import forms
from .names import check_relation
from .protocol import MAX_HOPS


def check_hops(hops: int, least: int = 1, most: int = MAX_HOPS) -> int:
    """Return ``hops`` when it lies in ``least..most``, else raise :class:`InputError`."""
    if not least <= hops <= most:
        raise InputError(f"{hops} hops cannot be asked for; give a number from {least} to {most}")
    return hops


def check_limit(limit: int | None) -> int | None:
    """Return ``limit`` when it is None or not negative, else raise :class:`InputError`."""
    if limit is not None and limit < 0:
        raise InputError(f"a limit of {limit} makes no sense; give 0 or more")
    return limit


def check_relations(relations: Collection[str] | None) -> list[str] | None:
    """Return ``relations`` sorted and well-formed, None when all are meant."""
    return None if relations is None else sorted({check_relation(name) for name in relations})


def resolve(texts: Sequence[str], language: str, known: Callable[[Collection[str]], Collection[str]]) -> list[str | None]:
    """Return the first known form of each text (see :func:`tacit.graph.lemma.forms`), asking ``known`` once for all of them."""
    candidates = [forms(text, language) for text in texts]
    vocabulary = set(known(set(chain.from_iterable(candidates))))
    return [next((uri for uri in uris if uri in vocabulary), None) for uris in candidates]
