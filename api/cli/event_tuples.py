"""The commands on event tuples: ``score-tuples``, ``merge-cache``, which merges cached COMET tails, and ``evaluate-tuples``.

For a line without a valid tuple ``score-tuples`` writes a line with ``error`` in its place, and goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from ... import loaders
from ...graph.errors import InputError, MissingExtra
from ...graph.item import Item
from ...graph.schema import dump
from ...reasoning.registry import EXTRACTOR_REGISTRY, SCORER_REGISTRY, default_scorer, metric_kind, open_extractor
from ..opening import check_distinct, check_files, open_engine, open_store, readable
from ..terminal.faults import Faults
from ..terminal.output import check_output, lines_to
from ..terminal.progress import Meter, Stages, shows_progress, waiting
from ..terminal.screen import count, duration, json_text, note, print_json, rate, show, table
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from ...reasoning.evaluation.correlation import Interval
    from ...reasoning.metrics.accent.events import EventTuple, Extractor
    from ...reasoning.metrics.accent.extractors.extraction_eval import Encode, Presence
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


# The command ``evaluate-tuples``.

_EXTRACTOR_BATCH = 32
_NO_ENCODER = "none"


def complete_extractors(incomplete: str) -> list[str]:
    """Return names of extractors for shell completion."""
    return [name for name in EXTRACTOR_REGISTRY.names() if name.startswith(incomplete)]


def complete_extractor_options(incomplete: str) -> list[str]:
    """Return options of extractors for shell completion."""
    return opts.complete_options_of(EXTRACTOR_REGISTRY, incomplete)


def evaluate_tuples(
    files: Annotated[list[str], argument("DECO_JSON", "Responses with human event tuples, plain or gzip.")],
    extractor: Annotated[
        str,
        option(
            "NAME", f"The extractor of event tuples: {', '.join(EXTRACTOR_REGISTRY.own)}.", autocompletion=complete_extractors
        ),
    ] = "rules",
    graph: Annotated[
        str | None,
        option("GRAPH", "For cskb: a path, or a neo4j:// or bolt:// URL [env TACIT_GRAPH, tacit.toml].", **opts.GRAPH_ENV),
    ] = None,
    option_values: Annotated[
        list[str] | None,
        option(
            "EXTRACTOR.NAME=VALUE",
            "An option of the extractor: JSON, else text; repeatable.",
            "--option",
            "-O",
            autocompletion=complete_extractor_options,
        ),
    ] = None,
    kind: Annotated[
        Literal["all", "single", "pair"],
        typer.Option(help="Tuples to compare: from the response only (single), with the previous turn (pair), or all."),
    ] = "all",
    encoder: Annotated[
        str | None, option("ID|FOLDER|none", "Sentence encoder for the similarity.", default="all-MiniLM-L6-v2")
    ] = None,
    bertscore: Annotated[str | None, option("ID|FOLDER", "Encoder for BERTScore, such as roberta-large.", default="none")] = None,
    output: Annotated[
        Path | None, option("FILE", "Write the extracted tuples to this file, one JSON line per row.", "--output", "-o")
    ] = None,
    resamples: opts.Resamples = 10_000,
    seed: opts.ResampleSeed = 0,
    pipeline: opts.Pipeline = None,
    json: opts.Json = False,
    quiet: opts.Quiet = False,
) -> None:
    """Compare extracted event tuples with human ones: which relations are found, and how similar the texts are.

    A dialogue has a relation if it has a tuple with it; precision, recall and F1 are over dialogues, by relation.
    """
    from ...reasoning.metrics.baselines.bertscore import make as make_bertscore

    if output is not None:
        for file in files:
            check_output(output, file)
    check_distinct(files)
    options = _extractor_options(extractor, option_values, pipeline)
    rows = [row for file in files for row in loaders.read_event_tuples(readable(file))]
    encode = _encode(encoder)
    score_bertscore = None if bertscore is None else make_bertscore(encoder=bertscore)
    with _opened(extractor, graph, options) as opened:
        extracted = _extracted(rows, opened, quiet)
        signature = opened.signature
    from ...reasoning.metrics.accent.extractors.extraction_eval import compare_tuples

    only = None if kind == "all" else kind
    compared = compare_tuples(
        [[event_tuple[:3] for event_tuple in tuples if only in (None, str(event_tuple.kind))] for tuples in extracted],
        [[human[:3] for human in row.tuples if only in (None, human.kind)] for row in rows],
        encode=encode, bertscore=score_bertscore, resamples=resamples, seed=seed,
    )  # fmt: skip
    if output is not None:
        _write(output, rows, extracted)
    sizes = {"dialogues": len(rows), "extracted": sum(map(len, extracted)), "human": sum(len(row.tuples) for row in rows)}
    if json:
        bootstrap = {"level": 0.95, "resamples": resamples, "seed": seed}
        relations = [asdict(row) for row in compared]
        print_json({"extractor": signature, "kind": kind, **sizes, "bootstrap": bootstrap, "relations": relations})
    else:
        _show(compared, sizes, resamples, seed)
        if not quiet:
            note(f"extractor {signature}")


def _extractor_options(extractor: str, values: Sequence[str] | None, pipeline: str | None) -> dict[str, Any]:
    """Return the options of the extractor, with ``pipeline`` if it has that option."""
    kind = EXTRACTOR_REGISTRY.kind(extractor)
    names = kind.options()
    options = opts.options_of(extractor, kind, values, list(names))
    if pipeline is not None and "pipeline" in names:
        options.setdefault("pipeline", pipeline)
    return options


def _encode(encoder: str | None) -> Encode | None:
    """Return the function that embeds texts; None for ``none``, or if the default encoder's extra is not installed."""
    if encoder == _NO_ENCODER:
        return None
    from ...reasoning.models.encoder import open_encoder

    try:
        return open_encoder(encoder).encode
    except MissingExtra as error:
        if encoder is not None:
            raise

        note(f"similarity is not computed: {error}")
        return None


@contextmanager
def _opened(name: str, graph: str | None, options: dict[str, Any]) -> Iterator[Extractor]:
    """Open the extractor, with the graph if it needs one."""
    if not EXTRACTOR_REGISTRY.kind(name).graph:
        yield open_extractor(name, **options)
        return
    if graph is None:
        raise InputError(f"the extractor {name} needs a graph; give one with --graph")
    with open_store(opts.address_at(graph)) as store:
        yield open_extractor(name, store, **options)


def _extracted(rows: Sequence[loaders.TupleRow], extractor: Extractor, quiet: bool) -> list[list[EventTuple]]:
    """Return the extracted tuples of every row."""
    extracted: list[list[EventTuple]] = []
    remaining = iter(rows)
    with Meter("extracting", len(rows), noun="responses", quiet=quiet) as meter:
        while batch := list(islice(remaining, _EXTRACTOR_BATCH)):
            extracted += extractor.extract_batch([Item(row.history, row.response) for row in batch])
            meter.add(len(batch))
    return extracted


def _write(output: Path, rows: Sequence[loaders.TupleRow], extracted: Sequence[Sequence[EventTuple]]) -> None:
    """Write the extracted tuples."""
    with lines_to(output) as write:
        for row, tuples in zip(rows, extracted, strict=True):
            write(json_text({"id": row.id, "tuples": [dump(event_tuple) for event_tuple in tuples]}) + "\n")


def _show(rows: Sequence[Presence], sizes: dict[str, int], resamples: int, seed: int) -> None:
    """Print the comparison as a table with a legend."""
    headings = (
        "relation",
        ">human",
        ">extracted",
        ">both",
        ">precision",
        ">recall",
        "F1",
        ">chance",
        ">BLEU-2",
        ">similarity",
        ">BERTScore",
    )
    lines = [
        (
            row.relation, row.human, row.extracted, row.both, _number(row.precision), _number(row.recall), _interval(row.f1),
            f"{row.chance:.3f}", _number(row.bleu), _number(row.similarity), _number(row.bertscore),
        )
        for row in rows
    ]  # fmt: skip
    show(table(headings, lines))
    print(f"\n{count(sizes['dialogues'])} dialogues; {count(sizes['human'])} human tuples, {count(sizes['extracted'])} extracted")
    print("human, extracted, both: dialogues with a tuple of the relation; chance: F1 expected for as many random dialogues")
    print(f"[ ] 95% bootstrap intervals over dialogues, {count(resamples)} resamples, seed {seed}")


def _number(interval: Interval) -> str:
    return "" if interval.value is None else f"{interval.value:.3f}"


def _interval(interval: Interval) -> str:
    return "" if interval.value is None else f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
