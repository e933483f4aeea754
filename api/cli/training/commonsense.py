"""The command ``train commonsense``: a regressor from judged responses, or from dialogues without ratings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import Address, open_engine
from ...terminal.progress import Stages
from ..options import Engine, EngineOption, GraphOption, Json, Pipeline, Quiet, Strict, address_of
from .data import Device, Licence, Seed, check_place, collect, name_of, write_model

if TYPE_CHECKING:
    from ....graph.protocol import KnowledgeGraph
    from ....reasoning.metrics.commonsense.regressor import Regressor
    from ....reasoning.training.commonsense import Trained


class Variant(Enum):
    """The features of the model."""

    SYMBOLIC = "symbolic"
    NEURAL = "neural"
    ALL = "all"


class Counted(Enum):
    """The count between history and response."""

    PAIRS = "pairs"
    TRIPLES = "triples"


class DecoRating(Enum):
    """The rating of DECO that is used."""

    EVENT = "event_cs"
    GENERAL = "general_cs"


def commonsense(
    judgements: Annotated[
        list[str],
        typer.Argument(metavar="JUDGEMENTS...", show_default=False, help="Rated responses, as tacit evaluate reads them."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER|FILE",
            show_default=False,
            help="Folder, or .safetensors file, for the model and its card.",
        ),
    ],
    graph: GraphOption = None,
    variant: Annotated[
        Variant, typer.Option(help="Features: triples and length, a language model's losses, or all.")
    ] = Variant.SYMBOLIC,
    count: Annotated[Counted, typer.Option(help="Count pairs of connected concepts, or distinct triples.")] = Counted.PAIRS,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ID|FOLDER", show_default=False, help="A causal language model, for neural and all."),
    ] = None,
    contrast: Annotated[
        bool, typer.Option("--contrast", help="Train on dialogues without ratings: own responses (1) against random ones (0).")
    ] = False,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Folds of the cross-validation.")] = 10,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="0.8/0.1/0.1", show_default=False, help="Random splits in place of folds: train, early stopping, test."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", min=1, help="Number of random splits.")] = 10,
    rating: Annotated[DecoRating, typer.Option(help="The rating of DECO to use.")] = DecoRating.EVENT,
    members: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Number of networks that are averaged.")] = 5,
    seed: Seed = 0,
    resamples: Annotated[int, typer.Option(metavar="N", min=1, help="Bootstrap resamples for the 95% intervals.")] = 10_000,
    licence: Licence = None,
    pipeline: Pipeline = None,
    device: Device = None,
    engine: EngineOption = Engine.AUTO,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the regressor of the metric commonsense on rated responses.

    The reported agreement is on unseen responses; responses of one conversation stay together.
    """
    from ....reasoning.metrics.commonsense.features import open_features
    from ....reasoning.metrics.commonsense.regressor import variant_features
    from ....reasoning.training.commonsense import Plan, Recipe, check_ratings, train_commonsense

    check_place(output, judgements)
    plan = Plan(None if split else folds, _shares(split), rounds)
    recipe = Recipe(members=members)
    rated, data = collect(judgements, contrast, rating.value, seed, strict)
    import numpy as np

    check_ratings(np.array([one.rating for one in rated]))
    names = variant_features(variant.value)
    options: dict[str, tuple[Any, Any]] = {
        "variant": (variant.value, "symbolic"), "count": (count.value, "pairs"), "model": (model and name_of(model), None),
        "contrast": (contrast, False), "folds": (folds, 10), "split": (split, None), "rounds": (rounds, 10),
        "rating": (rating.value, "event_cs"), "members": (members, 5), "seed": (seed, 0),
        "pipeline": (pipeline and name_of(pipeline), None),
        "licence": (licence, None),
    }  # fmt: skip
    changed = {name: value for name, (value, default) in options.items() if value != default}
    facts: dict[str, Any] = {
        "variant": variant.value, "contrast": contrast, "licence": licence, "data": data,
        "command": _command(judgements, changed),
    }  # fmt: skip
    address = address_of(graph)
    with _open_graph(address, engine, variant, quiet) as opened, Stages(_noun, quiet=quiet) as stages:
        features = open_features(
            names, opened, pipeline=pipeline, count=count.value, language_model=model, device=device, cache_size=100_000
        )
        trained = train_commonsense(
            rated, features, plan=plan, recipe=recipe, seed=seed, resamples=resamples, facts=facts, progress=stages.tell
        )  # fmt: skip
    final, card = write_model(output, trained.model)
    _report(final, trained, output, card, json)


def _noun(stage: str) -> str:
    """What is counted in a stage of the training."""
    return {"features": "responses", "cross-validation": "rounds"}.get(stage, stage.replace("resampling", "resamples"))


def _report(model: Regressor, trained: Trained, output: Path, card: Path, json: bool) -> None:
    """Show the trained model and its agreement with ratings."""
    from ...terminal.screen import facts, print_json, show, table

    if json:
        said = {name: value for name, value in model.facts.items() if name != "scores"}
        rows = [row.to_dict() for row in trained.rows]
        print_json(
            {"output": str(output), "card": str(card), "digest": model.digest, "features": model.features, **said, "scores": rows}
        )
        return
    from ....reasoning.evaluation.correlation import spelt
    from ....reasoning.training.card import plan_in_words

    show(table(
        ("data set", ">n", "Pearson", "Spearman", "remark"),
        [(row.dataset, row.n, spelt(row.pearson) or "–", spelt(row.spearman) or "–", row.note) for row in trained.rows],
    ))  # fmt: skip
    print(f"\nOn unseen responses: {plan_in_words(model.facts['plan'])};")
    print(f"in brackets: 95% bootstrap intervals from {model.facts['resamples']:,} resamples.\n")
    show(facts([
        ("model", str(output)), ("card", str(card)), ("digest", model.digest), ("features", ", ".join(model.features)),
        ("learnt from", f"{len(trained.predictions):,} judgements of {trained.conversations:,} conversations"),
    ]))  # fmt: skip


@contextmanager
def _open_graph(address: Address | None, engine: Engine, variant: Variant, quiet: bool) -> Iterator[KnowledgeGraph | None]:
    """Open the graph; None where the variant does not use triples.

    Raises:
        InputError: it uses triples, and no graph is given.
    """
    if variant is Variant.NEURAL:
        yield None
        return
    if address is None:
        raise InputError(f"the variant {variant.value} counts triples of a graph; name one with --graph")
    with open_engine(address, engine, quiet=quiet) as graph:
        yield graph


def _shares(split: str | None) -> tuple[float, float, float]:
    """Return the three shares of ``A/B/C``."""
    if split is None:
        return (0.8, 0.1, 0.1)
    try:
        train, stop, test = (float(part) for part in split.split("/"))
    except ValueError:
        raise InputError(f"--split {split} is not three numbers such as 0.8/0.1/0.1") from None
    if min(train, stop, test) <= 0 or abs(train + stop + test - 1) > 1e-6:
        raise InputError(f"the parts of --split {split} are not all above 0 with a sum of 1; give e.g. 0.8/0.1/0.1")
    return train, stop, test


def _command(files: Sequence[str], changed: dict[str, Any]) -> str:
    """Return the command line for the card, with options that differ from their defaults, and files without folders."""
    words = ["tacit", "train", "commonsense", *(Path(file).name for file in files), "--graph", "GRAPH", "--output", "FOLDER"]
    for name, value in changed.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return shlex.join(words)
