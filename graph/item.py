"""An item: a history with a response to score, used by loaders, metrics, the service and its client.

An :class:`Item` is checked when it is created, and not again by code that receives one.
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
    """A history with a response, and references where a metric needs them.

    Attributes:
        history: the turns before the response, oldest first.
        response: the text to score.
        references: human responses to the same history, for metrics that compare with them; often empty.
        id: identifies the item in the output. For a file: the record's ``id``, or its number; for turns and messages followed by
            ``/<number of the turn, from 1>``, so that the first item of a dialogue is ``<id>/2``.
    """

    history: tuple[str, ...]
    response: str
    references: tuple[str, ...] = ()
    id: Any = None

    def __init__(self, history: Sequence[str], response: str, references: Sequence[str] = (), id: Any = None) -> None:
        """Check and store the texts.

        Raises:
            InputError: the history or the references are a string or not a sequence; a turn, the response or a reference is not
                a string, cannot be encoded as UTF-8, or has more than 200,000 characters.
        """
        set_field = object.__setattr__
        set_field(
            self, "history", _check_texts(history, "the history", "turn {} of the history", "a list of turns, oldest first")
        )
        _check_text(response, "the response")
        set_field(self, "response", response)
        set_field(self, "references", _check_texts(references, "the references", "reference {}", "a list of responses"))
        set_field(self, "id", id)


@dataclass(frozen=True, slots=True)
class ItemError:
    """A record of a file that is not a valid item.

    Attributes:
        line: number of the record, from 1: the line, the element of a JSON list, or the row of a Parquet file.
        reason: what is wrong with it.
        id: its ``id``, None when it has none.
        damage: whether the file ends early here, because it was truncated or its checksum is wrong.
    """

    line: int
    reason: str
    id: str | None = field(default=None, kw_only=True)
    damage: bool = field(default=False, kw_only=True, compare=False)


def _check_texts(texts: Any, what: str, numbered: str, expected: str) -> tuple[str, ...]:
    """Return a sequence of texts as a tuple; ``what``, ``numbered`` and ``expected`` are for error messages."""
    if isinstance(texts, str):
        raise InputError(f"{what} {'is' if what == 'the history' else 'are'} one text; give {expected}")
    if isinstance(texts, (bytes, Mapping)) or not isinstance(texts, Sequence):
        raise InputError(f"{what} {'is' if what == 'the history' else 'are'} of type {type(texts).__name__}; give {expected}")
    for number, text in enumerate(texts, 1):
        _check_text(text, numbered.format(number))
    return tuple(texts)


def _check_text(text: Any, what: str) -> None:
    """Raise :class:`InputError` unless ``text`` is a valid text."""
    if not isinstance(text, str):
        raise InputError(f"{what} is of type {type(text).__name__}; give a text")
    if len(text) > LONGEST_TEXT:
        raise InputError(f"{what} has {len(text):,} characters, the maximum is {LONGEST_TEXT:,}; split it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half a surrogate pair, which is not valid text; decode its source again") from None
