"""The SVG picture of an explanation: history on the left, response on the right, the evidence between and below them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan

from ..base import Score
from ..registry import METRIC_REGISTRY
from .boxes import Box, ChainRows, Paragraph, draw_chains, height_of, small_box, stack
from .explained import explain, explain_value
from .scene import GRAPH, MODEL, SIMILARITY, Chain, Scene, Word, scene_of
from .svg import MARGIN, SMALL, TEXT, TINY, Picture, Sheet, fit, label, line, one_line, px, rect, width_of

_STACKED = 600  # below this width the response and the chains are below the history
_TITLE = 22.0
_GUTTER, _BETWEEN, _BETWEEN_TURNS = 40.0, 18.0, 12.0
_MOST_TURNS, _MOST_LINES = 3, 8
_LONGEST_TURN, _DESCRIBED_TURNS = 500, 20
_BAR_ROW, _NUMBER = 24.0, 64.0
_LEGEND = {GRAPH: "in the graph", MODEL: "predicted by a model", SIMILARITY: "similarity"}


def draw(history: Sequence[str], response: str, score: Score, width: int = 960) -> Picture:
    """Return the picture as SVG; deterministic, byte for byte.

    Solid lines are assertions of the graph, dashed ones predictions of a model, dotted ones similarities; arrows show an
    assertion's direction, a line's thickness its share of the score. Labels do not overlap: at most 12 words a side and 16 chains
    are shown, the strongest, with the number of those left out. Below 600 pixels the evidence is below the turns.
    """
    sheet = Sheet(width)
    scene = scene_of(score)
    _head(score, sheet)
    (_stacked if width < _STACKED else _side_by_side)(history, response, scene, sheet)
    if scene.left_out:
        sheet.write(f"{scene.left_out} weaker {'ones are' if scene.left_out > 1 else 'one is'} not shown", SMALL)
    if scene.bars or scene.facts:
        sheet.y += _BETWEEN
        _draw_bars(scene, score, sheet)
    sheet.y += _BETWEEN - 6
    if not score.evidence.pieces:
        sheet.write("There is no evidence to show.")
    shown = {step.by for chain in scene.chains for step in chain.steps}
    attention = any(chain.attention for chain in scene.chains)
    note = "thickness: a model's attention" if attention else "thickness: share of the score"
    sheet.legend([(by, text) for by, text in _LEGEND.items() if by in shown], note)
    sheet.write(str(score.signature), TINY, 4)
    return sheet.picture(explain_value(score), _description(history, response, score))


def _head(score: Score, sheet: Sheet) -> None:
    """Add the metric, its score, its summary and its note."""
    value = "no score" if isnan(score.value) else number(score.value)
    wide = width_of(value, _TITLE, bold=True)
    name, summary = fit(score.signature.metric, _TITLE, sheet.inner - wide - 10), METRIC_REGISTRY.summary(score.signature.metric)
    x = MARGIN + width_of(name, _TITLE) + 10
    sheet.add(label(MARGIN, 42, name, _TITLE, "quiet", title=score.signature.metric), label(x, 42, value, _TITLE, "bold"))
    sheet.y = 52.0
    x += wide + 16
    if x + width_of(summary, TEXT) <= sheet.width - MARGIN:
        sheet.add(label(x, 42, summary, style="quiet"))
    else:
        sheet.write(summary)
    sheet.write(score.evidence.note)
    sheet.y += 10


def _cards(history: Sequence[str], response: str, scene: Scene, width: float, boxed: bool) -> tuple[list[Box], dict[Word, Box]]:
    """Return the boxes of turns and, last, of the response, and those of their words; without ``boxed`` of unchained words."""
    boxes: dict[Word, Box] = {}
    joined = {word for chain in scene.chains for word in (chain.left, chain.right)}

    def card(turn: int | None, text: str) -> Box:
        words = [word for word in scene.words if word.turn == turn]
        side = "right" if turn is None else "left"
        inside = [word for word in words if boxed or word not in joined]
        for word in inside:
            boxes[word] = small_box(side if word in joined else "open", word.text, width - 20, name=word.name)
        marks = [(len(one_line(f"{text[: word.start]}x")) - 1, len(one_line(text[: word.end]))) for word in words]
        head = Paragraph("response" if turn is None else f"turn {turn + 1}", SMALL, "quiet bold")
        body = Paragraph(one_line(text) or "(empty)", max_lines=_MOST_LINES, marks=marks)
        return Box("panel", [head, body], width, side=side, inside=[boxes[word] for word in inside])

    def remark(text: str, size: float) -> Box:
        return Box("", [Paragraph(text, size, "quiet")], width)

    cards, last = [] if history else [remark("the history is empty", TEXT)], -1
    for turn in _shown_turns(history, scene.words):
        if skipped := turn - last - 1:
            cards.append(remark(f"{skipped} turn{'s' if skipped > 1 else ''} without evidence", TINY))
        cards.append(card(turn, history[turn]))
        last = turn
    return [*cards, card(None, response)], boxes


def _shown_turns(history: Sequence[str], words: Sequence[Word]) -> list[int]:
    """Return the turns to show: the last one, those with words, and recent ones up to a minimum number."""
    shown = {word.turn for word in words if word.turn is not None}
    for turn in reversed(range(len(history))):
        if len(shown) < _MOST_TURNS or turn == len(history) - 1:
            shown.add(turn)
    return sorted(shown)


def _rows(chains: Sequence[Chain], width: float) -> list[ChainRows]:
    heaviest = max((chain.weight for chain in chains), default=0.0) or 1.0
    return [
        ChainRows(chain, width, f"{chain.share:.2f}" if chain.attention else number(chain.share, "+"), chain.weight / heaviest)
        for chain in chains
    ]


def _side_by_side(history: Sequence[str], response: str, scene: Scene, sheet: Sheet) -> None:
    """Add both columns and the chains between them, so that connected words are level with each other."""
    side = sheet.inner * 0.23 if scene.chains else (sheet.inner - _GUTTER) / 2
    (*cards, answer), boxes = _cards(history, response, scene, side, boxed=True)
    rows = _rows(scene.chains, sheet.inner - 2 * (side + _GUTTER))
    tall, left = sum(row.height for row in rows), height_of(cards, _BETWEEN_TURNS)
    top, height = sheet.y, max(left, answer.height, tall)
    stack(cards, MARGIN, top + (height - left) / 2, _BETWEEN_TURNS)
    aims = [boxes[chain.left].middle for chain in scene.chains if chain.left]
    aim = sum(aims) / len(aims) if aims else top + height / 2
    answer.place(sheet.width - MARGIN - side, min(max(aim - answer.height / 2, top), top + height - answer.height))
    y = min(max(aim - tall / 2, top), top + height - tall)

    def mean_height(row: ChainRows) -> float:
        ends = [boxes[word].middle for word in (row.chain.left, row.chain.right) if word]
        return round(sum(ends) / max(len(ends), 1), 3)

    rows.sort(key=mean_height)  # barycentre heuristic: few lines cross
    stack(rows, MARGIN + side + _GUTTER, y, 0.0)
    for box in (*cards, answer):
        sheet.add(*box.draw())
    sheet.add(*draw_chains(rows, boxes))
    sheet.y = top + height


def _stacked(history: Sequence[str], response: str, scene: Scene, sheet: Sheet) -> None:
    """Add the turns, and the chains below them, with their words as first and last nodes."""
    cards, _ = _cards(history, response, scene, sheet.inner, boxed=False)
    stack(cards, MARGIN, sheet.y)
    sheet.y += height_of(cards) + (_BETWEEN if scene.chains else 0)
    for card in cards:
        sheet.add(*card.draw())
    ends = [
        (chain.left.text if chain.left else chain.first, chain.right.text if chain.right else chain.last)
        for chain in scene.chains
    ]
    chains = [chain._replace(first=first, last=last) for chain, (first, last) in zip(scene.chains, ends, strict=True)]
    rows = _rows(chains, sheet.inner)
    stack(rows, MARGIN, sheet.y)
    sheet.add(*draw_chains(rows, {}))
    sheet.y += height_of(rows)


def _draw_bars(scene: Scene, score: Score, sheet: Sheet) -> None:
    """Add pieces without a place in a text as a waterfall chart, whose last bar is the score."""
    ends = [0.0]
    for bar in scene.bars:
        ends.append(ends[-1] + bar.share)
    total = score.value if isfinite(score.value) else ends[-1]
    least, most = min(*ends, total, 0.0), max(*ends, total, 0.0)
    names = max(sheet.inner * 0.36, min(sheet.inner * 0.5, 150.0)) if scene.bars else sheet.inner * 0.7
    left = MARGIN + names + _NUMBER + 14

    def at(value: float) -> float:
        return left + (value - least) * ((sheet.width - MARGIN - left) / (most - least) if most > least else 0.0)

    def row(text: str, value: str, style: str = "") -> None:
        shown = fit(one_line(text), TEXT, names - 8, bold=bool(style))
        sheet.add(label(MARGIN, sheet.y + 16, shown, style=style, title=text))
        sheet.add(label(MARGIN + names + _NUMBER, sheet.y + 16, value, style=style, anchor="end"))

    def bar_between(start: float, end: float, style: str) -> None:
        sheet.add(rect(min(at(start), at(end)), sheet.y + 5, max(abs(at(end) - at(start)), 1.0), 14, style, 2))

    for name, value in scene.facts:
        row(name, f"{value:.4g}")
        sheet.y += _BAR_ROW
    if not scene.bars:
        return
    sheet.add(line(f"M{px(at(0))} {px(sheet.y)}v{px(_BAR_ROW * (len(scene.bars) + 1))}", "faint", 1))
    for bar, start, end in zip(scene.bars, ends, ends[1:], strict=False):
        row(bar.name if bar.value is None else f"{bar.name} = {bar.value:.4g}", number(bar.share, "+"))
        if bar.share:
            bar_between(start, end, "positive" if bar.share > 0 else "negative")
        sheet.add(line(f"M{px(at(end))} {px(sheet.y + 19)}v10", "similarity", 1))
        sheet.y += _BAR_ROW
    row(score.signature.metric, number(total), "bold")
    bar_between(0.0, total, "total")
    sheet.y += _BAR_ROW


def number(value: float, sign: str = "") -> str:
    """Return a value with three decimals, or four digits if it is large; with ``sign`` ``+``, positive ones have a sign."""
    return format(value, f"{sign}.3f" if abs(value) < 1000 else f"{sign}.4g").replace("-", "−", 1)


def _description(history: Sequence[str], response: str, score: Score) -> str:
    """Return the description of the picture for screen readers."""
    turns = [(f"Turn {index}", turn) for index, turn in enumerate(history, 1)][-_DESCRIBED_TURNS:]
    texts = [(name, one_line(text)) for name, text in [*turns, ("Response", response)]]
    shown = [f"{name}: {text[:_LONGEST_TURN]}{'…' if len(text) > _LONGEST_TURN else ''}" for name, text in texts]
    return " ".join([*shown, explain(score)])
