"""Descriptions of the metrics: what each measures and needs, whether it is ready here, its agreement with human ratings, its
options.

Everything comes from the registry, from the figures and references shipped with tacit, and from what is installed; no metric is
opened.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..graph.errors import InputError, MissingExtra
from ..graph.schema import Json
from .evaluation.correlation import Figures, formatted, shipped_figures
from .plugins import FOR_PROGRAMS, MetricKind, annotated_types
from .reference import Reference, references_of
from .registry import KINDS, METRIC_REGISTRY, metric_kind

if TYPE_CHECKING:
    from ..graph.protocol import KnowledgeGraph

_TYPES = {"bool": "true or false", "int": "whole number", "float": "number", "str": "text", "Path": "path"}


@dataclass(frozen=True, slots=True)
class MetricOption(Json):
    """An option of a metric: its name, type, default and help text.

    ``least`` and ``greatest`` are the bounds of a number, None for a bound that does not exist or depends on the model;
    ``choices`` are the values of an enumeration, empty for other options.
    """

    name: str
    type: str
    default: Any
    help: str
    least: float | None = None
    greatest: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The bounds or choices as text, e.g. ``0 to 6``, ``>= 1`` or ``rules, t5 or cskb``; empty when there are none."""
        if self.choices:
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}" if len(self.choices) > 1 else self.choices[0]
        if self.least is None:
            return ""
        return f">= {self.least:g}" if self.greatest is None else f"{self.least:g} to {self.greatest:g}"


@dataclass(frozen=True, slots=True)
class MetricDescription(Json):
    """What is known about a metric without opening it.

    Attributes:
        summary: what it measures, in one sentence; range: range of its values; better: ``higher``, ``lower``, or empty for
            neither.
        needs: a graph, references, optional dependencies, models, as text.
        ready: it can score here with its default options; missing: what is not there; get: the command that installs or makes
            it.
        agreement: correlation with human ratings, None when not measured; in_sample: the sets on which the shipped model was
            chosen or tuned.
        learnt_from: corpora that the shipped model was trained on.
        plugin: distribution and version that it comes from; empty for tacit's own.
        percentiles: the reference distribution for its percentiles, of another graph when there is none of this one; None without
            any.
        recommended: the metric to use here; reason: why.
    """

    name: str
    summary: str
    range: str
    better: str
    needs: tuple[str, ...]
    ready: bool
    missing: str
    get: str
    agreement: Figures | None
    in_sample: tuple[str, ...]
    learnt_from: tuple[str, ...]
    percentiles: Reference | None
    plugin: str = ""
    recommended: bool = False
    reason: str = ""


def describe_metrics(graph: KnowledgeGraph | None = None) -> list[MetricDescription]:
    """Describe every metric, in the order of the registry, plugins last; the recommended one is marked.

    Plugins that cannot be used are left out; ``METRIC_REGISTRY.faults()`` lists the reasons.

    Args:
        graph: the graph to score with; without one, metrics that need a graph are not ready.
    """
    digest = None if graph is None else graph.manifest().digest
    return recommend(_describe(name, kind, digest) for name, kind in METRIC_REGISTRY.kinds().items())


def recommend(described: Iterable[MetricDescription]) -> list[MetricDescription]:
    """Mark the recommended metric: of those that are ready and need no references, the one with the best mean of both
    correlations."""
    rows = list(described)
    fit = [row for row in rows if row.ready and row.better == "higher" and row.agreement and "references" not in row.needs]
    best = max(fit, key=lambda row: row.agreement.mean if row.agreement else 0.0, default=None)
    if best is None or best.agreement is None:
        return rows
    sets = len(best.agreement.sets)
    reason = f"it agrees best with human ratings of the metrics that are ready here, by the mean over {sets} sets"
    if best.in_sample:
        reason += f"; on {len(best.in_sample)} of them the figure is optimistic, since the shipped model was chosen on them"
    return [replace(row, recommended=True, reason=reason) if row is best else row for row in rows]


def describe_options(name: str) -> list[MetricOption]:
    """Return the options of the metric ``name``, from the function that makes it and its docstring.

    Raises:
        InputError: unknown metric.
    """
    kind = metric_kind(name)
    make, defaults = kind.maker(), kind.options()
    helps = _helps(inspect.getdoc(make) or "", list(defaults))
    return [
        MetricOption(
            option, _type(annotated_types(make, option)), _json_default(default), helps.get(option, ""),
            *kind.range_of(option), kind.choices_of(option),
        )
        for option, default in defaults.items()
        if option not in FOR_PROGRAMS
    ]  # fmt: skip


#: Scores beside the headline when there is a graph, to show what in the graph supports a response (docs/metrics.md says why).
EXPLAINS = "grounding"


_BETTER = 2  # metrics named that would agree better


@dataclass(frozen=True, slots=True)
class DefaultMetrics:
    """The metrics that score when none is named.

    Attributes:
        names: the headline first: of the metrics that are ready here, the one that agrees best with human ratings.
        reason: which they are and why, as one sentence.
        not_run: metrics that would be among them if something were installed or given, each with what brings it, as one line;
            empty when there is none.
    """

    names: tuple[str, ...]
    reason: str
    not_run: str


def default_metrics(graph: object = None) -> DefaultMetrics:
    """Return the metrics that score when none is named: the headline, and with a graph ``grounding``, which explains by it.

    The headline is the metric that :func:`describe_metrics` recommends. So the metrics depend on what is installed; the
    signature of each score names what ran.

    Args:
        graph: the graph to score with, or its address; only whether there is one matters.

    Raises:
        InputError: no metric that was measured against human ratings is ready here.
    """
    figures = shipped_figures()
    measured = [name for name, kind in KINDS.items() if name in figures and kind.better == "higher" and not kind.reference]
    ranked = sorted(measured, key=lambda name: -figures[name].mean)
    lacking = {name: _missing(KINDS[name], graph is not None) for name in {*ranked, EXPLAINS}}
    headline = next((name for name in ranked if not lacking[name][0]), None)
    if headline is None:
        raise InputError("no metric with known agreement is ready here; tacit metrics lists what each metric needs")
    text = f"{headline}, which agrees best with human ratings of the metrics that are ready here ({_agreement(headline)})"
    names = [headline]
    if headline != EXPLAINS and not lacking[EXPLAINS][0]:
        names.append(EXPLAINS)
        text += f", and {EXPLAINS}, which shows what in the graph supports a response"
    better: dict[str, str] = {}  # the best metric that each command makes ready
    for name in ranked[: ranked.index(headline)]:
        better.setdefault(_brings(lacking[name]), name)
    named = list(better.items())[:_BETTER]
    missed = [f"{name}, which agrees better ({_agreement(name)}): {get}" for get, name in named]
    if EXPLAINS not in (*names, *(name for _, name in named)):
        missed.append(f"{EXPLAINS}, which shows what in a graph supports a response: {_brings(lacking[EXPLAINS])}")
    return DefaultMetrics(tuple(names), f"scoring with {text}", "; ".join(missed))


def _agreement(name: str) -> str:
    """Return the agreement of a metric, e.g. ``Pearson .29 [.26, .33], Spearman .29 [.25, .32]``."""
    figures = shipped_figures()[name]
    return f"Pearson {formatted(figures.pearson, 2)}, Spearman {formatted(figures.spearman, 2)}"


def _brings(lacking: tuple[str, str]) -> str:
    missing, get = lacking
    return "name a graph with --graph GRAPH or TACIT_GRAPH" if missing == "a graph" else get


def _describe(name: str, kind: MetricKind, graph: str | None) -> MetricDescription:
    try:
        missing, get = _missing(kind, graph is not None)
    except Exception as error:
        if not kind.plugin:
            raise
        missing, get = f"a working entry ({type(error).__name__}: {error})", f"a repair of {kind.plugin}"
    figures = shipped_figures().get(name)
    measured = {dataset.name for dataset in figures.sets} if figures else set()
    return MetricDescription(
        name, kind.summary, kind.range, kind.better, tuple(needs_of(kind)), not missing, missing, get, figures,
        tuple(name for name in kind.chosen_on if name in measured), kind.learnt_from, _reference(name, kind, graph), kind.plugin,
    )  # fmt: skip


def needs_of(kind: MetricKind) -> list[str]:
    """Return what a metric needs, as text: a graph, references, optional dependencies, models, its own and those of the metrics
    that it combines."""
    needs = ["a graph"] if kind.graph else []
    needs += ["references"] if kind.reference else []
    needs += [f"tacit-kg[{kind.extra}]"] if kind.extra else []
    parts = (kind, *map(METRIC_REGISTRY.kind, kind.combines))
    return [*needs, *dict.fromkeys(part.model for part in parts if part.model and part.get_model)]


def lacking(name: str, graph: bool) -> tuple[str, str]:
    """Return what the metric ``name`` lacks for scoring with its default options, and the command that gets it; or empty
    texts."""
    return _missing(metric_kind(name), graph)


def _missing(kind: MetricKind, graph: bool) -> tuple[str, str]:
    """Return what scoring with the default options lacks, and the command that gets it; empty texts for nothing."""
    for package in kind.packages:
        if find_spec(package) is None:
            return f"the package {package}", _install(package, kind.extra) if kind.extra else f"pip install {package}"
    for part in kind.combines:
        if (lacking := _missing(METRIC_REGISTRY.kind(part), graph))[0]:
            return lacking
    if not kind.has_model():
        return kind.model, kind.get_model or _install(kind.model, kind.extra)
    return ("a graph", "name one with --graph GRAPH") if kind.graph and not graph else ("", "")


def _install(package: str, extra: str) -> str:
    """Return the command that installs an extra, as error messages give it."""
    return str(MissingExtra(package, extra)).partition("run: ")[2]


def _reference(name: str, kind: MetricKind, graph: str | None) -> Reference | None:
    """Return the reference for the default options, as far as it is known without opening the metric; that of ``graph`` first."""
    references = references_of(name)
    if kind.graph:
        references.sort(key=lambda reference: f"|graph:{graph}" not in reference.signature)
    return references[0] if references else None


def _helps(doc: str, names: list[str]) -> dict[str, str]:
    """Return the text of a docstring about each argument in ``names``."""
    section = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", doc, re.DOTALL | re.MULTILINE)
    if section is None or not names:
        return {}
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", " ".join(section[1].split())).replace("``", "")  # without markup
    alternatives = "|".join(map(re.escape, names))
    starts = list(re.finditer(rf"(?:^|(?<=[.;:] ))((?:{alternatives})(?:, (?:{alternatives}))*): ", text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {
        name: text[start.end() : end].strip(" ;.")
        for start, end in zip(starts, ends, strict=True)
        for name in start[1].split(", ")
    }


def _type(members: Sequence[str]) -> str:
    """Return a union type as text, without the types that a command line cannot pass."""
    return " or ".join(dict.fromkeys(_TYPES[name] for name in members if name in _TYPES)) or "text"


def _json_default(default: Any) -> Any:
    """Return a default as a value for JSON."""
    return default if default is None or isinstance(default, (bool, int, float, str)) else str(default)
