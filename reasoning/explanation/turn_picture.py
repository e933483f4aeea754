"""The SVG picture of the answers about a turn: the turn in the middle, and a branch with the best answers for each question.

What comes before the turn (cause, prerequisite, motivation) is on its left, what follows (subsequent event, reaction) on its
right; a picture that is too narrow for that has the turn on the left or on top. Every answer is a ``g`` element with
``data-answer``, its turn, question and place (``0 cause 1``), so that a page can make it a link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ...graph.errors import InputError
from ...graph.names import text_of
from ...graph.questions import Question
from .path_picture import Picture
from .picture import COLOUR, DASHES, FAINT, HISTORY, HISTORY_EDGE, INK, LEAD, MARGIN, PAPER, QUIET, SMALL, TEXT, TINY
from .scene import By
from .svg import arrow, bend, box, clean, document, fit, label, px, stroke, width_of, wrap

if TYPE_CHECKING:
    from ..inference.answers import Answer, TurnAnswers

NARROWEST, WIDEST = 240, 2400
MOST = 50

TITLES: Mapping[Question, str] = MappingProxyType(
    {
        Question.CAUSE: "Cause",
        Question.SUBSEQUENT: "Subsequent event",
        Question.PREREQUISITE: "Prerequisite",
        Question.MOTIVATION: "Motivation",
        Question.REACTION: "Reaction",
    }
)
_BEFORE = (Question.CAUSE, Question.PREREQUISITE, Question.MOTIVATION)

NO_EDGE = "no edge"
_LEGEND = {By.GRAPH: "edge of the event", By.SIMILARITY: "edge of a similar event", By.MODEL: "from a model, no edge"}

_ASIDE, _BESIDE, _WIDE = 560, 640, 760  # widths from which the turn is beside the answers, between them, and far from them
_GUTTER, _NARROW_GUTTER = 64.0, 42.0  # between a turn and its answers
_PAD = 9.0
_TITLE = 20.0
_BETWEEN_BOXES, _BETWEEN_BRANCHES, _BETWEEN_TURNS = 7.0, 15.0, 30.0
_INDENT, _SPINE = 30.0, 10.0  # of the answers below a turn, and of the line that leads to them
_LINE = 1.6
_STRAIGHT = 11.0  # last part of a curve, so that it meets its arrowhead
_TINY_LEAD = 13.5
_ANSWER_LINES, _EDGE_LINES, _TURN_LINES, _EVENT_LINES = 3, 3, 12, 2
_EVENTS = 3


def draw_turns(turns: Sequence[TurnAnswers], *, width: int = 960, most: int = 12) -> Picture:
    """Return a picture of the answers about some turns, one below the other; deterministic, byte for byte.

    Blue lines are edges of the graph, grey dotted ones edges of a similar event, dashed ones a model's answers; an arrow
    points from head to tail. A question that the graph does not answer says so.

    Args:
        width: in pixels, 240..2,400.
        most: number of turns that are drawn, 1..50; a line below says how many are left out.

    Raises:
        InputError: there is no turn, or a number is out of range.
    """
    if not NARROWEST <= width <= WIDEST:
        raise InputError(f"the width of a picture must be from {NARROWEST} to {WIDEST} pixels, not {width}")
    if not 1 <= most <= MOST:
        raise InputError(f"most must be from 1 to {MOST}, not {most}")
    if not turns:
        raise InputError("there is no turn to draw; give at least one")
    shown, left_out = turns[:most], len(turns) - min(most, len(turns))
    marks: list[str] = []
    y = MARGIN
    for number, one in enumerate(shown):
        y = _draw(one, width, y + (_BETWEEN_TURNS if number else 0.0), marks)
    if left_out:
        y += LEAD
        marks.append(label(MARGIN, y + 4, f"and {left_out} more turn{'s' if left_out > 1 else ''}", SMALL, QUIET))
    y = _foot(shown, width, y + LEAD, marks)
    which = f"turn {shown[0].turn + 1}" if len(turns) == 1 else f"{len(turns)} turns"
    described = " ".join(described_turn(one) for one in shown)
    return Picture(document(width, y + 10, f"Five questions about {which}", described, marks))


def edge_text(answer: Answer) -> str:
    """Return the edge of an answer as ``head -relation-> tail``, with its likeness if it is about a similar event; else why
    there is none.
    """
    if answer.edge is None:
        return "written by a model, no edge" if answer.origin == "model" else f"generated ({answer.relation}), no edge"
    [row] = answer.edge.assertions
    edge = f"{text_of(row.head)} -{row.relation}-> {text_of(row.tail)}"
    return f"{edge} (similar event, {answer.likeness:.2f})" if answer.origin == "nearest" else edge


def answer_text(answer: Answer) -> str:
    """Return an answer with the emotion that it names, if it does so in another word."""
    return f"{answer.text} ({answer.emotion})" if answer.emotion and answer.emotion not in answer.text else answer.text


def described_turn(turn: TurnAnswers) -> str:
    """Return the content of the picture as text, for screen readers."""
    branches = (
        f"{TITLES[question]}: " + ("; ".join(f"{answer_text(one)}: {edge_text(one)}" for one in answers) or NO_EDGE) + "."
        for question, answers in turn.answers.items()
    )
    return " ".join([f"Turn {turn.turn + 1}: {clean(turn.text)}", *branches])


def _by(answer: Answer) -> By:
    if answer.edge is None:
        return By.MODEL
    return By.SIMILARITY if answer.origin == "nearest" else By.GRAPH


class _Box:
    """The box of one answer: its lines of text and of its edge, and its height."""

    def __init__(self, answer: Answer, width: float) -> None:
        self.answer, self.width = answer, width
        inner = width - 2 * _PAD
        self.lines = [line.text for line in wrap(clean(answer_text(answer)), TEXT, inner, _ANSWER_LINES)]
        self.edge = [line.text for line in wrap(clean(edge_text(answer)), TINY, inner, _EDGE_LINES)]
        self.height = 2 * _PAD - 5 + len(self.lines) * LEAD + len(self.edge) * _TINY_LEAD

    def draw(self, x: float, top: float, name: str) -> Iterator[str]:
        """Yield the elements of the box, in a group that a page can make a link."""
        by = _by(self.answer)
        title = f"{clean(answer_text(self.answer))}: {clean(edge_text(self.answer))}"
        yield f'<g data-answer="{escape(name)}"><title>{escape(title)}</title>'
        yield box(x, top, self.width, self.height, "#ffffff", stroke=COLOUR[by], radius=6, dashed=by is By.MODEL)
        y = top + _PAD - 3
        for line in self.lines:
            y += LEAD
            yield label(x + _PAD, y - 4.5, line, TEXT, INK)
        for line in self.edge:
            y += _TINY_LEAD
            yield label(x + _PAD, y - 3, line, TINY, QUIET)
        yield "</g>"


class _Branch:
    """The answers to one question, below its name.

    Attributes:
        height: of all of it; middles: y of the boxes' middles below the top.
    """

    def __init__(self, turn: int, question: Question, answers: Sequence[Answer], width: float) -> None:
        self.turn, self.question, self.width = turn, question, width
        self.boxes = [_Box(answer, width) for answer in answers]
        heights = [made.height for made in self.boxes] or [2 * _PAD + 10]
        self.middles: list[float] = []
        top = _TITLE
        for height in heights:
            self.middles.append(top + height / 2)
            top += height + _BETWEEN_BOXES
        self.height = top - _BETWEEN_BOXES

    def draw(self, x: float, top: float) -> Iterator[str]:
        """Yield the name of the question and the boxes."""
        name = TITLES[self.question]
        yield label(x + 1, top + 13, fit(name, SMALL, self.width, bold=True), SMALL, INK, bold=True)
        y = top + _TITLE
        for place, made in enumerate(self.boxes):
            yield from made.draw(x, y, f"{self.turn} {self.question.value} {place}")
            y += made.height + _BETWEEN_BOXES
        if not self.boxes:
            height = 2 * _PAD + 10
            yield box(x, y, self.width, height, PAPER, stroke=QUIET, radius=6, dashed=True)
            yield label(x + _PAD, y + height / 2 + 4.5, NO_EDGE, TEXT, QUIET)

    def ends(self) -> Iterator[tuple[Answer | None, float]]:
        """Yield each answer, None without one, with the y of the middle of its box below the top."""
        answers: list[Answer | None] = [made.answer for made in self.boxes]
        yield from zip(answers or [None], self.middles, strict=True)


class _Turn:
    """The card of the turn, with the events that were looked up."""

    def __init__(self, turn: TurnAnswers, width: float) -> None:
        self.width = width
        inner = width - 2 * _PAD
        self.title = f"turn {turn.turn + 1}"
        self.lines = [line.text for line in wrap(clean(turn.text), TEXT, inner, _TURN_LINES)] or ["(empty)"]
        self.events: list[str] = []
        for event in turn.events[:_EVENTS]:
            self.events += [line.text for line in wrap(clean(event), TINY, inner, _EVENT_LINES)]
        more = len(turn.events) - _EVENTS
        if more > 0:
            self.events.append(f"and {more} more event{'s' if more > 1 else ''}")
        if not turn.events:
            self.events = [line.text for line in wrap("no event was found in it", TINY, inner, 2)]
        self.height = 2 * _PAD + 18 + len(self.lines) * LEAD + 6 + len(self.events) * _TINY_LEAD

    def draw(self, x: float, top: float) -> Iterator[str]:
        """Yield the elements of the card."""
        yield box(x, top, self.width, self.height, HISTORY, stroke=HISTORY_EDGE, radius=8)
        yield label(x + _PAD, top + _PAD + 10, self.title, SMALL, QUIET, bold=True)
        y = top + _PAD + 18
        for line in self.lines:
            y += LEAD
            yield label(x + _PAD, y - 4.5, line, TEXT, INK)
        y += 6
        for line in self.events:
            y += _TINY_LEAD
            yield label(x + _PAD, y - 3, line, TINY, QUIET)


class _Side(NamedTuple):
    """Branches one below the other."""

    branches: list[_Branch]

    @property
    def height(self) -> float:
        """Height of all branches."""
        return sum(one.height for one in self.branches) + _BETWEEN_BRANCHES * max(len(self.branches) - 1, 0)


def _draw(turn: TurnAnswers, width: float, top: float, marks: list[str]) -> float:
    """Add one turn with its answers; return the y below them."""
    inner = width - 2 * MARGIN
    before = [question for question in turn.answers if question in _BEFORE]
    after = [question for question in turn.answers if question not in _BEFORE]

    def side(questions: Sequence[Question], wide: float) -> _Side:
        return _Side([_Branch(turn.turn, question, turn.answers[question], wide) for question in questions])

    if width < _ASIDE:
        return _stacked(_Turn(turn, inner), side(list(turn.answers), inner - _INDENT), top, marks)
    if width < _BESIDE or not before or not after:
        card = _Turn(turn, min(inner * 0.34, 320.0))
        answers = side(list(turn.answers), min(inner - card.width - _GUTTER, 520.0))
        height = max(card.height, answers.height)
        card_top = top + (height - card.height) / 2
        _fan(card, MARGIN, card_top, answers, MARGIN + card.width + _GUTTER, top + (height - answers.height) / 2, True, marks)
        marks += card.draw(MARGIN, card_top)
        return top + height
    card = _Turn(turn, min(inner * 0.25, 320.0))
    gutter = _GUTTER if width >= _WIDE else _NARROW_GUTTER
    wide = (inner - card.width - 2 * gutter) / 2
    left, right = side(before, wide), side(after, wide)
    height = max(card.height, left.height, right.height)
    x, card_top = MARGIN + wide + gutter, top + (height - card.height) / 2
    _fan(card, x, card_top, left, MARGIN, top + (height - left.height) / 2, False, marks)
    _fan(card, x, card_top, right, x + card.width + gutter, top + (height - right.height) / 2, True, marks)
    marks += card.draw(x, card_top)
    return top + height


def _fan(card: _Turn, card_x: float, card_top: float, side: _Side, x: float, top: float, onwards: bool, marks: list[str]) -> None:
    """Add the branches of one side of a turn, ``onwards`` if they are on its right, with a curve to each answer."""
    start = card_x + card.width if onwards else card_x
    y = top
    for number, branch in enumerate(side.branches):
        port = card_top + card.height * (number + 1) / (len(side.branches) + 1)
        end = x if onwards else x + branch.width
        bent = end - _STRAIGHT if onwards else end + _STRAIGHT
        for answer, middle in branch.ends():
            path = f"{bend(start, port, bent, y + middle)}H{px(end)}"
            marks += _line(answer, path, end, y + middle, onwards)
        marks += branch.draw(x, y)
        y += branch.height + _BETWEEN_BRANCHES


def _stacked(card: _Turn, side: _Side, top: float, marks: list[str]) -> float:
    """Add a turn with its branches below it; return the y below them."""
    marks += card.draw(MARGIN, top)
    spine, x = MARGIN + _SPINE, MARGIN + _INDENT
    y = start = top + card.height
    last = start
    for branch in side.branches:
        y += _BETWEEN_BRANCHES
        for answer, middle in branch.ends():
            last = y + middle
            marks += _line(answer, f"M{px(spine)} {px(last)}H{px(x)}", x, last, True)
        marks += branch.draw(x, y)
        y += branch.height
    marks.append(stroke(f"M{px(spine)} {px(start)}V{px(last)}", QUIET, _LINE))
    return y


def _line(answer: Answer | None, path: str, x: float, y: float, onwards: bool) -> Iterator[str]:
    """Yield the line to the box of an answer at a point, with its arrow: to the box, or away from it where the answer is the
    head; a faint line without an answer.
    """
    if answer is None:
        yield stroke(path, FAINT, _LINE)
        return
    by = _by(answer)
    yield stroke(path, COLOUR[by], _LINE, DASHES[by])
    if answer.backwards:
        away = 7 + _LINE
        yield arrow(x - away if onwards else x + away, y, not onwards, _LINE, COLOUR[by])
    else:
        yield arrow(x, y, onwards, _LINE, COLOUR[by])


def _foot(turns: Sequence[TurnAnswers], width: float, y: float, marks: list[str]) -> float:
    """Add the legend and the signatures; return the y below them."""
    shown = {_by(answer) for turn in turns for answers in turn.answers.values() for answer in answers}
    x = MARGIN
    for by in (By.GRAPH, By.SIMILARITY, By.MODEL):
        if by not in shown:
            continue
        wide = 36 + width_of(_LEGEND[by], SMALL)
        if x > MARGIN and x + wide > width - MARGIN:
            x, y = MARGIN, y + LEAD
        marks.append(stroke(f"M{px(x)} {px(y)}h28", COLOUR[by], 3, DASHES[by]))
        marks.append(label(x + 36, y + 4, _LEGEND[by], SMALL, QUIET))
        x += wide + 24
    y += LEAD if shown else 0
    for signature in dict.fromkeys(turn.signature for turn in turns if turn.signature):
        for line in wrap(clean(signature), TINY, width - 2 * MARGIN, 4):
            marks.append(label(MARGIN, y + 6, line.text, TINY, QUIET))
            y += 14
    return y
