"""A response to score, in its context: the one type that loaders read, metrics score, and the service and its client exchange.

An :class:`Item` is checked when it is made, so code that is given one does not check it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import InputError

LONGEST_TEXT = 200_000
"""Most characters of a turn, a response or a reference."""


@dataclass(frozen=True, slots=True, init=False)
class Item:
    """One response in its context.

    Attributes:
        history: the turns before the response, oldest first.
        response: the text to score.
        references: responses that people gave at this place, for metrics that compare with them; often none.
        id: names the item in the output. Of a file: the record's own ``id``, else its number; for turns and messages with
            ``/<number of the turn, from 1>`` after it, so that the first item of a dialogue is ``<id>/2``.
    """

    history: tuple[str, ...]
    response: str
    references: tuple[str, ...] = ()
    id: Any = None

    def __init__(self, history: Sequence[str], response: str, references: Sequence[str] = (), id: Any = None) -> None:
        """Check the texts and keep them.

        Raises:
            InputError: the history or the references are one text or no sequence; a turn, the response or a reference is no
                text, cannot be written as UTF-8, or is longer than 200,000 characters.
        """
        keep = object.__setattr__
        keep(self, "history", _check_texts(history, "the history", "turn {} of the history", "a list of turns, oldest first"))
        _check_text(response, "the response")
        keep(self, "response", response)
        keep(self, "references", _check_texts(references, "the references", "reference {}", "a list of responses"))
        keep(self, "id", id)


@dataclass(frozen=True, slots=True)
class ItemError:
    """A place in a file where an item should be and none is.

    Attributes:
        line: number of its record from 1: of the line, of the element of a JSON list, or of the row of a Parquet file.
        reason: why there is none.
        id: its ``id``, None when it has none.
        damage: the file ends early here, since it was cut or its checksum is wrong.
    """

    line: int
    reason: str
    id: str | None = field(default=None, kw_only=True)
    damage: bool = field(default=False, kw_only=True, compare=False)


def _check_texts(texts: Any, what: str, one: str, wanted: str) -> tuple[str, ...]:
    """Return a sequence of texts as a tuple; ``what``, ``one`` of them and what is ``wanted`` are for the error."""
    if isinstance(texts, str):
        raise InputError(f"{what} {'is' if what == 'the history' else 'are'} one text; give {wanted}")
    if isinstance(texts, (bytes, Mapping)) or not isinstance(texts, Sequence):
        raise InputError(f"{what} {'is' if what == 'the history' else 'are'} of type {type(texts).__name__}; give {wanted}")
    for number, text in enumerate(texts, 1):
        _check_text(text, one.format(number))
    return tuple(texts)


def _check_text(text: Any, what: str) -> None:
    """Raise :class:`InputError` when ``text`` is no text that can be analysed."""
    if not isinstance(text, str):
        raise InputError(f"{what} is of type {type(text).__name__}; give a text")
    if len(text) > LONGEST_TEXT:
        raise InputError(f"{what} has {len(text):,} characters, more than {LONGEST_TEXT:,}; give it in parts")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half a surrogate pair, which is no valid text; decode its source again") from None
