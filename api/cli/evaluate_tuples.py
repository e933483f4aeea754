"""The command ``evaluate-tuples``, which compares extracted event tuples with human ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ... import loaders
from ...graph.errors import InputError, MissingExtra
from ...graph.item import Item
from ...graph.schema import dump
from ...reasoning.registry import EXTRACTOR_REGISTRY, open_extractor
from ..opening import check_distinct, open_store, readable
from ..terminal.output import check_output, lines_to
from ..terminal.progress import Meter
from ..terminal.screen import count, json_text, note, print_json, show, table
from . import options as opts
from .options import argument, option

if TYPE_CHECKING:
    from ...reasoning.evaluation.correlation import Interval
    from ...reasoning.metrics.accent.events import EventTuple, Extractor
    from ...reasoning.metrics.accent.extractors.extraction_eval import Encode, Presence

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
