"""The command ``train reference``: reference distributions for percentiles, for a graph, options or dialogues of one's own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ...terminal.progress import Meter
from ..options import (
    Engine,
    GraphOption,
    Json,
    MetricsNeeded,
    OptionOption,
    Quiet,
    Strict,
    address_of,
    metric_names,
    metric_options,
    open_reasoner,
)
from ..settings import tell_settings
from .data import DialogueFiles, Exclude, RecipeFile, RecipeSeed, read_corpora


def reference(
    dialogues: DialogueFiles,
    metrics: MetricsNeeded,
    graph: GraphOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", show_default="where scoring finds them", help="Folder for the references."
        ),
    ] = None,
    recipe: RecipeFile = None,
    exclude: Exclude = None,
    option: OptionOption = None,
    seed: RecipeSeed = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make reference distributions, for percentiles with your graph, options or dialogues.

    Later scores of the same metric with the same options over the same graph have a percentile.
    """
    from ....reasoning.reference import own_folder, write_reference
    from ....reasoning.training.recipe import ReferenceRecipe, open_recipe
    from ....reasoning.training.reference import draw, make_reference, unlearnt
    from ...terminal.screen import print_json, show, table

    settings: ReferenceRecipe = open_recipe("reference", recipe, seed=seed)
    names = metric_names(metrics)
    options = metric_options(option, names, None)
    corpora, left, files = read_corpora(dialogues, exclude or (), strict)
    drawn = draw(unlearnt(corpora, settings.seed) if settings.held_out else corpora, settings.responses, settings.seed)
    corpus = "+".join(corpora)
    rows: list[dict[str, Any]] = []
    tell_settings(quiet)
    with open_reasoner(names, options, address_of(graph), Engine.AUTO, quiet=quiet) as reasoner:
        for metric in reasoner.metrics:
            facts: dict[str, Any] = {
                "files": files, "licence": settings.licence, "seed": settings.seed, "held_out": settings.held_out,
                "left_out": left,
                "recipe": asdict(settings),
            }  # fmt: skip
            if reasoner.graph is not None and "graph" in dict(metric.signature.parts):
                loads = reasoner.graph.manifest().loads
                facts["graph"] = [{"loader": one.loader, "file": Path(one.file).name, "sha256": one.sha256} for one in loads]
            together = settings.batch_size or min(getattr(metric, "together", 256), 256)
            total = len(drawn.true) + len(drawn.random)
            with Meter(metric.name, total, unit="responses", noun="responses", quiet=quiet) as meter:
                made = make_reference(metric, drawn, corpus, facts, batch_size=together, progress=meter.add)
            path = write_reference(output or own_folder(), metric.name, made)
            rows.append(
                {
                    "metric": metric.name,
                    "reference": made.label,
                    **made.facts["responses"],
                    "random_median": made.random_median,
                    "above": made.above,
                    "file": str(path),
                }
            )
    if json:
        print_json(rows)
        return
    columns = (
        "metric",
        "reference",
        ">true",
        ">random",
        ">percentile of the median random response",
        ">true above random",
        "file",
    )
    show(table(columns, [tuple(row.values()) for row in rows]))
