"""What every backend's answers share: checked arguments and name resolution over a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import NoReturn

from .errors import InputError, UnknownName
from .lemma import forms
from .names import check_relation
from .protocol import MAX_HOPS


def check_hops(hops: int, least: int = 1, most: int = MAX_HOPS) -> int:
    """Return ``hops`` when it lies in ``least..most``, else raise :class:`InputError`."""
    if not least <= hops <= most:
        raise InputError(f"{hops} hops is out of range; give a number from {least} to {most}")
    return hops


def check_limit(limit: int | None) -> int | None:
    """Return ``limit`` when it is None or not negative, else raise :class:`InputError`."""
    if limit is not None and limit < 0:
        raise InputError(f"the limit must be >= 0, not {limit}")
    return limit


def check_relations(relations: Collection[str] | None) -> list[str] | None:
    """Return ``relations`` sorted and well-formed, None when all are meant."""
    return None if relations is None else sorted({check_relation(name) for name in relations})


def resolve(texts: Sequence[str], language: str, known: Callable[[Collection[str]], Collection[str]]) -> list[str | None]:
    """Return the first known form of each text (see :func:`tacit.graph.lemma.forms`), asking ``known`` once for all of them."""
    candidates = [forms(text, language) for text in texts]
    vocabulary = set(known(set(chain.from_iterable(candidates))))
    return [next((uri for uri in uris if uri in vocabulary), None) for uris in candidates]


def is_uri(text: str) -> bool:
    """Return whether ``text`` is a URI, such as ``/c/en/dog``, and not a word or phrase."""
    return text.startswith("/") or "://" in text


def concept_uris(
    texts: Sequence[str],
    language: str,
    known: Callable[[Collection[str]], Collection[str]],
    refuse: Callable[[list[str]], NoReturn],
) -> list[str]:
    """Return ``texts`` as concept URIs: a URI as it is, whether the graph knows it or not, a text as the concept that it names.

    Args:
        known: returns those of the URIs given that are concepts.
        refuse: called with the texts that name no concept; raises :class:`UnknownName`.

    Raises:
        InputError: ``texts`` is one text instead of a list.
        UnknownName: a text names no concept.
    """
    if isinstance(texts, str):
        raise InputError(f"give a list of texts or URIs, e.g. [{texts!r}], not one text")
    words = [text for text in dict.fromkeys(texts) if not is_uri(text)]
    if not words:
        return list(texts)
    found = dict(zip(words, resolve(words, language, known), strict=True))
    unknown = [word for word, uri in found.items() if uri is None]
    if unknown:
        refuse(unknown)
    return [found.get(text) or text for text in texts]


def refuse_unknown(texts: Sequence[str], url: str, near: Sequence[str] = (), other: str = "another language") -> NoReturn:
    """Raise :class:`UnknownName` for ``texts``, which name no concept in ``url``; ``near`` are names like the first.

    ``other`` is how to ask in another language.
    """
    names = ", ".join(repr(text) for text in texts)
    advice = f"did you mean {' or '.join(near)}?" if near else f"try another word, {other}, or a concept URI such as /c/en/dog"
    raise UnknownName(f"{names} {'names' if len(texts) == 1 else 'name'} no concept in {url}; {advice}")
