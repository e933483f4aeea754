"""The SVG picture of the answers about a turn: the turn in the middle, and a branch with the best answers for each question.

What comes before the turn (cause, prerequisite, motivation) is on its left, what follows (subsequent event, reaction) on its
right; a narrow picture has all answers below the turn. Every answer is a ``g`` element with ``data-answer``, its turn, question
and place (``0 cause 1``), so that a page can make it a link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from ...graph.names import text_of
from ...graph.questions import Question
from .boxes import Box, Paragraph, height_of, stack
from .scene import GRAPH, MODEL, SIMILARITY
from .svg import MARGIN, SMALL, TINY, Picture, Sheet, arrowhead, curve, first_of, head_length, label, line, one_line, px

if TYPE_CHECKING:
    from ..inference.answers import Answer, TurnAnswers

TITLES: Mapping[Question, str] = {
    Question.CAUSE: "Cause",
    Question.SUBSEQUENT: "Subsequent event",
    Question.PREREQUISITE: "Prerequisite",
    Question.MOTIVATION: "Motivation",
    Question.REACTION: "Reaction",
}
_BEFORE = (Question.CAUSE, Question.PREREQUISITE, Question.MOTIVATION)

NO_EDGE = "no edge"
_LEGEND = {GRAPH: "edge of the event", SIMILARITY: "edge of a similar event", MODEL: "from a model, no edge"}

_NARROWEST = 240  # pixels
_STACKED = 640  # below this width the answers are below the turn
_GUTTER, _CARD, _WIDEST_CARD = 0.06, 0.24, 300.0
_TITLE, _BETWEEN_BRANCHES, _BETWEEN_TURNS = 20.0, 15.0, 30.0
_INDENT, _SPINE = 30.0, 10.0  # of the answers below a turn, and of the line that leads to them
_LINE = 1.6
_EVENTS = 3


def draw_turns(turns: Sequence[TurnAnswers], *, width: int = 960, limit: int = 12) -> Picture:
    """Return a picture of the answers about some turns, one below the other; deterministic, byte for byte.

    Blue lines are edges of the graph, grey dotted ones edges of a similar event, dashed ones a model's answers; an arrow
    points from head to tail. A question that the graph does not answer says so.

    Args:
        width: in pixels, 240..2,400.
        limit: number of turns that are drawn, 1..50; a line below says how many are left out.

    Raises:
        InputError: there is no turn, or a number is out of range.
    """
    sheet = Sheet(width, _NARROWEST)
    shown, left_out = first_of(turns, limit, "turn")
    for turn in shown:
        (_stacked if width < _STACKED else _side_by_side)(turn, sheet)
        sheet.y += _BETWEEN_TURNS
    sheet.y -= _BETWEEN_TURNS - 12
    if left_out:
        sheet.write(f"and {left_out} more turn{'s' if left_out > 1 else ''}", SMALL)
    sources = {_by(answer) for turn in shown for answers in turn.answers.values() for answer in answers}
    sheet.legend([(by, text) for by, text in _LEGEND.items() if by in sources])
    for signature in dict.fromkeys(turn.signature for turn in shown):
        sheet.write(signature, TINY, 4)
    which = f"turn {shown[0].turn + 1}" if len(turns) == 1 else f"{len(turns)} turns"
    return sheet.picture(f"Five questions about {which}", " ".join(described_turn(turn) for turn in shown))


def edge_text(answer: Answer) -> str:
    """Return the edge of an answer, with its likeness if it is about a similar event; else why there is none."""
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
        f"{TITLES[question]}: "
        + ("; ".join(f"{answer_text(answer)}: {edge_text(answer)}" for answer in answers) or NO_EDGE)
        + "."
        for question, answers in turn.answers.items()
    )
    return " ".join([f"Turn {turn.turn + 1}: {one_line(turn.text)}", *branches])


def _by(answer: Answer) -> str:
    if answer.edge is None:
        return MODEL
    return SIMILARITY if answer.origin == "nearest" else GRAPH


def _card(turn: TurnAnswers, width: float) -> Box:
    """Return the box of the turn, with the events that were looked up."""
    events = [Paragraph(one_line(event), TINY, "quiet", 2) for event in turn.events[:_EVENTS]]
    if (more := len(turn.events) - _EVENTS) > 0:
        events.append(Paragraph(f"and {more} more event{'s' if more > 1 else ''}", TINY, "quiet"))
    events = events or [Paragraph("no event was found in it", TINY, "quiet")]
    head, text = (
        Paragraph(f"turn {turn.turn + 1}", SMALL, "quiet bold"),
        Paragraph(one_line(turn.text) or "(empty)", max_lines=12),
    )
    return Box("left", [head, text, *events], width)


class _Branch:
    """The answers to one question, one below the other under its name."""

    def __init__(self, turn: TurnAnswers, question: Question, width: float) -> None:
        self.title, self.answers = TITLES[question], turn.answers[question]
        self.boxes = [
            Box(
                _by(answer),
                [Paragraph(one_line(answer_text(answer))), Paragraph(one_line(edge_text(answer)), TINY, "quiet")],
                width,
                title=f"{answer_text(answer)}: {edge_text(answer)}",
                name=f"{turn.turn} {question.value} {index}",
            )
            for index, answer in enumerate(self.answers)
        ] or [Box("open", [Paragraph(NO_EDGE, style="quiet")], width)]
        self.height = _TITLE + height_of(self.boxes) + _BETWEEN_BRANCHES

    def draw(self, x: float, y: float, start: tuple[float, float | None], onwards: bool = True) -> Iterator[str]:
        """Put the branch at a point, and yield its elements, with the lines to its boxes from another point, or straight from
        an ``x``. Arrows point to the box, or away from it where the answer is the head of its edge.
        """
        stack(self.boxes, x, y + _TITLE)
        yield label(x + 1, y + 13, self.title, SMALL, "bold")
        for box, answer in zip_longest(self.boxes, self.answers):
            end, middle = (box.x if onwards else box.x + box.width), box.middle
            bent = end - head_length(_LINE) * (1 if onwards else -1)
            x0, y0 = start[0], middle if start[1] is None else start[1]
            style = "faint" if answer is None else _by(answer)
            yield line(f"M{px(x0)} {px(y0)}{curve(x0, y0, bent, middle)}H{px(end)}", style, _LINE)
            if answer is not None:
                yield arrowhead(bent if answer.backwards else end, middle, onwards != answer.backwards, style, _LINE)
            yield from box.draw()


def _side_by_side(turn: TurnAnswers, sheet: Sheet) -> None:
    """Add one turn with its answers on both sides."""
    sides = [[question for question in turn.answers if (question in _BEFORE) is before] for before in (True, False)]
    gutter, card = sheet.inner * _GUTTER, _card(turn, min(sheet.inner * _CARD, _WIDEST_CARD))
    wide = min((sheet.inner - card.width) / max(sum(map(bool, sides)), 1) - gutter, sheet.inner / 2)
    columns = [[_Branch(turn, question, wide) for question in questions] for questions in sides]
    heights = [sum(branch.height for branch in column) - _BETWEEN_BRANCHES for column in columns]
    top, height = sheet.y, max(card.height, *heights)
    card.place(MARGIN + (wide + gutter if sides[0] else 0.0), top + (height - card.height) / 2)
    for column, tall, onwards in zip(columns, heights, (False, True), strict=True):
        x, y = (card.x + card.width + gutter if onwards else MARGIN), top + (height - tall) / 2
        for index, branch in enumerate(column, 1):
            port = card.y + card.height * index / (len(column) + 1)
            sheet.add(*branch.draw(x, y, (card.x + card.width if onwards else card.x, port), onwards))
            y += branch.height
    sheet.add(*card.draw())
    sheet.y = top + height


def _stacked(turn: TurnAnswers, sheet: Sheet) -> None:
    """Add a turn with its branches below it."""
    card = _card(turn, sheet.inner)
    card.place(MARGIN, sheet.y)
    sheet.add(*card.draw())
    start = last = sheet.y + card.height
    sheet.y = start + _BETWEEN_BRANCHES
    for question in turn.answers:
        branch = _Branch(turn, question, sheet.inner - _INDENT)
        sheet.add(*branch.draw(MARGIN + _INDENT, sheet.y, (MARGIN + _SPINE, None)))
        last = branch.boxes[-1].middle
        sheet.y += branch.height
    sheet.add(line(f"M{px(MARGIN + _SPINE)} {px(start)}V{px(last)}", "spine", _LINE))
    sheet.y -= _BETWEEN_BRANCHES
