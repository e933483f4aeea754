"""The SVG picture of an explanation: history on the left, response on the right, the evidence between and below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from math import isfinite, isnan

from ...graph.errors import InputError
from ..base import Score
from ..registry import METRIC_REGISTRY
from .explained import explain, explain_value
from .scene import Bar, By, Chain, Scene, Step, Word, scene_of
from .svg import Line, arrow, bend, box, clean, document, fit, joined, label, plain, px, stroke, width_of, wrap

# Style: sizes in pixels, and colours.
#
# The two hues are Okabe and Ito's blue and vermillion (Color Universal Design, 2008), which are distinct for all colour vision;
# dashes, signs or positions repeat their meaning, so that a greyscale print has it too.

INK = "#1b1f24"
QUIET = "#57606a"
FAINT = "#d5dae0"
PAPER = "#f6f8fa"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
GREY = "#8a94a0"
HISTORY = "#dcebf7"
HISTORY_EDGE = "#5a9bc9"
RESPONSE = "#d9f0e6"
RESPONSE_EDGE = "#4fa98a"

COLOUR = {By.GRAPH: BLUE, By.MODEL: VERMILLION, By.SIMILARITY: GREY}
DASHES = {By.GRAPH: "", By.MODEL: "7 4", By.SIMILARITY: "2 4"}

MARGIN = 24.0
TEXT = 13.0
SMALL = 11.5
TINY = 10.5
LEAD = 18.0

THINNEST, THICKEST = 1.2, 5.0
SIMILARITY_MOST = 2.0


NARROWEST, WIDEST = 640, 2400

_TITLE = 22.0
_GUTTER = 46.0
_BETWEEN = 20.0
_LONGEST_TURN = 500
_DESCRIBED_TURNS = 20
_LEGEND = {By.GRAPH: "in the graph", By.MODEL: "predicted by a model", By.SIMILARITY: "similarity"}


def draw(history: Sequence[str], response: str, score: Score, width: int = 960) -> str:
    """Return the picture as SVG; deterministic, byte for byte.

    Solid lines are assertions of the graph, dashed ones predictions of a model, dotted ones similarities; arrows show an
    assertion's direction, a line's thickness its share of the score. Labels do not overlap: at most 12 words a side and 16
    chains are shown, the strongest, with the number of those left out.

    Args:
        width: in pixels, 640..2,400.

    Raises:
        InputError: ``width`` is out of range.
    """
    if not NARROWEST <= width <= WIDEST:
        raise InputError(f"the width of a picture must be from {NARROWEST} to {WIDEST} pixels, not {width}")
    scene = scene_of(score)
    marks: list[str] = []
    y = _head(score, width, marks)
    y = _middle(history, response, scene, width, y, marks)
    if scene.bars or scene.facts:
        y += _BETWEEN
        marks += draw_bars(scene, score.value, score.signature.metric, MARGIN, width - 2 * MARGIN, y)
        y += bars_height(scene)
    y = _foot(score, scene, width, y + _BETWEEN, marks)
    return document(width, y + 12, f"{explain_value(score)}", _description(history, response, score), marks)


def _head(score: Score, width: float, marks: list[str]) -> float:
    """Add the metric, its score and its note; return the y below them."""
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
    """Add both columns and the chains between them; return the y below them."""
    inner = width - 2 * MARGIN
    side = (inner * 0.25) if scene.chains else (inner - _GUTTER) / 2
    joined = {word for chain in scene.chains for word in (chain.left, chain.right) if word is not None}
    left = Column(shown_turns(history, scene.words), scene.words, joined, MARGIN, side)
    right = Column([(None, response)], scene.words, joined, width - MARGIN - side, side)
    x0, x1 = MARGIN + side + _GUTTER, width - MARGIN - side - _GUTTER
    layouts = [ChainLayout(chain, x0, x1) for chain in scene.chains]
    between = sum(layout.height for layout in layouts) + (LEAD if scene.chains_left_out else 0)
    height = max(left.height, right.height, between)
    left.top = top + (height - left.height) / 2
    aim = [left.middle(chain.left) for chain in scene.chains if chain.left]
    middle = sum(aim) / len(aim) if aim else top + height / 2  # connected words are level with each other
    right.top = _within(middle - right.height / 2, top, top + height - right.height)
    chains_top = _within(middle - between / 2, top, top + height - between)
    marks += [*left.draw(), *right.draw()]
    if not history:
        marks.append(label(MARGIN, right.top + 20, "the history is empty", TEXT, QUIET))
    marks += _draw_chains(_ordered(layouts, left, right), left, right, x0, x1, chains_top)
    if scene.chains_left_out:
        more = f"{scene.chains_left_out} weaker {'ones are' if scene.chains_left_out > 1 else 'one is'} not shown"
        marks.append(label((x0 + x1) / 2, chains_top + between - 4, more, SMALL, QUIET, anchor="middle"))
    return top + height


def _within(wanted: float, least: float, most: float) -> float:
    return min(max(wanted, least), most)


def _ordered(layouts: Sequence[ChainLayout], left: Column, right: Column) -> list[ChainLayout]:
    """Return the chains by the mean height of their ends (barycentre heuristic), so that few lines cross."""

    def height(chain: Chain) -> float:
        ends = [side.middle(word) for side, word in ((left, chain.left), (right, chain.right)) if word]
        return sum(ends) / len(ends) if ends else 0.0

    return sorted(layouts, key=lambda layout: round(height(layout.chain), 3))


def _draw_chains(layouts: Sequence[ChainLayout], left: Column, right: Column, x0: float, x1: float, top: float) -> Iterator[str]:
    """Yield the chains, one below the other, and the curves that connect them to the words."""
    most = max((layout.chain.part for layout in layouts), default=0.0)
    ends: dict[Word, list[Chain]] = {}
    for layout in layouts:
        for word in (layout.chain.left, layout.chain.right):
            if word is not None:
                ends.setdefault(word, []).append(layout.chain)
    for layout in layouts:
        chain = layout.chain
        for side, word, x, y, step in (
            (left, chain.left, x0, top + layout.first, chain.steps[0]),
            (right, chain.right, x1, top + layout.last, chain.steps[-1]),
        ):
            if word is not None:
                port = side.port(word, ends[word].index(chain), len(ends[word]))
                yield stroke(bend(*port, x, y), COLOUR[step.by], thickness(chain.part, most, step.by), DASHES[step.by])
        yield from layout.draw(top, most)
        top += layout.height


def _foot(score: Score, scene: Scene, width: float, y: float, marks: list[str]) -> float:
    """Add the legend and the signature; return the y below them."""
    x = MARGIN
    shown = {step.by for chain in scene.chains for step in chain.steps}
    if not score.evidence.pieces:
        marks.append(label(MARGIN, y + 4, "There is no evidence to show.", TEXT, QUIET))
        y += LEAD
    for by in By:
        if by in shown:
            marks.append(stroke(f"M{x:.1f} {y:.1f}h30", COLOUR[by], 3, DASHES[by]))
            marks.append(label(x + 38, y + 4, _LEGEND[by], SMALL, QUIET))
            x += 38 + width_of(_LEGEND[by], SMALL) + 24
    if shown:
        what = "thickness: a model's attention" if scene.attention else "thickness: share of the score"
        marks.append(label(x, y + 4, what, SMALL, QUIET))
        y += LEAD
    for line in wrap(str(score.signature), TINY, width - 2 * MARGIN, 4):
        marks.append(label(MARGIN, y + 6, line.text, TINY, QUIET))
        y += 14
    return y


def _description(history: Sequence[str], response: str, score: Score) -> str:
    """Return the description of the picture for screen readers."""
    turns = [
        f"Turn {number}: {_short(turn)}"
        for number, turn in enumerate(history[-_DESCRIBED_TURNS:], len(history[:-_DESCRIBED_TURNS]) + 1)
    ]
    return " ".join([*turns, f"Response: {_short(response)}", explain(score)])


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _LONGEST_TURN else f"{text[:_LONGEST_TURN]}…"


def signed(share: float) -> str:
    """Return a share with its sign, at most seven characters: three decimals, four for small ones, fewer for large ones."""
    size = abs(share)
    if size >= 10:
        text = f"{share:+.2f}" if size < 100 else f"{share:+.0f}" if size < 1e5 else f"{share:+.0e}"
    else:
        text = f"{share:+.3f}" if size >= 0.0005 or share == 0 else f"{share:+.4f}"
    return "±0" if text.strip("+-") == "0.0000" else text.replace("-", "−", 1)


def valued(value: float) -> str:
    """Return a score: three decimals, or scientific notation for a large one."""
    return (f"{value:.3f}" if abs(value) < 1e5 else f"{value:.2e}").replace("-", "−", 1)


def thickness(part: float, most: float, by: By) -> float:
    """Return the width of a line for a chain with ``part`` when the strongest has ``most``; similarities are thin."""
    thick = THINNEST + (THICKEST - THINNEST) * (part / most if most > 0 else 0.0)
    return min(thick, SIMILARITY_MOST) if by is By.SIMILARITY else thick


# Columns: cards with the turns of one side, the words highlighted, and a box for each word below the text.
#
# A column is measured first and drawn when its position is known. Nothing overlaps: cards, lines and boxes are below each
# other, and every text is truncated to its column.

MOST_TURNS = 3
MOST_LINES = 8

_PAD = 10.0
_BETWEEN_CARDS = 12.0
_CARD_TITLE = 20.0
_BOX_PAD = 9.0
_BOX_BETWEEN = 6.0
_BOX_LINES = 2


@dataclass(frozen=True, slots=True)
class _Box:
    """The box of a word: its top in the column, its size, its lines."""

    word: Word
    top: float
    width: float
    height: float
    lines: tuple[Line, ...]
    joined: bool


@dataclass(slots=True)
class _Card:
    """The card of a turn: its top and height in the column, its title, its lines of text, and its boxes."""

    top: float
    height: float
    title: str
    lines: Sequence[Line]
    marked: Sequence[tuple[int, int]]
    boxes: list[_Box] = field(default_factory=list)


class Column:
    """One column: the history (``right`` false) or the response.

    Attributes:
        height: of the whole column; top: its y, set by the caller once the heights are known.
    """

    def __init__(
        self, turns: Sequence[tuple[int | None, str]], words: Sequence[Word], joined: Set[Word], x: float, width: float
    ) -> None:
        """Measure the cards of ``turns``, each an index (None: the response) and its text; ``joined`` words have a
        solid border.
        """
        self.x, self.width, self.top = x, width, 0.0
        self.right = any(number is None for number, _ in turns)
        self._cards: list[_Card] = []
        self._gaps: list[tuple[float, str]] = []
        self._boxes: dict[Word, _Box] = {}
        top, last = 0.0, -1
        for number, text in turns:
            skipped = 0 if number is None else number - last - 1
            if skipped:
                self._gaps.append((top, f"{skipped} turn{'s' if skipped > 1 else ''} without evidence"))
                top += _CARD_TITLE
            card = self._card(top, number, text, [word for word in words if word.turn == number], joined)
            self._cards.append(card)
            top += card.height + _BETWEEN_CARDS
            last = -1 if number is None else number
        self.height = max(top - _BETWEEN_CARDS, 0.0)

    def _card(self, top: float, number: int | None, text: str, words: Sequence[Word], joined: Set[Word]) -> _Card:
        inner = self.width - 2 * _PAD
        lines = wrap(plain(text), TEXT, inner, MOST_LINES) or [Line("(empty)", ())]
        below = top + _PAD + _CARD_TITLE + len(lines) * LEAD + (_BOX_BETWEEN if words else 0)
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
        """Return the y of the middle of a word's box."""
        made = self._boxes[word]
        return self.top + (made.top + made.height / 2)

    def port(self, word: Word, place: int, of: int) -> tuple[float, float]:
        """Return the point where line ``place`` (from 0) of ``of`` meets a word's box."""
        made = self._boxes[word]
        x = self.x + _PAD if self.right else self.x + self.width - _PAD
        return x, self.top + (made.top + made.height * (place + 1) / (of + 1))

    def draw(self) -> Iterator[str]:
        """Yield the elements of the column."""
        top = self.top
        fill, edge = (RESPONSE, RESPONSE_EDGE) if self.right else (HISTORY, HISTORY_EDGE)
        for y, text in self._gaps:
            yield label(self.x + _PAD, top + y + 12, fit(text, TINY, self.width - _PAD), TINY, QUIET)
        for card in self._cards:
            yield box(self.x, top + card.top, self.width, card.height, PAPER, stroke=FAINT, radius=6)
            yield label(self.x + _PAD, top + card.top + _PAD + 9, card.title, SMALL, QUIET, bold=True)
            y = top + card.top + _PAD + _CARD_TITLE
            for line in card.lines:
                for start, end in _marks(line, card.marked):
                    left = width_of(line.text[:start], TEXT)
                    wide = width_of(line.text[start:end], TEXT)
                    yield box(self.x + _PAD + left - 1.5, y - 0.5, wide + 3, LEAD - 1, fill, radius=3)
                yield label(self.x + _PAD, y + 12.5, line.text, TEXT, INK)
                y += LEAD
            for made in card.boxes:
                yield from self._box(made, fill, edge)

    def _box(self, made: _Box, fill: str, edge: str) -> Iterator[str]:
        x = self.x + _PAD if self.right else self.x + self.width - _PAD - made.width
        y = self.top + made.top
        if made.joined:
            yield box(x, y, made.width, made.height, fill, stroke=edge, radius=5)
        else:
            yield box(x, y, made.width, made.height, "#ffffff", stroke=QUIET, radius=5, dashed=True)
        for row, line in enumerate(made.lines):
            title = made.word.name if not row else ""
            yield label(x + _BOX_PAD, y + 4.5 + 12.5 + row * (LEAD - 1), line.text, TEXT, INK, title=title)


def _marks(line: Line, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the parts of a line that are in the spans of the text."""
    for begin, end in spans:
        touched = [
            (place + max(begin - start, 0), place + min(end - start, len(word)))
            for start, place, word in line.words
            if start < end and start + len(word) > begin
        ]
        if touched:
            yield min(touched)[0], max(last for _, last in touched)


def shown_turns(history: Sequence[str], words: Sequence[Word]) -> list[tuple[int, str]]:
    """Return the turns to show, oldest first: the last one, those with words, and recent ones up to a minimum number."""
    marked = {word.turn for word in words if word.turn is not None}
    wanted = [number for number in range(len(history) - 1, -1, -1) if number in marked or number == len(history) - 1]
    recent = [number for number in range(len(history) - 1, -1, -1) if number not in wanted]
    return [(number, history[number]) for number in sorted([*wanted, *recent[: max(MOST_TURNS - len(wanted), 0)]])]


# Chains between the columns, each in rows of its own, so that labels of different chains do not overlap.
#
# A row consists of segments and nodes from the history's side to the response's. A segment has its relations above the line and
# an arrowhead in the direction of its assertion. A chain that is wider than the middle continues in a row below.

_ROW = 46.0
_ABOVE = 26.0
_LIFT = 9.5
_BELOW = 15.0
_NODE = 21.0
_NODE_LEAD = 13.0
_NODE_PAD = 8.0
_SEGMENT_PAD = 9.0
_HEAD = 8.0
_SHARE = 52.0
_LABELS = (150.0, 110.0, 60.0)
_NODES = (0.26, 0.3, 0.34, 0.38, 0.42)


class ChainLayout:
    """One chain, in as few rows between ``x0`` and ``x1`` as possible, listing fewer relations if needed.

    Attributes:
        first, last: distance of the first and of the last row's line from the top; height: of all rows.
    """

    def __init__(self, chain: Chain, x0: float, x1: float) -> None:
        """Lay out ``chain``; the first row has room for the share."""
        self.chain, self._x = chain, x0
        self._rows = min((_rows(_tokens(chain, x1 - x0, most), x1 - x0) for most in _LABELS), key=len)
        for number, row in enumerate(self._rows):
            _place(row, x0, x1, 0.0 if number else _SHARE)
        self.first = _ABOVE
        self.last = _ABOVE + (len(self._rows) - 1) * _ROW
        self.height = self.last + _BELOW

    def draw(self, top: float, most: float) -> Iterator[str]:
        """Yield the elements of the chain at ``top``; ``most`` is the part of the strongest chain."""
        chain = self.chain
        share = f"{chain.share:.2f}" if chain.attention else signed(chain.share)
        yield label(self._x, top + self.first - _LIFT, share, SMALL, INK, bold=True)
        lines = [top + self.first + number * _ROW for number in range(len(self._rows))]
        for number, (row, y) in enumerate(zip(self._rows, lines, strict=True)):
            if number:
                step = row[0].step
                assert step is not None, "a row begins with a segment"
                end, above = self._rows[number - 1][-1].below, lines[number - 1]
                path = f"M{px(end)} {px(above)}V{px(above + _ROW / 2 - 2)}H{px(self._x)}V{px(above + _ROW)}"
                yield stroke(path, COLOUR[step.by], thickness(chain.part, most, step.by), DASHES[step.by])
            for token in row:
                if token.step is not None:
                    yield from _draw_segment(token, token.step, y, thickness(chain.part, most, token.step.by))
        for row, y in zip(self._rows, lines, strict=True):  # nodes are drawn over the lines
            for token in row:
                if token.step is None:
                    yield from _draw_node(token, y)


@dataclass(slots=True)
class _Token:
    """A node (``step`` None) or a segment of a row.

    Attributes:
        lines: as drawn, one for a segment; full: the whole text. width: the least for a segment.
        start, end: its place in the row; middle: of its text.
    """

    lines: list[str]
    width: float
    full: str
    step: Step | None = None
    start: float = 0.0
    middle: float = 0.0
    end: float = 0.0

    @property
    def below(self) -> float:
        """Where a line to the next row begins."""
        return self.middle if self.step is None else self.end


def _rows(tokens: Sequence[_Token], width: float) -> list[list[_Token]]:
    """Return the tokens in rows: a row begins with a segment, and a segment is in the same row as the node after it."""
    rows: list[list[_Token]] = [[]]
    left = width - _SHARE
    for place, token in enumerate(tokens):
        follows = tokens[place + 1].width if place + 1 < len(tokens) and tokens[place + 1].step is None else 0.0
        if token.step is not None and rows[-1] and token.width + follows > left:
            rows.append([])
            left = width
        if token.width > left:
            token.width = max(left, 0.0)
            pad = 2 * (_NODE_PAD if token.step is None else _SEGMENT_PAD)
            token.lines = [fit(line, SMALL, max(token.width - pad, 0.0)) for line in token.lines]
        rows[-1].append(token)
        left -= token.width
    return rows


def _tokens(chain: Chain, width: float, most: float) -> list[_Token]:
    """Return the chain's nodes and segments in order; the labels of a segment with several relations are at most
    ``most`` wide.
    """
    tokens: list[_Token] = []
    nodes = [chain.first, *chain.nodes, chain.last]
    for place, step in enumerate(chain.steps):
        if nodes[place]:
            tokens.append(_node(nodes[place], width))
        single = len(step.labels) == 1
        text = joined([clean(one) for one in step.labels], SMALL, max(_LABELS) if single else most)
        arrowed = 0.0 if step.onwards is None else _HEAD
        tokens.append(_Token([text], width_of(text, SMALL) + 2 * _SEGMENT_PAD + arrowed, ", ".join(step.labels), step))
    if chain.last:
        tokens.append(_node(chain.last, width))
    return tokens


def _node(text: str, width: float) -> _Token:
    """Return a node, in two lines if one is too long."""
    for most in _NODES:
        lines = [line.text for line in wrap(clean(text), SMALL, most * width - 2 * _NODE_PAD, 2)] or ["?"]
        if not lines[-1].endswith("…"):
            break
    return _Token(lines, max(width_of(line, SMALL) for line in lines) + 2 * _NODE_PAD, text)


def _place(row: Sequence[_Token], x0: float, x1: float, share: float) -> None:
    """Set the places of a row's tokens; the spare width is divided among the segments.

    A first segment continues below the share, a first node begins after it.
    """
    segments = sum(token.step is not None for token in row)
    spare = max(x1 - x0 - share - sum(token.width for token in row), 0.0) / max(segments, 1)
    x = x0 + share
    for number, token in enumerate(row):
        token.end = x + token.width + (spare if token.step is not None else 0.0)
        token.middle = (x + token.end) / 2
        token.start = x0 if token.step is not None and not number else x
        x = token.end


def _draw_segment(token: _Token, step: Step, y: float, thick: float) -> Iterator[str]:
    """Yield a line with its relations above it, and with an arrowhead."""
    colour = COLOUR[step.by]
    back = 0.0 if step.onwards is None else 6 + thick
    start, stop = (token.start, token.end - back) if step.onwards else (token.start + back, token.end)
    yield stroke(f"M{px(start)} {px(y)}H{px(stop)}", colour, thick, DASHES[step.by])
    if step.onwards is not None:
        yield arrow(token.end if step.onwards else token.start, y, step.onwards, thick, colour)
    ink = QUIET if step.by is By.SIMILARITY else INK
    yield label(token.middle, y - _LIFT, token.lines[0], SMALL, ink, anchor="middle", title=token.full)


def _draw_node(token: _Token, y: float) -> Iterator[str]:
    height = _NODE + (len(token.lines) - 1) * _NODE_LEAD
    yield box(token.start, y - height / 2, token.end - token.start, height, "#ffffff", stroke=GREY, radius=10)
    for number, line in enumerate(token.lines):
        below = (number - (len(token.lines) - 1) / 2) * _NODE_LEAD
        yield label(token.middle, y + 4 + below, line, SMALL, INK, anchor="middle", title="" if number else token.full)


# Bars: pieces without a place in a text, as a waterfall chart that ends in the score.

_BAR_ROW = 24.0
_NUMBER = 80.0
_GAP = 12.0


def bars_height(scene: Scene) -> float:
    """Return the height of the bars of ``scene``."""
    rows = len(_bar_rows(scene))
    return (rows + 1 if rows else 0) * _BAR_ROW + len(scene.facts) * _BAR_ROW


def draw_bars(scene: Scene, value: float, name: str, x: float, width: float, top: float) -> Iterator[str]:
    """Yield the bars of ``scene``, each beginning where the one above ended; the last is the score.

    Args:
        value: the score; name: the metric's name.
        x, width, top: position and width.
    """
    y = top
    rows = _bar_rows(scene)
    names = (0.36 if rows else 0.7) * width
    left, right = x + names + _NUMBER + _GAP, x + width
    for fact, number in scene.facts:
        yield label(x, y + 16, fit(clean(fact), TEXT, names), TEXT, INK, title=fact)
        yield label(x + names + _NUMBER, y + 16, f"{number:.4g}", TEXT, INK, anchor="end")
        y += _BAR_ROW
    if not rows:
        return
    ends = [0.0]
    for bar in rows:
        ends.append(ends[-1] + bar.share)
    total = value if isfinite(value) else ends[-1]
    least, most = min(*ends, total, 0.0), max(*ends, total, 0.0)
    scale = (right - left) / (most - least) if most > least else 0.0

    def at(number: float) -> float:
        return left + (number - least) * scale

    yield stroke(f"M{at(0):.1f} {y:.1f}V{y + _BAR_ROW * (len(rows) + 1):.1f}", FAINT, 1)
    for bar, start, end in zip(rows, ends, ends[1:], strict=False):
        text = clean(bar.name) if bar.value is None else f"{clean(bar.name)} = {bar.value:.4g}"
        yield label(x, y + 16, fit(text, TEXT, names - 8), TEXT, INK, title=text)
        yield label(x + names + _NUMBER, y + 16, signed(bar.share), TEXT, INK, anchor="end")
        if bar.share:
            yield _bar(at(start), at(end), y, bar.share)
        yield stroke(f"M{at(end):.1f} {y + 19:.1f}v{_BAR_ROW - 14:.1f}", GREY, 1, "2 2")
        y += _BAR_ROW
    yield label(x, y + 16, fit(name, TEXT, names - 8, bold=True), TEXT, INK, bold=True)
    yield label(x + names + _NUMBER, y + 16, valued(total), TEXT, INK, anchor="end", bold=True)
    yield box(min(at(0), at(total)), y + 5, max(abs(at(total) - at(0)), 1), 14, QUIET, radius=2)


def _bar(start: float, end: float, y: float, share: float) -> str:
    """Return one bar; negative ones are hollow, so that a greyscale print shows the sign."""
    left, wide = min(start, end), max(abs(end - start), 1.0)
    if share >= 0:
        return box(left, y + 5, wide, 14, BLUE, radius=2)
    return box(left, y + 5.5, max(wide, 2.0), 13, "#ffffff", stroke=VERMILLION, radius=2)


def _bar_rows(scene: Scene) -> list[Bar]:
    number, share = scene.bars_left_out
    return [*scene.bars, *([Bar(f"{number} more", share)] if number else [])]
