"""Commands that query concepts and events: ``neighbours``, ``hops``, ``paths``, ``triples``, ``tails``, ``heads``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import typer

from ... import reasoning
from ...graph.errors import InputError, UnknownName
from ...graph.model import FoundPath
from ...graph.names import event_uri, text_of
from ...graph.relations import check_known, relations_of
from ...graph.schema import dump
from ..opening import open_engine, open_store, resolve
from ..terminal.output import check_output, write_file
from ..terminal.screen import note, print_json, show, table
from . import options as opts
from .options import argument, option

Text = Annotated[str, argument("TEXT", "A word, a phrase, or a concept URI.")]
MaxHops = Annotated[int, option("N", "Longest path to search for.", min=1, max=6)]


def neighbours(
    graph: opts.GraphArgument,
    text: Text,
    hop: Annotated[int, option("N", "Concepts at exactly this distance.", min=1, max=6)] = 1,
    limit: opts.Limit = 10,
    relation: opts.Relations = None,
    language: opts.Language = "en",
    engine: opts.EngineChoice = "auto",
    json: opts.Json = False,
) -> None:
    """Show the neighbours of a concept, strongest first."""
    with open_engine(opts.address_at(graph), engine) as source:
        [uri] = resolve(source, [text], language)
        if relation:
            check_known(relation, relations_of(source))
        rows = [dump(neighbour) for neighbour in source.neighbours(uri, hop, limit, relation or None)]
    _answer(rows, ("text", ">weight", ">hop", "uri"), json, f"no concept is exactly {hop} hops from {text!r}")


def hops(
    graph: opts.GraphArgument,
    source: Annotated[str, argument("SOURCE", "A word, a phrase, or a concept URI.")],
    targets: Annotated[list[str], argument("TARGET", "Words, phrases, or concept URIs.")],
    max_hops: MaxHops = 6,
    language: opts.Language = "en",
    engine: opts.EngineChoice = "auto",
    json: opts.Json = False,
) -> None:
    """Count the hops from one concept to others; -1 if there is no path, or no such concept."""
    from ...graph.open import index_of

    with open_engine(opts.address_at(graph), engine) as store:
        source_uri, *target_uris = store.resolve([source, *targets], language)
        known_uris = list(dict.fromkeys(uri for uri in target_uris if uri is not None))
        distances = store.hop_distances([source_uri], known_uris, max_hops) if source_uri is not None and known_uris else None
        unknown = [text for text, uri in zip([source, *targets], [source_uri, *target_uris], strict=True) if uri is None]
        index = index_of(store)
        notes = []
        for text in dict.fromkeys(unknown):
            similar = [] if index is None else index.near(text, language=language)
            notes.append(f"{text!r} is not in {store.url}" + (f"; did you mean {' or '.join(similar)}?" if similar else ""))
    column = {uri: number for number, uri in enumerate(known_uris)}
    rows = [
        {"source": source, "target": target, "hops": -1 if uri is None or distances is None else int(distances[0, column[uri]])}
        for target, uri in zip(targets, target_uris, strict=True)
    ]
    for sentence in notes:
        note(sentence)
    _answer(rows, ("source", "target", ">hops"), json)


def paths(
    graph: opts.GraphArgument,
    source: Annotated[str, argument("SOURCE", "A word, a phrase, or a concept URI.")],
    target: Annotated[str, argument("TARGET", "A word, a phrase, or a concept URI.")],
    limit: opts.Limit = 10,
    max_hops: MaxHops = 6,
    events: Annotated[
        bool,
        typer.Option("--events", help="Go through events too, which tacit link joined to concepts; both ends may be events."),
    ] = False,
    svg: Annotated[FilePath | None, option("FILE.svg", "Also write a picture of the paths to this file.")] = None,
    language: opts.Language = "en",
    engine: opts.EngineChoice = "auto",
    json: opts.Json = False,
) -> None:
    """Show the shortest paths between two concepts, strongest first."""
    from ...graph.protocol import LinksEvents

    if svg is not None:
        check_output(svg)

    with open_engine(opts.address_at(graph), engine, concepts=not events) as store:
        if events and isinstance(store, LinksEvents):
            found_paths = store.linked_paths(source, target, max_hops, limit, language=language)
        else:
            start, end = resolve(store, [source, target], language)
            found_paths = store.paths(start, end, max_hops, limit)
        rows = [dump(path, FoundPath) for path in found_paths]
    if svg is not None:
        if not found_paths:
            raise InputError(f"no path of at most {max_hops} hops joins {source!r} and {target!r}, so there is no picture")
        write_file(svg, reasoning.draw_paths(found_paths).encode())
    title = f"no path of at most {max_hops} hops joins {source!r} and {target!r}"
    _answer(rows, (">hops", ">strength", "text"), json, title)


class MultiValueCommand(opts.GraphFirst):
    """A command whose ``--between`` and ``--and`` take all words up to the next option: ``--between dog cat --and bone``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread(args, ("--between", "--and")))


def spread(args: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return ``args`` with each option of ``names`` repeated before each of its values."""
    result: list[str] = []
    option, takes_first_value = "", False
    for index, word in enumerate(args):
        if word == "--":
            return [*result, *args[index:]]
        name = word.partition("=")[0]
        if name in names:
            option, takes_first_value = name, "=" not in word
        elif word.startswith("-") and len(word) > 1:
            option, takes_first_value = "", False
        elif option and not takes_first_value:
            result.append(option)
        elif takes_first_value:
            takes_first_value = False
        result.append(word)
    return result


def triples(
    graph: opts.GraphArgument,
    between: Annotated[list[str], option("A...", "The first set of concepts.")],
    others: Annotated[list[str], option("B...", "The second set of concepts.", "--and")],
    hops: Annotated[int, option("1|2", "Length of the paths: single assertions, or two.", min=1, max=2)] = 1,
    limit: opts.LimitOrAll = None,
    language: opts.Language = "en",
    engine: opts.EngineChoice = "auto",
    json: opts.Json = False,
) -> None:
    """Show the assertions between two sets of concepts, in either direction.

    Both options take all words up to the next option, so GRAPH comes first: tacit triples GRAPH --between dog cat --and bone.
    """
    length: Literal[1, 2] = 1 if hops == 1 else 2
    with open_engine(opts.address_at(graph), engine) as store:
        uris = resolve(store, [*between, *others], language)
        first_set = list(dict.fromkeys(uris[: len(between)]))
        second_set = list(dict.fromkeys(uris[len(between) :]))
        rows = [dump(path, FoundPath) for path in islice(store.triples_between(first_set, second_set, length), limit)]
    _answer(rows, (">strength", "text"), json, f"no path of exactly {hops} {'hop' if hops == 1 else 'hops'} joins the two sets")


def tails(
    graph: opts.GraphArgument,
    head: Annotated[str, argument("HEAD", "An event, e.g. 'PersonX eats dinner', or a concept that events mention.")],
    relation: Annotated[str | None, argument("RELATION", "A relation, e.g. xIntent; all if left out.")] = None,
    limit: opts.LimitOrAll = None,
    json: opts.Json = False,
) -> None:
    """Show the assertions about an event: its causes, effects, intentions and so on.

    A concept URI, or a text that is not an event with such assertions, is looked up as a concept: after tacit link, the answers
    are those of the events that mention it, best first.
    """
    from ...graph.protocol import LinksEvents

    if not head.startswith(("/e/", "/c/")):
        event_uri(head)
    with open_store(opts.address_at(graph)) as store:
        if relation:
            check_known([relation], relations_of(store))
        rows = [] if head.startswith("/c/") else [dump(assertion) for assertion in store.tails(head, relation, limit)]
        if not rows and limit != 0 and isinstance(store, LinksEvents):
            (concept,) = store.resolve([head])
            if concept is not None and (head.startswith("/c/") or store.link_manifest().links):
                mentioned = [dump(tail) for tail in store.concept_tails(concept, relation, limit)]
                nothing = f"{head!r} has no {relation or 'tails'} here, and neither has an event that mentions it"
                _answer(mentioned, ("relation", "tail_text", ">events", "event_text", ">weight"), json, nothing)
                return
        if not rows and limit != 0 and not store.tails(head, None, 1):
            kind = "concept" if head.startswith("/c/") else "event"
            raise UnknownName(f"{store.url} has no tails of the {kind} {head!r}; tacit heads finds events by their words")
    _answer(rows, ("relation", "tail_text", ">weight", "source", "dataset"), json, f"{head!r} has no {relation} here")


def heads(
    graph: opts.GraphArgument,
    text: Annotated[str, argument("TEXT", "Words of the event, e.g. 'eats dinner'.")],
    limit: opts.Limit = 10,
    json: opts.Json = False,
) -> None:
    """Find events by their words, exact matches and short ones first."""
    event_uri(text)
    with open_store(opts.address_at(graph)) as store:
        uris = store.heads(text, limit)
        if not uris and limit != 0:
            raise InputError(f"no event in {store.url} contains {text!r}; try fewer words")
    _answer([{"text": text_of(uri), "uri": uri} for uri in uris], ("text", "uri"), json)


def _answer(rows: Sequence[dict[str, Any]], columns: Sequence[str], json: bool, nothing: str = "nothing found") -> None:
    """Print ``rows`` as JSON, or ``columns`` of them as a table; without rows print ``nothing`` to stderr."""
    if json:
        print_json(rows)
    elif rows:
        headings = [column.removesuffix("_text") for column in columns]
        show(table(headings, ([row.get(column.removeprefix(">")) for column in columns] for row in rows)))
    else:
        note(nothing)
