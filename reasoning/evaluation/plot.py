"""Scatter plots of scores over human ratings: a panel for each data set and metric, with the regression line and its confidence
band.

The same rows give the same bytes under one version of matplotlib, as PNG and as SVG. The colours (Okabe and Ito 2008) can be
told apart with any kind of colour vision.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.hub import need
from .agreement import Agreement, Judged, clusters_of, numbered
from .correlation import Correlation, Floats, formatted

_POINTS, _LINE, _INK = "#0072B2", "#D55E00", "#333333"
_WIDTH, _HEIGHT, _COLUMNS, _DPI = 3.7, 3.2, 4, 150
_SYMBOLS = ("r", "ρ", "τ")
_GRID = 64
_LONGEST_NAME = 44
_RASTERIZED = 2_000  # points above which an SVG has them as an image
_SETTINGS = {
    "svg.hashsalt": "tacit", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 8, "axes.edgecolor": "#888888",
    "axes.spines.top": False, "axes.spines.right": False, "xtick.color": _INK, "ytick.color": _INK, "text.color": _INK,
    "axes.labelcolor": _INK, "axes.unicode_minus": True, "text.usetex": False,
}  # fmt: skip


def check_plotting() -> None:
    """Raise :class:`MissingExtra` when matplotlib is not installed."""
    need("matplotlib.figure", "plot")


def draw(
    items: Sequence[Judged], rows: Sequence[Agreement], form: str = "png", *, resamples: int = 10_000, seed: int = 0
) -> bytes:
    """Return a plot of the whole-set rows among ``rows``, the output of :func:`evaluate` for ``items``, as ``png`` or ``svg``.

    Points are responses, with the human rating on the x axis and the score on the y axis; the line is the least-squares fit of
    the score, the band the middle 95% of the fits to the bootstrap resamples. A metric's panels share one scale of scores.
    """
    matplotlib = need("matplotlib", "plot")
    agg = need("matplotlib.backends.backend_agg", "plot")
    figures = need("matplotlib.figure", "plot")
    panels = [row for row in rows if row.system is None]
    metrics = list(dict.fromkeys(row.metric for row in panels))
    datasets = list(dict.fromkeys(row.dataset for row in panels))
    columns = _columns(len(datasets))
    height = -(-len(datasets) // columns)
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks are drawn as boxes
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = figures.Figure(figsize=(_WIDTH * columns, _HEIGHT * height * len(metrics)), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.1)
        agg.FigureCanvasAgg(figure)
        grid = figure.subplots(height * len(metrics), columns, squeeze=False)
        for axes in grid.flat:
            axes.set_visible(False)
        for index, metric in enumerate(metrics):
            block = grid[index * height : (index + 1) * height].flat
            row_of = {row.dataset: row for row in panels if row.metric == metric}
            for axes, dataset in zip(block, datasets, strict=False):
                axes.set_visible(True)
                _panel(axes, row_of[dataset], *_pairs_of(items, row_of[dataset]), resamples=resamples, seed=seed)
        stream = io.BytesIO()
        metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        figure.savefig(stream, format=form, dpi=_DPI, metadata=metadata)
    return stream.getvalue()


def _columns(panels: int) -> int:
    """Return the number of columns: of three and four the one with fewer empty places."""
    if panels <= _COLUMNS:
        return panels
    return min((_COLUMNS, _COLUMNS - 1), key=lambda columns: -panels % columns)


def _pairs_of(items: Sequence[Judged], row: Agreement) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return ratings, scores and conversations of a row's responses."""
    dataset_items = [item for item in items if item.dataset == row.dataset]
    ratings = np.array([item.rating for item in dataset_items], np.float64)
    scores = np.array([item.scores.get(row.metric, np.nan) for item in dataset_items], np.float64)
    known = np.isfinite(scores)
    return ratings[known], scores[known], numbered(clusters_of(dataset_items)[known])


def _panel(
    axes: Any, row: Agreement, ratings: Floats, scores: Floats, groups: NDArray[np.int64], *, resamples: int, seed: int
) -> None:
    """Draw one data set under one metric."""
    axes.scatter(
        ratings, scores, s=11, color=_POINTS, alpha=float(np.clip(110 / max(len(scores), 1), 0.03, 0.6)), linewidths=0,
        rasterized=len(scores) > _RASTERIZED,
    )  # fmt: skip
    if row.pearson.value is not None:
        _fit(axes, ratings, scores, groups, resamples, seed)
    axes.set_title(_name(row.dataset), loc="left", fontsize=9.5, fontweight="bold", pad=17, parse_math=False)
    axes.text(0, 1.03, _facts(row), transform=axes.transAxes, fontsize=6.8, parse_math=False)
    axes.set_xlabel("human rating")
    axes.set_ylabel(_name(row.metric), parse_math=False)
    axes.locator_params(axis="x", nbins=6, steps=[1, 2, 5, 10])
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)


def _fit(axes: Any, ratings: Floats, scores: Floats, groups: NDArray[np.int64], resamples: int, seed: int) -> None:
    """Draw the least-squares line and the band of the lines of the resamples."""
    from .resampling import lines

    grid = np.linspace(ratings.min(), ratings.max(), _GRID)
    deviations = ratings - ratings.mean()
    slope = float(deviations @ (scores - scores.mean()) / (deviations @ deviations))
    fits = lines(ratings, scores, groups=groups, resamples=resamples, seed=seed)
    fits = fits[~np.isnan(fits[:, 1])]
    if len(fits):
        low, high = np.quantile(fits[:, :1] + fits[:, 1:] * grid, [0.025, 0.975], axis=0)
        axes.fill_between(grid, low, high, color=_LINE, alpha=0.25, linewidth=0)
    axes.plot(grid, scores.mean() + slope * (grid - ratings.mean()), color=_LINE, linewidth=1.6)


def _facts(row: Agreement) -> str:
    """Return the number of responses, and the correlations with their intervals."""
    if row.pearson.value is None:
        return f"n = {row.n:,}; {row.note}"
    return "   ".join([f"n = {row.n:,}", *(_label(*pair) for pair in zip(_SYMBOLS, row.correlations, strict=True))])


def _label(symbol: str, correlation: Correlation) -> str:
    return f"{symbol} {formatted(correlation, 2)}"


def _name(text: str) -> str:
    """Return ``text`` on one line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
