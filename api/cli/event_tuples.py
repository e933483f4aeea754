"""The commands ``score-tuples``, which scores event tuples, and ``merge-cache``, which merges cached COMET tails into the graph.

For a line without a valid tuple ``score-tuples`` writes a line with ``error`` in its place, and goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ...graph.errors import InputError
from ...graph.schema import dump
from ...reasoning.registry import SCORER_REGISTRY, default_scorer, metric_kind
from ..opening import check_files, open_engine, open_store
from ..terminal.faults import Faults
from ..terminal.output import lines_to
from ..terminal.progress import Meter, Stages, shows_progress, waiting
from ..terminal.screen import count, duration, json_text, note, print_json, rate, show, table
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from ...reasoning.metrics.accent.scorers.base import TupleScore, TupleScorer

_SCORER_OPTIONS = ("model", "probe", "comet", "remember", "nearest", "threshold", "encoder", "device", "dtype")
_SCORER_BATCH = 512  # batch size of scorers without a language model; for the others a spinner is shown while the model is opened


def complete_scorers(incomplete: str) -> list[str]:
    """Return names of tuple scorers for shell completion."""
    return [name for name in SCORER_REGISTRY.names() if name.startswith(incomplete)]


def complete_scorer_options(incomplete: str) -> list[str]:
    """Return options of tuple scorers for shell completion."""
    return [text for name in _SCORER_OPTIONS if (text := f"accent.{name}=").startswith(incomplete)]


def score_tuples(
    file: Annotated[str, argument("FILE", "JSON lines, plain or gzip; - reads stdin.")],
    graph: opts.GraphRequired,
    scorer: Annotated[
        str | None,
        option(
            "NAME",
            f"The tuple scorer: {', '.join(SCORER_REGISTRY.own)}, or the scorer of a plugin.",
            default="llm-probe after tacit fetch judge, else blend",
            autocompletion=complete_scorers,
        ),
    ] = None,
    option_values: Annotated[
        list[str] | None,
        option(
            "accent.NAME=VALUE",
            f"An option of accent that tuple scorers have: {', '.join(_SCORER_OPTIONS)}; repeatable.",
            "--option",
            "-O",
            autocompletion=complete_scorer_options,
        ),
    ] = None,
    output: opts.Output = None,
    batch_size: Annotated[
        int | None, option("N", "Tuples scored together.", default="512, fewer for language models", min=1)
    ] = None,
    strict: opts.Strict = False,
    quiet: opts.Quiet = False,
) -> None:
    """Score event tuples, one JSON line each.

    A line of FILE is {"head": "...", "relation": "xWant", "tail": "..."}. The output has the same lines in the same order with
    "score", the "closest" known tails with their origin, the "parts" of a language model's score, and a "note" if something was
    missing.
    """
    options = _scorer_options(option_values)
    scorer = scorer or default_scorer(tails_asked=bool(options["nearest"] or options["comet"] or options["model"]))
    kind = SCORER_REGISTRY.kind(scorer)
    check_files(file, output)
    print_settings(quiet)
    with open_engine(opts.address_at(graph), "store", quiet=quiet) as store, scorer_stages(quiet) as stages:
        from ...reasoning.metrics.accent.scorers.resources import ScorerResources

        resources = ScorerResources(store, progress=stages.count, **_picked(options, "encoder", "device", "dtype"))
        tails = None
        if "tails" in kind.options():
            tails = resources.tails(**_picked(options, "nearest", "threshold", "comet", "remember"))
        with waiting("opening the model", quiet=quiet or kind.batch_size == _SCORER_BATCH):
            tuple_scorer = resources.scorer(scorer, tails=tails, **_picked(options, "model", "probe", "comet"))
        stages.end()
        its_relations = tuple_scorer.relations
        relations = frozenset(resources.relations() if its_relations is None else its_relations)
        faults = Faults()
        scored, total = 0, 0.0
        shown = shows_progress(output, quiet)
        with lines_to(output, apart_from=file) as write, Meter("scoring", None, noun="tuples", quiet=not shown) as meter:
            for row, score in _scores(_rows(file, relations, strict, faults), tuple_scorer, batch_size or kind.batch_size):
                write(_line(row, score))
                meter.add(1)
                if score is not None:
                    scored += 1
                    total += score.value
        _report(faults, scored, total, meter, tuple_scorer.signature, output, quiet)
    if faults.number:
        faults.require(scored, f"{file} has no tuple that can be scored")


def _scorer_options(values: Sequence[str] | None) -> dict[str, Any]:
    """Return the options of the scorer, checked as those of ``accent``, whose defaults they have."""
    kind = metric_kind("accent")
    return {**_picked(kind.options(), *_SCORER_OPTIONS), **opts.options_of("accent", kind, values, _SCORER_OPTIONS)}


def _picked(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names}


def merge_cache(graph: opts.GraphArgument, json: opts.Json = False, quiet: opts.Quiet = False) -> None:
    """Merge cached COMET tails into the graph: those that scoring generated and stored in the journal beside GRAPH."""
    from ...reasoning.metrics.accent.tails.tail_cache import merge_cache as merge

    with open_store(opts.address_at(graph)) as store:
        counts = merge(store)
    if json:
        print_json(counts._asdict())
    elif not quiet:
        note(f"{count(counts.new)} generated tails were added to the graph, {count(counts.duplicate)} were there already")
    if counts.skipped:
        note(f"{count(counts.skipped)} lines of the journal held no valid assertion; they were skipped and deleted")


def scorer_stages(quiet: bool) -> Stages:
    """Return the progress bars of what a scorer builds once for a graph."""
    return Stages(lambda what: "assertions" if "events" in what else "texts", quiet=quiet)


class _Row(NamedTuple):
    """A line of the input: its number, its fields, and why it cannot be scored (empty if it can)."""

    number: int
    data: dict[str, Any]
    error: str


def _rows(file: str, relations: Collection[str], strict: bool, faults: Faults) -> Iterator[_Row]:
    """Yield the lines of a file; those without a valid tuple are faults, and keep their place."""
    from ...loaders.records import json_rows

    for number, data, fault in json_rows(file):
        error = fault or _fault(data, relations)
        if error:
            if strict:
                raise InputError(f"{file}:{number}: {error}")
            faults.add(f"line {number}: {error}")
        yield _Row(number, data, error)


def _scores(rows: Iterator[_Row], scorer: TupleScorer, batch_size: int) -> Iterator[tuple[_Row, TupleScore | None]]:
    """Yield each line with its score, None if it cannot be scored; lines are scored in batches."""
    while batch := list(islice(rows, batch_size)):
        valid = [row for row in batch if not row.error]
        scores = iter(scorer.score([(row.data["head"], row.data["relation"], row.data["tail"]) for row in valid]))
        for row in batch:
            yield row, None if row.error else next(scores)


def _fault(data: dict[str, Any], relations: Collection[str]) -> str:
    """Return why a line is not a valid tuple; empty if it is."""
    for name in ("head", "relation", "tail"):
        if not isinstance(data.get(name), str):
            return f"{name} is {'missing' if name not in data else 'not a text'}; expected head, relation and tail"
        if not data[name].strip():
            return f"{name} is empty"
    if data["relation"] not in relations:
        return f"there is no relation {data['relation']!r} between events; choose from {', '.join(sorted(relations))}"
    return ""


def _line(row: _Row, score: TupleScore | None) -> str:
    if score is None:
        return json_text({**row.data, "line": row.number, "error": row.error}) + "\n"
    added: dict[str, Any] = {"score": score.value, "closest": [dump(close) for close in score.closest]}
    if score.parts:
        added["parts"] = dict(score.parts)
    if score.note:
        added["note"] = score.note
    return json_text({**row.data, **added}) + "\n"


def _report(faults: Faults, scored: int, total: float, meter: Meter, signature: str, output: Path | None, quiet: bool) -> None:
    """Print the summary to stderr."""
    faults.note("not scored")
    if quiet:
        return
    sys.stdout.flush()
    speed = rate((scored + faults.number) / max(meter.seconds, 1e-9))
    row = (scored, total / scored if scored else None, faults.number, duration(meter.seconds), speed)
    show(table((">tuples", ">mean", ">errors", ">time", ">tuples/s"), [row]), sys.stderr)
    note(f"signature {signature}")
    if output is not None:
        note(f"written to {output}")
