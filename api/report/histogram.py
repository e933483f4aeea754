"""The distribution of a metric's values as a small picture: up to forty columns of equal width, each with its count."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 640, 150
_LEFT, _BOTTOM, _TOP = 8, 22, 18
_MOST = 40


def counted(values: Sequence[float]) -> tuple[list[int], float, float]:
    """Return how many values lie in each of equal bins, and the least and the greatest value; the last bin holds the greatest.

    Bins are as many as the square root of the values, 1..40; one where all values are equal.
    """
    least, most = min(values), max(values)
    bins = min(_MOST, max(1, round(len(values) ** 0.5))) if most > least else 1
    counts = [0] * bins
    for value in values:
        counts[min(int((value - least) / (most - least) * bins), bins - 1) if most > least else 0] += 1
    return counts, least, most


def histogram(values: Sequence[float], name: str) -> str:
    """Return the distribution of ``values`` (at least one) as SVG; ``name`` is the metric's."""
    counts, least, most = counted(values)
    highest = max(counts)
    width = (_WIDTH - 2 * _LEFT) / len(counts)
    room = _HEIGHT - _BOTTOM - _TOP
    marks = []
    for place, number in enumerate(counts):
        height = room * number / highest
        start, end = (least + (most - least) * edge / len(counts) for edge in (place, place + 1))
        marks.append(
            f'<rect x="{_LEFT + place * width + 0.5:.1f}" y="{_TOP + room - height:.1f}" width="{max(width - 1, 0.5):.1f}" '
            f'height="{height:.1f}" fill="#0072b2"><title>{start:.3f} to {end:.3f}: {number:,}</title></rect>'
        )
    floor = _HEIGHT - _BOTTOM
    title = escape(f"Distribution of {name}, {least:.3f} to {most:.3f}, most {highest:,} in a column")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'role="img" aria-label="{title}" font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#57606a">'
        f'<title>{title}</title><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>{"".join(marks)}'
        f'<path d="M{_LEFT} {floor}H{_WIDTH - _LEFT}" stroke="#8a94a0"/><text x="{_LEFT}" y="{floor + 15}">{least:.3f}</text>'
        f'<text x="{_WIDTH - _LEFT}" y="{floor + 15}" text-anchor="end">{most:.3f}</text>'
        f'<text x="{_LEFT}" y="12">{highest:,}</text></svg>'
    )
