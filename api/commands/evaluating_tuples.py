"""The command ``evaluate-tuples``: an extractor of event tuples against those that people wrote down."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...graph.errors import InputError, MissingExtra
from ..metrics import Pipeline
from ..opening import Address, open_store, readable
from ..terminal.options import Database, Json, Password, Quiet, Resamples, ResampleSeed, User
from ..terminal.output import check_output, lines_to
from ..terminal.progress import Meter

if TYPE_CHECKING:
    from ...loaders import TupleRow
    from ...reasoning.accent.setup2 import Encode, Estimate, Presence
    from ...reasoning.accent.tuples import EventTuple, Extractor

_BATCH = 32
_NO_ENCODER = "none"


class ExtractorName(Enum):
    """What finds the tuples."""

    RULES = "rules"
    T5 = "t5"
    CSKB = "cskb"


class KindName(Enum):
    """Which human tuples count."""

    ALL = "all"
    SINGLE = "single"
    PAIR = "pair"


def evaluate_tuples(
    files: Annotated[
        list[str],
        typer.Argument(metavar="DECO_JSON...", show_default=False, help="Responses with human event tuples, plain or gzip."),
    ],
    extractor: Annotated[
        ExtractorName, typer.Option(help="rules: over a parse; t5: by a model; cskb: keywords in the graph.")
    ] = ExtractorName.RULES,
    graph: Annotated[
        str | None,
        typer.Option("--graph", metavar="GRAPH", show_default=False, help="For cskb: a path, or a neo4j:// or bolt:// URL."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-O",
            metavar="NAME=VALUE",
            show_default=False,
            help="An option of the extractor: JSON, else text; repeatable.",
        ),
    ] = None,
    kind: Annotated[KindName, typer.Option(help="Compare tuples said in the response alone, with the turn before, or all.")] = (
        KindName.ALL
    ),
    encoder: Annotated[
        str | None,
        typer.Option(metavar="ID|FOLDER|none", show_default="all-MiniLM-L6-v2", help="Embeds tuples for their similarity."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Write what was extracted, one JSON line a row."),
    ] = None,
    resamples: Resamples = 2000,
    seed: ResampleSeed = 0,
    pipeline: Pipeline = None,
    json: Json = False,
    quiet: Quiet = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Compare extracted event tuples with those of people: is the right relation found, and how alike are the texts?

    A dialogue has a relation when a tuple of it is there; precision, recall and F1 are over dialogues and relations.
    """
    from ...loaders import read_event_tuples

    if output is not None:
        for file in files:
            check_output(output, file)
    rows = [row for file in files for row in read_event_tuples(readable(file))]
    options = _options(option, extractor.value, pipeline)
    encode = _encode(encoder)
    with _opened(extractor.value, graph, options, user, password, database) as chosen:
        found = _extracted(rows, chosen, quiet)
        signature = chosen.signature
    from ...reasoning.accent.setup2 import compare_tuples

    wanted = None if kind is KindName.ALL else kind.value
    compared = compare_tuples(
        [[one[:3] for one in tuples if wanted in (None, str(one.kind))] for tuples in found],
        [[one[:3] for one in row.tuples if wanted in (None, one.kind)] for row in rows],
        encode=encode, resamples=resamples, seed=seed,
    )  # fmt: skip
    if output is not None:
        _write(output, rows, found)
    sizes = {"dialogues": len(rows), "extracted": sum(map(len, found)), "human": sum(len(row.tuples) for row in rows)}
    if json:
        from ..terminal.screen import print_json

        bootstrap = {"level": 0.95, "resamples": resamples, "seed": seed}
        relations = [row.to_dict() for row in compared]
        print_json({"extractor": signature, "kind": kind.value, **sizes, "bootstrap": bootstrap, "relations": relations})
    else:
        _show(compared, sizes, resamples, seed)
        if not quiet:
            from ..terminal.screen import note

            note(f"extractor {signature}")


def _options(given: Sequence[str] | None, extractor: str, pipeline: str | None) -> dict[str, Any]:
    """The options of the extractor from ``NAME=VALUE`` texts; ``pipeline`` goes to one that takes it.

    Raises:
        InputError: a text has another form, or names an option that the extractor does not have.
    """
    from ...reasoning.accent.extractors import extractor_options

    known = extractor_options(extractor)
    options: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--option {text} is not NAME=VALUE, e.g. cache_size=1000")
        if name.strip() not in known:
            raise InputError(f"the extractor {extractor} has no option {name.strip()!r}; it has {', '.join(known)}")
        try:
            options[name.strip()] = json_format.loads(value)
        except ValueError:
            options[name.strip()] = value
    if pipeline is not None and "pipeline" in known:
        options.setdefault("pipeline", pipeline)
    return options


def _encode(encoder: str | None) -> Encode | None:
    """What embeds texts; None when nobody wants it, or when the usual encoder's extra is not installed."""
    if encoder == _NO_ENCODER:
        return None
    from ...reasoning.encoder import open_encoder

    try:
        return open_encoder(encoder).encode
    except MissingExtra as error:
        if encoder is not None:
            raise
        from ..terminal.screen import note

        note(f"no similarity: {error}")
        return None


@contextmanager
def _opened(
    name: str, graph: str | None, options: dict[str, Any], user: str | None, password: str | None, database: str | None
) -> Iterator[Extractor]:
    """Give the extractor, over the graph when it looks into one.

    Raises:
        InputError: it needs a graph and none is named.
    """
    from ...reasoning.accent.extractors import needs_graph, open_extractor

    if not needs_graph(name):
        yield open_extractor(name, **options)
        return
    if graph is None:
        raise InputError(f"the extractor {name} looks for tuples in a graph; name one with --graph")
    with open_store(Address(graph, user, password, database)) as store:
        yield open_extractor(name, store, **options)


def _extracted(rows: Sequence[TupleRow], extractor: Extractor, quiet: bool) -> list[list[EventTuple]]:
    """The tuples of every row."""
    from ...graph.item import Item

    found: list[list[EventTuple]] = []
    waiting = iter(rows)
    with Meter("extracting", len(rows), unit="responses", noun="responses", quiet=quiet) as meter:
        while batch := list(islice(waiting, _BATCH)):
            found += extractor.extract_batch([Item(row.history, row.response) for row in batch])
            meter.add(len(batch))
    return found


def _write(output: Path, rows: Sequence[TupleRow], found: Sequence[Sequence[EventTuple]]) -> None:
    """Write the extracted tuples, whole or not at all."""
    from ..terminal.screen import json_text

    with lines_to(output) as write:
        for row, tuples in zip(rows, found, strict=True):
            write(json_text({"id": row.id, "tuples": [one.to_dict() for one in tuples]}) + "\n")


def _show(rows: Sequence[Presence], sizes: dict[str, int], resamples: int, seed: int) -> None:
    """Print the comparison as a table, and how to read it."""
    from ..terminal.screen import show, table
    from ..terminal.text import count

    headings = ("relation", ">human", ">extracted", ">both", ">precision", ">recall", "F1", ">chance", ">BLEU-2", ">similarity")
    lines = [
        (
            row.relation, row.human, row.extracted, row.both, _number(row.precision), _number(row.recall), _interval(row.f1),
            f"{row.chance:.3f}", _number(row.bleu), _number(row.similarity),
        )
        for row in rows
    ]  # fmt: skip
    show(table(headings, lines))
    print(f"\n{count(sizes['dialogues'])} dialogues; {count(sizes['human'])} human tuples, {count(sizes['extracted'])} extracted")
    print("human, extracted, both: dialogues with a tuple of the relation; chance: the F1 of as many dialogues drawn at random")
    print(f"[ ] 95% bootstrap intervals over dialogues, {count(resamples)} resamples, seed {seed}")


def _number(one: Estimate) -> str:
    return "" if one.value is None else f"{one.value:.3f}"


def _interval(one: Estimate) -> str:
    return "" if one.value is None else f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"
