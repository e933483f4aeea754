"""The command ``train commonsense``: a regressor from judged responses, or from dialogues without ratings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import Address, open_engine
from ...terminal.progress import Stages
from ..options import Engine, GraphOption, Json, Quiet, Strict, address_of
from ..settings import tell_settings
from .data import Device, RecipeFile, RecipeSeed, as_typed, check_place, collect, write_model

if TYPE_CHECKING:
    from ....graph.protocol import KnowledgeGraph
    from ....reasoning.metrics.commonsense.regressor import Regressor
    from ....reasoning.training.commonsense import Trained


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
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ID|FOLDER", show_default=False, help="A causal language model, for neural and all."),
    ] = None,
    recipe: RecipeFile = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the regressor of the metric commonsense on rated responses.

    The reported agreement is on unseen responses; responses of one conversation stay together.
    """
    from ....reasoning.metrics.commonsense.features import open_features
    from ....reasoning.metrics.commonsense.regressor import variant_features
    from ....reasoning.training.recipe import CommonsenseRecipe, open_recipe

    settings: CommonsenseRecipe = open_recipe("commonsense", recipe, seed=seed)
    check_place(output, judgements)
    from ....reasoning.training.commonsense import check_ratings, train_commonsense

    rated, data = collect(judgements, settings.contrast, settings.rating, settings.seed, strict)
    import numpy as np

    check_ratings(np.array([one.rating for one in rated]))
    names = variant_features(settings.variant)
    facts: dict[str, Any] = {
        "variant": settings.variant, "contrast": settings.contrast, "licence": settings.licence, "data": data,
        "command": as_typed("commonsense", [*judgements, "-o", str(output)], output),
    }  # fmt: skip
    address = address_of(graph)
    tell_settings(quiet)
    with _open_graph(address, settings.variant, quiet) as opened, Stages(_noun, quiet=quiet) as stages:
        features = open_features(
            names,
            opened,
            pipeline=settings.pipeline,
            count=settings.count,
            language_model=model,
            device=device,
            cache_size=100_000,
        )
        trained = train_commonsense(rated, features, settings, facts=facts, progress=stages.tell)
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
def _open_graph(address: Address | None, variant: str, quiet: bool) -> Iterator[KnowledgeGraph | None]:
    """Open the graph; None where the variant does not use triples.

    Raises:
        InputError: it uses triples, and no graph is given.
    """
    if variant == "neural":
        yield None
        return
    if address is None:
        raise InputError(f"the variant {variant} counts triples of a graph; name one with --graph")
    with open_engine(address, Engine.AUTO, quiet=quiet) as graph:
        yield graph
