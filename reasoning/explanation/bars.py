"""The lower part of a picture: pieces that are no place in a text, as a waterfall of signed bars that ends in the score."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from .look import BLUE, FAINT, GREY, INK, QUIET, TEXT, VERMILLION, signed, valued
from .scene import Bar, Scene
from .svg import box, label, stroke
from .typeset import clean, fit

_ROW = 24.0
_NUMBER = 80.0
_GAP = 12.0


def bars_height(scene: Scene) -> float:
    """Return how much room the bars of ``scene`` take."""
    rows = len(_rows(scene))
    return (rows + 1 if rows else 0) * _ROW + len(scene.facts) * _ROW


def draw_bars(scene: Scene, value: float, name: str, x: float, width: float, top: float) -> Iterator[str]:
    """Yield the bars of ``scene`` one below the other: each begins where the one above ended; the last is the score.

    Args:
        value: the score; name: the metric's.
        x, width, top: where they stand.
    """
    y = top
    rows = _rows(scene)
    names = (0.36 if rows else 0.7) * width
    left, right = x + names + _NUMBER + _GAP, x + width
    for fact, number in scene.facts:
        yield label(x, y + 16, fit(clean(fact), TEXT, names), TEXT, INK, title=fact)
        yield label(x + names + _NUMBER, y + 16, f"{number:.4g}", TEXT, INK, anchor="end")
        y += _ROW
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

    yield stroke(f"M{at(0):.1f} {y:.1f}V{y + _ROW * (len(rows) + 1):.1f}", FAINT, 1)
    for bar, start, end in zip(rows, ends, ends[1:], strict=False):
        said = clean(bar.name) if bar.value is None else f"{clean(bar.name)} = {bar.value:.4g}"
        yield label(x, y + 16, fit(said, TEXT, names - 8), TEXT, INK, title=said)
        yield label(x + names + _NUMBER, y + 16, signed(bar.share), TEXT, INK, anchor="end")
        if bar.share:
            yield _bar(at(start), at(end), y, bar.share)
        yield stroke(f"M{at(end):.1f} {y + 19:.1f}v{_ROW - 14:.1f}", GREY, 1, "2 2")
        y += _ROW
    yield label(x, y + 16, fit(name, TEXT, names - 8, bold=True), TEXT, INK, bold=True)
    yield label(x + names + _NUMBER, y + 16, valued(total), TEXT, INK, anchor="end", bold=True)
    yield box(min(at(0), at(total)), y + 5, max(abs(at(total) - at(0)), 1), 14, QUIET, radius=2)


def _bar(start: float, end: float, y: float, share: float) -> str:
    """One bar; what takes away is hollow, so that a grey print tells it."""
    left, wide = min(start, end), max(abs(end - start), 1.0)
    if share >= 0:
        return box(left, y + 5, wide, 14, BLUE, radius=2)
    return box(left, y + 5.5, max(wide, 2.0), 13, "#ffffff", stroke=VERMILLION, radius=2)


def _rows(scene: Scene) -> list[Bar]:
    number, share = scene.bars_left_out
    return [*scene.bars, *([Bar(f"{number} more", share)] if number else [])]
