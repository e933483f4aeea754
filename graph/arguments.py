"""Checks of the protocol's query arguments, and resolution of texts to URIs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import NoReturn

from .errors import InputError, UnknownName
from .names import check_relation, event_uri, forms, normalise_event, surface
from .protocol import MAX_HOPS


def check_hops(hops: int, minimum: int = 1, maximum: int = MAX_HOPS) -> int:
    """Return ``hops`` when it is in ``minimum..maximum``, else raise :class:`InputError`."""
    if not minimum <= hops <= maximum:
        raise InputError(f"{hops} hops is out of range; give a number from {minimum} to {maximum}")
    return hops


def check_limit(limit: int | None) -> int | None:
    """Return ``limit`` when it is None or not negative, else raise :class:`InputError`."""
    if limit is not None and limit < 0:
        raise InputError(f"the limit must be >= 0, not {limit}")
    return limit


def check_relations(relations: Collection[str] | None) -> list[str] | None:
    """Return the well-formed relation names, distinct and sorted; None for all relations."""
    return None if relations is None else sorted({check_relation(name) for name in relations})


def check_texts(texts: Sequence[str]) -> Sequence[str]:
    """Return ``texts`` when they are a list of texts, else (one text, whose letters would be taken) raise :class:`InputError`."""
    if isinstance(texts, str):
        raise InputError(f"give a list of texts or URIs, e.g. [{texts!r}], not one text")
    return texts


def resolve(texts: Sequence[str], language: str, known: Callable[[Collection[str]], Collection[str]]) -> list[str | None]:
    """Return the first known form of each text (:func:`tacit.graph.names.forms`).

    ``known`` is called with the texts as written, then with all other forms of those that are not known.
    """
    resolved: list[str | None] = [surface(text, language) for text in check_texts(texts)]
    vocabulary = set(known({uri for uri in resolved if uri is not None}))
    forms_of = {
        index: forms(texts[index], language) for index, uri in enumerate(resolved) if uri is not None and uri not in vocabulary
    }
    if forms_of:
        vocabulary = set(known(set(chain.from_iterable(forms_of.values()))))
        for index, candidates in forms_of.items():
            resolved[index] = next((uri for uri in candidates if uri in vocabulary), None)
    return resolved


def is_uri(text: str) -> bool:
    """Return whether ``text`` is a URI, such as ``/c/en/dog``, and not a word or phrase."""
    return text.startswith("/") or "://" in text


def linked_uris(texts: Sequence[str], language: str, known: Callable[[Collection[str]], Collection[str]], url: str) -> list[str]:
    """Return ``texts`` as URIs: URIs unchanged, texts as the concept that they resolve to, or else the event with these words.

    ``known`` returns those of many URIs that are concepts or events; a text that is neither raises :class:`UnknownName`.
    """
    candidates = {}
    for text in texts:
        event = normalise_event(text)
        candidates[text] = [] if is_uri(text) else [*forms(text, language), *([event_uri(text)] if event else [])]
    vocabulary = set(known(set(chain.from_iterable(candidates.values()))))
    resolved = []
    for text in texts:
        uri = text if is_uri(text) else next((uri for uri in candidates[text] if uri in vocabulary), None)
        if uri is None:
            raise UnknownName(f"{text!r} is neither a concept nor an event of {url}; tacit heads finds events by their words")
        resolved.append(uri)
    return resolved


def concept_uris(
    texts: Sequence[str],
    language: str,
    known: Callable[[Collection[str]], Collection[str]],
    refuse: Callable[[list[str]], NoReturn],
) -> list[str]:
    """Return ``texts`` as concept URIs: URIs unchanged, even unknown ones, and texts resolved to concepts.

    ``known`` returns those of many URIs that are concepts; ``refuse`` raises :class:`UnknownName` for texts that are not.
    """
    names = [text for text in dict.fromkeys(check_texts(texts)) if not is_uri(text)]
    if not names:
        return list(texts)
    resolved = dict(zip(names, resolve(names, language, known), strict=True))
    unknown = [name for name, uri in resolved.items() if uri is None]
    if unknown:
        refuse(unknown)
    return [resolved.get(text) or text for text in texts]


def refuse_unknown(texts: Sequence[str], url: str, similar: Sequence[str] = (), remedy: str = "another language") -> NoReturn:
    """Raise :class:`UnknownName` for ``texts``, at least one; ``similar`` are concepts spelled like the first of them."""
    names = ", ".join(repr(text) for text in texts)
    otherwise = f"try another word, {remedy}, or a concept URI such as /c/en/dog"
    advice = f"did you mean {' or '.join(similar)}?" if similar else otherwise
    verb = "is not a concept" if len(texts) == 1 else "are not concepts"
    raise UnknownName(f"{names} {verb} of {url}; {advice}")
