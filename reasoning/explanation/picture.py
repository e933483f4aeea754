"""One picture of an explanation: what was said left, what was answered right, and between them the knowledge that joins them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

from ...graph.errors import InputError
from ..registry import METRIC_REGISTRY
from ..score import Score
from .bars import bars_height, draw_bars
from .lanes import Lane, draw_lane, lane_of
from .look import COLOUR, DASHES, INK, LEAD, MARGIN, QUIET, SMALL, TEXT, TINY, thickness, valued
from .scene import By, Chain, Scene, Word, scene_of
from .sides import Side, shown_turns
from .svg import bend, document, label, stroke
from .telling import explain, explain_value
from .typeset import clean, fit, width_of, wrap

NARROWEST, WIDEST = 640, 2400

_TITLE = 22.0
_GUTTER = 46.0
_BETWEEN = 20.0
_TOLD = 500
_TOLD_TURNS = 20
_SAYS = {By.GRAPH: "stands in the graph", By.MODEL: "a model holds it", By.LIKENESS: "how alike"}


def draw(history: Sequence[str], response: str, score: Score, width: int = 960) -> str:
    """Return the picture as SVG; the same for the same input, byte for byte.

    Solid lines are assertions of the graph, dashed ones a model's, dotted ones a likeness; arrows show an assertion's direction,
    a line's thickness its part in the score. No label overlaps another: at most 12 words a side and 16 chains are shown, the
    strongest, and how many were left out is said.

    Args:
        width: in pixels, 640..2,400.

    Raises:
        InputError: ``width`` is outside that.
    """
    if not NARROWEST <= width <= WIDEST:
        raise InputError(f"a picture {width} pixels wide cannot be drawn; give {NARROWEST} to {WIDEST}")
    scene = scene_of(score)
    marks: list[str] = []
    y = _head(score, width, marks)
    y = _middle(history, response, scene, width, y, marks)
    if scene.bars or scene.facts:
        y += _BETWEEN
        marks += draw_bars(scene, score.value, score.signature.metric, MARGIN, width - 2 * MARGIN, y)
        y += bars_height(scene)
    y = _foot(score, scene, width, y + _BETWEEN, marks)
    return document(width, y + 12, f"{explain_value(score)}", _told(history, response, score), marks)


def _head(score: Score, width: float, marks: list[str]) -> float:
    """The metric and its value, and the note where there is one; returns where the rest begins."""
    value = "no score" if isnan(score.value) else valued(score.value)
    name = score.signature.metric
    marks.append(label(MARGIN, 42, name, _TITLE, QUIET))
    x = MARGIN + width_of(name, _TITLE) + 10
    marks.append(label(x, 42, value, _TITLE, INK, bold=True))
    x += width_of(value, _TITLE, bold=True) + 16
    summary = METRIC_REGISTRY.summary(name)
    if summary and x < width - 200:
        marks.append(label(x, 42, fit(summary, TEXT, width - MARGIN - x), TEXT, QUIET, title=summary))
    y = 62.0
    for line in wrap(clean(score.evidence.note), TEXT, width - 2 * MARGIN, 3):
        marks.append(label(MARGIN, y + 6, line.text, TEXT, QUIET))
        y += LEAD
    return y + 4


def _middle(history: Sequence[str], response: str, scene: Scene, width: float, top: float, marks: list[str]) -> float:
    """Both sides and the lanes between them; returns where they end."""
    inner = width - 2 * MARGIN
    side = (inner * 0.25) if scene.chains else (inner - _GUTTER) / 2
    joined = [word for chain in scene.chains for word in (chain.left, chain.right) if word is not None]
    left = Side(shown_turns(history, scene.words), [word for word in scene.words if word.turn is not None], joined, MARGIN, side)
    right = Side([(None, response)], [word for word in scene.words if word.turn is None], joined, width - MARGIN - side, side)
    x0, x1 = MARGIN + side + _GUTTER, width - MARGIN - side - _GUTTER
    lanes = [lane_of(chain, x1 - x0) for chain in scene.chains]
    between = sum(lane.height for lane in lanes) + (LEAD if scene.chains_left_out else 0)
    height = max(left.height, right.height, between)
    tops = {left: top + (height - left.height) / 2}
    aim = [tops[left] + left.middle(chain.left) for chain in scene.chains if chain.left]
    middle = sum(aim) / len(aim) if aim else top + height / 2  # what is joined stands level with what it is joined to
    tops[right] = _within(middle - right.height / 2, top, top + height - right.height)
    lanes_top = _within(middle - between / 2, top, top + height - between)
    lanes = _ordered(lanes, left, right, tops)
    marks += left.draw(tops[left])
    marks += right.draw(tops[right])
    if not history:
        marks.append(label(MARGIN, tops[right] + 20, "nothing was said before", TEXT, QUIET))
    marks += _lanes(lanes, left, right, tops, x0, x1, lanes_top)
    if scene.chains_left_out:
        more = f"{scene.chains_left_out} weaker {'ones are' if scene.chains_left_out > 1 else 'one is'} not shown"
        marks.append(label((x0 + x1) / 2, lanes_top + between - 4, more, SMALL, QUIET, anchor="middle"))
    return top + height


def _within(wanted: float, least: float, most: float) -> float:
    return min(max(wanted, least), most)


def _ordered(lanes: list[Lane], left: Side, right: Side, tops: dict[Side, float]) -> list[Lane]:
    """The lanes by the mean height of what they join (their barycentre), so that few lines cross."""

    def height(chain: Chain) -> float:
        ends = [tops[left] + left.middle(chain.left)] if chain.left else []
        ends += [tops[right] + right.middle(chain.right)] if chain.right else []
        return sum(ends) / len(ends) if ends else 0.0

    return sorted(lanes, key=lambda lane: round(height(lane.chain), 3))


def _lanes(
    lanes: Sequence[Lane], left: Side, right: Side, tops: dict[Side, float], x0: float, x1: float, top: float
) -> Iterator[str]:
    """The lanes one below the other, and the bends that join them to the words."""
    most = max((lane.chain.part for lane in lanes), default=0.0)
    ends: dict[Word, list[Chain]] = {}
    for lane in lanes:
        for word in (lane.chain.left, lane.chain.right):
            if word is not None:
                ends.setdefault(word, []).append(lane.chain)
    for lane in lanes:
        chain = lane.chain
        for side, word, x, y, step in (
            (left, chain.left, x0, top + lane.first, chain.steps[0]),
            (right, chain.right, x1, top + lane.last, chain.steps[-1]),
        ):
            if word is not None:
                at, below = side.port(word, ends[word].index(chain), len(ends[word]))
                curve = bend(at, tops[side] + below, x, y)
                yield stroke(curve, COLOUR[step.by], thickness(chain.part, most, step.by), DASHES[step.by])
        yield from draw_lane(lane, x0, x1, top, most)
        top += lane.height


def _foot(score: Score, scene: Scene, width: float, y: float, marks: list[str]) -> float:
    """What the lines mean, and the signature; returns where the picture ends."""
    x = MARGIN
    shown = {step.by for chain in scene.chains for step in chain.steps}
    if not score.evidence.pieces:
        marks.append(label(MARGIN, y + 4, "There is no evidence to show.", TEXT, QUIET))
        y += LEAD
    for by in By:
        if by in shown:
            marks.append(stroke(f"M{x:.1f} {y:.1f}h30", COLOUR[by], 3, DASHES[by]))
            marks.append(label(x + 38, y + 4, _SAYS[by], SMALL, QUIET))
            x += 38 + width_of(_SAYS[by], SMALL) + 24
    if shown:
        what = "thickness: a model's attention" if scene.attention else "thickness: part in the score"
        marks.append(label(x, y + 4, what, SMALL, QUIET))
        y += LEAD
    for line in wrap(str(score.signature), TINY, width - 2 * MARGIN, 4):
        marks.append(label(MARGIN, y + 6, line.text, TINY, QUIET))
        y += 14
    return y


def _told(history: Sequence[str], response: str, score: Score) -> str:
    """The picture in words."""
    said = [
        f"Turn {number}: {_short(turn)}" for number, turn in enumerate(history[-_TOLD_TURNS:], len(history[:-_TOLD_TURNS]) + 1)
    ]
    return " ".join([*said, f"Response: {_short(response)}", explain(score)])


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _TOLD else f"{text[:_TOLD]}…"
