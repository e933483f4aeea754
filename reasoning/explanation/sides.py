"""The two outer columns of a picture: cards with what was said, its words marked, and below it a box for each of them.

A column is measured first and drawn when it is known where it begins. Nothing in it overlaps: cards stand below each other, in a
card lines and boxes do, and every text is cut to its column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .look import FAINT, HISTORY, HISTORY_EDGE, INK, LEAD, PAPER, QUIET, RESPONSE, RESPONSE_EDGE, SMALL, TEXT, TINY
from .scene import Word
from .svg import box, label
from .typeset import Line, clean, fit, plain, width_of, wrap

MOST_TURNS = 3
MOST_LINES = 8

_PAD = 10.0
_BETWEEN = 12.0
_TITLE = 20.0
_BOX_PAD = 9.0
_BOX_BETWEEN = 6.0
_BOX_LINES = 2


@dataclass(frozen=True, slots=True)
class _Box:
    """A word's box: its top in the column, its size, its lines."""

    word: Word
    top: float
    width: float
    height: float
    lines: tuple[Line, ...]
    joined: bool


@dataclass(slots=True)
class _Card:
    """One turn: its top and height in the column, its title, its text in lines, and its boxes."""

    top: float
    height: float
    title: str
    lines: Sequence[Line]
    marked: Sequence[tuple[int, int]]
    boxes: list[_Box] = field(default_factory=list)


class Side:
    """One column: the history (``right`` false) or the response.

    Attributes:
        height: of the whole column.
    """

    def __init__(
        self, turns: Sequence[tuple[int | None, str]], words: Sequence[Word], joined: Sequence[Word], x: float, width: float
    ) -> None:
        """Measure the cards of ``turns``, each a number (None: the response) and its text; ``joined`` words have a full edge."""
        self.x, self.width = x, width
        self.right = any(number is None for number, _ in turns)
        self._cards: list[_Card] = []
        self._gaps: list[tuple[float, str]] = []
        self._boxes: dict[Word, _Box] = {}
        top, last = 0.0, -1
        for number, text in turns:
            skipped = 0 if number is None else number - last - 1
            if skipped:
                self._gaps.append((top, f"{skipped} turn{'s' if skipped > 1 else ''} without a part in it"))
                top += _TITLE
            card = self._card(top, number, text, [word for word in words if word.turn == number], set(joined))
            self._cards.append(card)
            top += card.height + _BETWEEN
            last = -1 if number is None else number
        self.height = max(top - _BETWEEN, 0.0)

    def _card(self, top: float, number: int | None, text: str, words: Sequence[Word], joined: set[Word]) -> _Card:
        inner = self.width - 2 * _PAD
        lines = wrap(plain(text), TEXT, inner, MOST_LINES) or [Line("(says nothing)", ())]
        below = top + _PAD + _TITLE + len(lines) * LEAD + (_BOX_BETWEEN if words else 0)
        card = _Card(
            top, 0.0, "response" if number is None else f"turn {number + 1}", lines, [(word.start, word.end) for word in words]
        )
        for word in words:
            set_in = tuple(wrap(clean(word.text), TEXT, inner - 2 * _BOX_PAD, _BOX_LINES) or [Line("?", ())])
            width = max(width_of(line.text, TEXT) for line in set_in) + 2 * _BOX_PAD
            height = len(set_in) * (LEAD - 1) + 9
            made = _Box(word, below, width, height, set_in, word in joined)
            card.boxes.append(made)
            self._boxes[word] = made
            below += height + _BOX_BETWEEN
        card.height = below - top - (_BOX_BETWEEN if words else 0) + _PAD
        return card

    def middle(self, word: Word) -> float:
        """Return how far below the column's top the middle of a word's box is."""
        made = self._boxes[word]
        return made.top + made.height / 2

    def port(self, word: Word, place: int, of: int) -> tuple[float, float]:
        """Return where the ``place``-th (from 0) of ``of`` lines meets a word's box, below the column's top."""
        made = self._boxes[word]
        x = self.x + _PAD + made.width if self.right is False else self.x + _PAD
        if not self.right:
            x = self.x + self.width - _PAD
        return x, made.top + made.height * (place + 1) / (of + 1)

    def draw(self, top: float) -> Iterator[str]:
        """Yield the marks of the column that begins at ``top``."""
        fill, edge = (RESPONSE, RESPONSE_EDGE) if self.right else (HISTORY, HISTORY_EDGE)
        for y, said in self._gaps:
            yield label(self.x + _PAD, top + y + 12, fit(said, TINY, self.width - _PAD), TINY, QUIET)
        for card in self._cards:
            yield box(self.x, top + card.top, self.width, card.height, PAPER, stroke=FAINT, radius=6)
            yield label(self.x + _PAD, top + card.top + _PAD + 9, card.title, SMALL, QUIET, bold=True)
            y = top + card.top + _PAD + _TITLE
            for line in card.lines:
                for start, end in _marks(line, card.marked):
                    left = width_of(line.text[:start], TEXT)
                    wide = width_of(line.text[start:end], TEXT)
                    yield box(self.x + _PAD + left - 1.5, y - 0.5, wide + 3, LEAD - 1, fill, radius=3)
                yield label(self.x + _PAD, y + 12.5, line.text, TEXT, INK)
                y += LEAD
            for made in card.boxes:
                yield from self._box(made, top, fill, edge)

    def _box(self, made: _Box, top: float, fill: str, edge: str) -> Iterator[str]:
        x = self.x + _PAD if self.right else self.x + self.width - _PAD - made.width
        y = top + made.top
        if made.joined:
            yield box(x, y, made.width, made.height, fill, stroke=edge, radius=5)
        else:
            yield box(x, y, made.width, made.height, "#ffffff", stroke=QUIET, radius=5, dashed=True)
        for row, line in enumerate(made.lines):
            title = made.word.name if not row else ""
            yield label(x + _BOX_PAD, y + 4.5 + 12.5 + row * (LEAD - 1), line.text, TEXT, INK, title=title)


def _marks(line: Line, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of a line, from and to letters of it, that lie in the spans of the text."""
    for begin, end in spans:
        touched = [
            (place + max(begin - start, 0), place + min(end - start, len(word)))
            for start, place, word in line.words
            if start < end and start + len(word) > begin
        ]
        if touched:
            yield min(touched)[0], max(last for _, last in touched)


def shown_turns(history: Sequence[str], words: Sequence[Word]) -> list[tuple[int, str]]:
    """Return the turns to show, oldest first: the last one, those with words, and where these are few also recent ones."""
    spoken = {word.turn for word in words if word.turn is not None}
    wanted = [number for number in range(len(history) - 1, -1, -1) if number in spoken or number == len(history) - 1]
    recent = [number for number in range(len(history) - 1, -1, -1) if number not in wanted]
    return [(number, history[number]) for number in sorted([*wanted, *recent[: max(MOST_TURNS - len(wanted), 0)]])]
