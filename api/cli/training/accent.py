"""The commands that train models of ACCENT: ``accent`` (an extractor), ``retriever``, ``comet``, ``kg-bert``, ``llm-probe``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import open_store, readable
from ...terminal.progress import Meter, Stages, waiting
from ..options import Dtype, GraphOrDefault, Json, Quiet, Strict, address_at
from ..settings import tell_settings
from ..tuples import making
from .data import (
    Device,
    Encoder,
    Epochs,
    Licence,
    Model,
    Output,
    RecipeFile,
    RecipeSeed,
    Seed,
    Steps,
    as_typed,
    check_distinct,
    name_of,
    say,
    sha256_of,
    tell_left_out,
)

if TYPE_CHECKING:
    from ....reasoning.metrics.accent.scorers.resources import ScorerResources
    from ....reasoning.training.recipe import TripleRecipe


def accent(
    files: Annotated[
        list[str],
        typer.Argument(metavar="DECO_JSON...", show_default=False, help="Responses with annotated event tuples, plain or gzip."),
    ],
    model: Model,
    output: Output,
    recipe: RecipeFile = None,
    epochs: Epochs = None,
    seed: RecipeSeed = None,
    device: Device = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the extractor t5 of the metric accent: fine-tune a sequence-to-sequence model on annotated event tuples."""
    from ....loaders import read_event_tuples
    from ....reasoning.training.recipe import open_recipe
    from ...terminal.screen import facts, print_json, show

    settings = open_recipe("accent", recipe, epochs=epochs, seed=seed)
    rows, data = [], []
    check_distinct(files)
    for file in files:
        found = read_event_tuples(readable(file))
        rows += found
        tuples = sum(len(row.tuples) for row in found)
        digest = sha256_of(file)
        digest = f", sha256 `{digest}`" if digest else ""
        data.append(f"`{Path(file).name}`, {len(found)} dialogues with {tuples} tuples{digest}")
    from ....reasoning.training.accent import train_extractor

    with Meter("training", None, unit="steps", noun="steps", quiet=quiet) as meter:
        trained = train_extractor(
            rows, model, output, settings, device=device, data=data,
            command=as_typed("accent", [*files, "--model", model, "-o", str(output)], output),
            progress=lambda done, total, _: meter.add(done - meter.number, total=total),
        )  # fmt: skip
    if json:
        print_json({"output": str(output), **asdict(trained)})
        return
    rows_shown = [
        ("model", str(output)), ("card", str(output / "README.md")), ("fine-tuned from", trained.model),
        ("examples", f"{trained.tuples} tuples, {trained.nones} None"), ("loss, last pass", trained.loss),
        ("digest", trained.digest),
    ]  # fmt: skip
    show(facts(rows_shown))


# Tuple scorers trained on the events of a graph: retriever, comet, kg-bert.

Passes = Annotated[
    float | None, typer.Option("--epochs", metavar="X", show_default="the recipe's", help="Passes over the triples.")
]


def retriever(
    graph: GraphOrDefault,
    output: Output,
    recipe: RecipeFile = None,
    encoder: Encoder = None,
    steps: Steps = None,
    seed: RecipeSeed = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the compact retrieval model, which scores tails of heads that are not in the graph."""
    from ....graph.atomic import check_folder, new_folder
    from ....reasoning.metrics.accent.events import RELATIONS
    from ....reasoning.metrics.accent.scorers.compact import FILE, to_bytes
    from ....reasoning.models.encoder import DEFAULT_ENCODER
    from ....reasoning.training.card import licence_text, retriever_card
    from ....reasoning.training.loop import checkpoints_of, delete_checkpoints
    from ....reasoning.training.recipe import open_recipe
    from ....reasoning.training.retriever import train_retriever

    settings = open_recipe("retriever", recipe, steps=steps, seed=seed)
    check_folder(output, FILE, "a tail retriever")
    with _opened(graph, quiet, encoder) as (resources, stages):
        triples = resources.table.triples(RELATIONS)
        stages.end()

        def vectors(texts: Any) -> Any:
            resources.vectors.add(texts, lambda number: stages.count("embedding", number))
            stages.end()
            return resources.vectors.known(texts)

        name = (name_of(encoder) if encoder else DEFAULT_ENCODER, resources.encoder.signature)
        facts = {"graph": resources.table.digest, "sources": resources.table.sources}
        with Meter("training", settings.steps, unit="steps", noun="steps", quiet=quiet) as meter:
            model = train_retriever(
                triples, RELATIONS, vectors, settings, encoder=name, facts=facts, checkpoints=checkpoints_of(output),
                progress=lambda step, total, _: meter.reach(step, total),
            )  # fmt: skip
    data = to_bytes(model)
    with new_folder(output) as fresh:
        (fresh / "README.md").write_bytes(retriever_card(model, len(data)).encode())
        (fresh / "LICENSE").write_bytes(licence_text("retriever").encode())
        (fresh / FILE).write_bytes(data)
    delete_checkpoints(output)
    say(output, json, {"digest": model.digest, "bytes": len(data), **model.facts})


def comet(
    graph: GraphOrDefault,
    output: Output,
    model: Model,
    recipe: RecipeFile = None,
    epochs: Passes = None,
    dtype: Annotated[Dtype | None, typer.Option(show_default="the recipe's", help="Precision of the computation.")] = None,
    seed: RecipeSeed = None,
    device: Device = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a COMET, which generates tails of events, on a graph's assertions; an interrupted run is continued.

    The initial model is a sequence-to-sequence or a causal one; a causal one may be a GGUF file.
    """
    from ....reasoning.training.comet import train_comet
    from ....reasoning.training.recipe import open_recipe

    settings = open_recipe("comet", recipe, epochs=epochs, dtype=dtype and dtype.value, seed=seed)
    _train(train_comet, settings, graph, output, model, device, json, quiet)


def kg_bert(
    graph: GraphOrDefault,
    output: Output,
    model: Model,
    recipe: RecipeFile = None,
    epochs: Passes = None,
    seed: RecipeSeed = None,
    device: Device = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a KG-BERT, which classifies triples as true or corrupted, on a graph's assertions; interrupted runs are continued."""
    from ....reasoning.training.kgbert import train_kgbert
    from ....reasoning.training.recipe import open_recipe

    settings = open_recipe("kg-bert", recipe, epochs=epochs, seed=seed)
    _train(train_kgbert, settings, graph, output, model, device, json, quiet)


def _train(
    train: Any, settings: TripleRecipe, graph: str, output: Path, model: str, device: str | None, json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Train a model of transformers on the triples of a graph's events."""
    from ....reasoning.training.loop import check_output

    check_output(output)
    with _opened(graph, quiet, None) as (resources, stages):
        triples = resources.table.triples(resources.table.relations)
        digest = resources.table.digest
        stages.end()
    with Meter("training", None, unit="steps", noun="steps", quiet=quiet) as meter:
        found = train(
            triples,
            model,
            output,
            settings,
            graph=digest,
            device=device,
            progress=lambda step, total, _: meter.reach(step, total),
        )
    say(output, json, {"graph": digest, **found})


@contextmanager
def _opened(graph: str, quiet: bool, encoder: str | None) -> Iterator[tuple[ScorerResources, Stages]]:
    """Open the resources of tuple scorers over a graph, and a progress display."""
    from ....reasoning.metrics.accent.scorers.resources import ScorerResources

    tell_settings(quiet)
    with open_store(address_at(graph)) as store, making(quiet) as stages:
        yield ScorerResources(store, encoder=encoder, progress=stages.count), stages


# A probe of a language model, trained on judged tuples.

_SHOWN = ("penalty", "auc", "interval", "tuples", "heads", "plausible", "left_out", "seed")
_NOUNS = {"reading": "tuples", "fitting": "layers"}


def llm_probe(
    judged: Annotated[
        list[str],
        typer.Argument(
            metavar="JUDGED...",
            show_default=False,
            help="CSV or JSON lines with head, relation, tail and label (1, 0); plain or gzip.",
        ),
    ],
    output: Output,
    model: Annotated[str, typer.Option("--model", metavar="ID|FOLDER|FILE.gguf", show_default=False, help="The language model.")],
    dtype: Annotated[Dtype, typer.Option(help="Precision of the model.")] = Dtype.FLOAT32,
    device: Device = None,
    seed: Seed = 0,
    licence: Licence = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a linear probe of a language model's hidden states, which predicts whether an event tuple is plausible.

    Its agreement with the labels is measured on held-out heads.
    """
    from ....graph.atomic import check_folder, new_folder
    from ....reasoning.metrics.accent.scorers.language_models import PROBE

    check_folder(output, PROBE.file, "a probe")
    rows, files = read_judged_files(judged, strict)
    from ....reasoning.models.causal_lm import open_causal
    from ....reasoning.training.card import probe_card as card
    from ....reasoning.training.llm_probe import train_probe

    with waiting("opening the model", quiet=quiet):
        causal = open_causal(model, device=device, dtype=dtype.value)
    otherwise = [*judged, "--model", model, "--output", str(output)]
    told = {"files": files, "licence": licence, "command": as_typed("llm-probe", otherwise, output)}
    with Stages(lambda stage: _NOUNS[stage], quiet=quiet) as stages:
        probe = train_probe(rows, causal, seed=seed, facts=told, progress=stages.tell)
    with new_folder(output) as fresh:
        (fresh / PROBE.file).write_bytes(probe.to_bytes())
        (fresh / "README.md").write_bytes(card(probe, path=output.name).encode())
    made = {"digest": probe.digest, "language_model": probe.model, "layer": probe.layer}
    say(output, json, made | (dict(probe.facts) if json else {name: probe.facts[name] for name in _SHOWN}))


def read_judged_files(paths: list[str], strict: bool) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the judged tuples of the files, and for each file its name, digest and number of tuples.

    Raises:
        InputError: a file is missing, given twice, or has no judged tuple; with ``strict``, a line is not one.
    """
    from ....loaders import ItemError, read_judged_tuples
    from ....reasoning.metrics.accent.verbalise import VERBALISED

    rows: list[Any] = []
    files = []
    check_distinct(paths)
    for path in paths:
        faults, before = [], len(rows)
        for row in read_judged_tuples(readable(path), VERBALISED):
            if not isinstance(row, ItemError):
                rows.append(tuple(row))
            elif strict:
                raise InputError(f"{path}:{row.line}: {row.reason}")
            else:
                faults.append(f"line {row.line}: {row.reason}")
        tell_left_out(path, faults)
        if len(rows) == before:
            raise InputError(f"{path} holds no judged tuple" + (f"; the first fault: {faults[0]}" if faults else ""))
        files.append({"file": Path(path).name, "tuples": len(rows) - before, "sha256": sha256_of(path)})
    return rows, files
