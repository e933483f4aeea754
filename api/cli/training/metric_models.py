"""The trainings of metrics: ``commonsense``, ``grade``, ``coherence``, ``judgement``; and ``reference`` for percentiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .... import loaders
from ....graph.atomic import new_folder
from ....graph.errors import InputError
from ....graph.storage import file_sha256
from ...opening import Address, open_engine
from ...terminal.progress import Meter
from ...terminal.screen import print_json, show, table
from .. import options as opts
from ..options import argument, option
from ..settings import print_settings
from .data import read_choices, read_corpora, read_rated, read_unjudged
from .run import DialogueFiles, Encoder, Exclude, LanguageModel, Run, TrainingResult, training

if TYPE_CHECKING:
    from ....graph.protocol import KnowledgeGraph
    from ....reasoning.training.grade import Sources
    from ....reasoning.training.recipe import GradeRecipe


@training(
    "commonsense",
    holds=("regressor.safetensors", "a commonsense regressor"),
    nouns=lambda stage: {"features": "responses", "cross-validation": "rounds"}.get(
        stage, stage.replace("resampling", "resamples")
    ),
)
def commonsense(
    run: Run,
    judgements: Annotated[list[str], argument("JUDGEMENTS", "Rated responses, as tacit evaluate reads them.")],
    graph: opts.Graph = None,
    model: Annotated[str | None, option("ID|FOLDER", "A causal language model, for neural and all.")] = None,
) -> TrainingResult:
    """Train the regressor of the metric commonsense on rated responses; an interrupted run is continued.

    The reported agreement is on unseen responses; responses of one conversation stay together.
    """
    from ....reasoning.evaluation.correlation import formatted
    from ....reasoning.metrics.commonsense.features import open_features
    from ....reasoning.metrics.commonsense.regressor import FILE, from_bytes, to_bytes, variant_features
    from ....reasoning.training.card import commonsense_card, plan_in_words
    from ....reasoning.training.commonsense import check_ratings, train_commonsense

    recipe = run.recipe
    rated, files = read_rated(judgements, recipe.contrast, recipe.rating, recipe.seed, run.strict)
    check_ratings([judged.rating for judged in rated])
    facts = {
        "variant": recipe.variant, "contrast": recipe.contrast, "licence": recipe.licence, "data": files, "command": run.command,
    }  # fmt: skip
    print_settings(run.quiet)
    with _graph_for(recipe.variant, opts.address_of(graph), run.quiet) as opened:
        features = open_features(
            variant_features(recipe.variant), opened, pipeline=recipe.pipeline, count=recipe.count, language_model=model,
            device=run.device, cache_size=100_000,
        )  # fmt: skip
        trained = train_commonsense(rated, features, recipe, checkpoints=run.checkpoints, facts=facts, progress=run.stages.report)
    data = to_bytes(trained.model)
    final = replace(trained.model, digest=from_bytes(data, str(run.output)).digest)
    run.write({FILE: data, "README.md": commonsense_card(final, path=run.output.name)})
    trained_facts = {name: value for name, value in final.facts.items() if name != "scores"}
    rows = [(row.dataset, row.n, formatted(row.pearson) or "–", formatted(row.spearman) or "–", row.note) for row in trained.rows]
    return TrainingResult(
        {"digest": final.digest, "features": final.features, **trained_facts, "scores": [row.to_dict() for row in trained.rows]},
        [
            ("digest", final.digest), ("features", ", ".join(final.features)),
            ("learnt from", f"{len(trained.predictions):,} judgements of {trained.conversations:,} conversations"),
        ],
        [
            table(("data set", ">n", "Pearson", "Spearman", "remark"), rows),
            f"\nOn unseen responses: {plan_in_words(trained_facts['plan'])};\n"
            f"in brackets: 95% bootstrap intervals from {trained_facts['resamples']:,} resamples.\n",
        ],
    )  # fmt: skip


@contextmanager
def _graph_for(variant: str, address: Address | None, quiet: bool) -> Iterator[KnowledgeGraph | None]:
    """Open the graph; None where the variant does not use triples."""
    if variant == "neural":
        yield None
        return
    if address is None:
        raise InputError(f"the variant {variant} counts triples of a graph; name one with --graph")
    with open_engine(address, quiet=quiet) as graph:
        yield graph


@training(
    "grade",
    holds=("grade.json", "a GRADE checkpoint"),
    nouns={"encoding turns": "turns", "keywords": "turns", "false responses": "responses", "dialogue graphs": "pairs"},
)
def grade(
    run: Run,
    dialogues: Annotated[list[str], argument("DIALOGUES", "JSON lines, plain or gzip, as for tacit score.")],
    graph: opts.GraphRequired,
    exclude: Annotated[
        list[str] | None,
        option("FILE", "Judgements of an evaluation; dialogues that share their turns are left out. Repeatable.", "--exclude"),
    ] = None,
) -> TrainingResult:
    """Train the metric grade on dialogues, to score true responses higher than false ones.

    --recipe tuned fine-tunes an encoder that reads context and response together. An interrupted training is continued by the
    same command.
    """
    from ....reasoning.metrics.grade.checkpoint import save_checkpoint
    from ....reasoning.models.hub import need

    unjudged, files = read_unjudged(dialogues, exclude or (), run.strict)
    torch = need("torch", "neural")
    from ....reasoning.training.card import grade_card
    from ....reasoning.training.checkpoints import delete_checkpoints
    from ....reasoning.training.grade import train_grade

    device = run.device or ("cuda" if torch.cuda.is_available() else "cpu")
    facts = {"data": files, "licence": run.recipe.licence, "command": run.command}
    print_settings(run.quiet)
    with open_engine(opts.address_at(graph), quiet=run.quiet) as opened:
        trained = train_grade(
            unjudged, _sources(opened, run.recipe, device), run.recipe, run.checkpoints, run.stages.report,
            device=device, facts=facts,
        )  # fmt: skip
    checkpoint = trained.checkpoint
    digest = save_checkpoint(checkpoint, run.output, grade_card(checkpoint, path=run.output.name), trained.tokenizer)
    delete_checkpoints(run.output)
    names = ("loss", "dev_loss", "dev_wins_1", "dev_wins_2")
    rows = [(f"{row['step']:.0f}", *(f"{row[name]:.4f}" for name in names)) for row in trained.state.curve]
    trained_facts = checkpoint.facts
    return TrainingResult(
        {"digest": digest, **trained_facts},
        [("digest", digest), ("pairs", f"{trained_facts['pairs']:,}"), ("best after", f"step {trained_facts['best_step']:,}")],
        [table((">step", ">loss", ">loss on dev", ">beats 1st false", ">beats 2nd false"), rows)],
    )


def _sources(graph: KnowledgeGraph, recipe: GradeRecipe, device: str) -> Sources:
    """Open the inputs of the training of GRADE."""
    from ....reasoning.metrics.grade.concepts import EncodedVectors, TableVectors
    from ....reasoning.models.encoder import open_encoder
    from ....reasoning.text.language import open_analyser
    from ....reasoning.training.grade import Sources

    opened = open_encoder(recipe.encoder, device=device)
    table = TableVectors(loaders.open_vectors(Path(recipe.vectors)), graph) if recipe.vectors else EncodedVectors(opened, graph)
    return Sources(graph, open_analyser(recipe.pipeline), opened, _id(recipe.encoder) or "", table)


def _id(model: str | None) -> str | None:
    """Return the hub id of a model; None for the default one and for local files."""
    return model if model is not None and not Path(model).expanduser().exists() else None


@training(
    "coherence",
    holds=("coherence.json", "a coherence checkpoint"),
    nouns=lambda stage: {"counting": "terms", "encoding": "turns", "weighing the parts": "responses"}.get(
        stage.partition(" without ")[0], "steps"
    ),
)
def coherence(
    run: Run,
    dialogues: DialogueFiles,
    exclude: Exclude = None,
    encoder: Encoder = None,
) -> TrainingResult:
    """Train the metric coherence on dialogues, without ratings; an interrupted run is continued.

    Files whose names differ only in the split (talk-train, talk-dev) are one corpus; several corpora make it generalise better.
    """
    from ....reasoning.metrics.coherence.checkpoint import open_checkpoint
    from ....reasoning.models.encoder import open_encoder
    from ....reasoning.training.card import coherence_card
    from ....reasoning.training.checkpoints import delete_checkpoints
    from ....reasoning.training.coherence import train_coherence

    corpora, left_out, files = read_corpora(dialogues, exclude or (), run.strict)
    opened = open_encoder(encoder, device=run.device)
    facts = {"data": files, "left out": left_out, "licence": run.recipe.licence, "command": run.command}
    with new_folder(run.output) as fresh:
        train_coherence(
            corpora, opened, fresh, checkpoints=run.checkpoints,
            encoder_id=_id(encoder), recipe=run.recipe, facts=facts, progress=run.stages.report,
        )  # fmt: skip
        checkpoint = open_checkpoint(fresh)
        card = coherence_card(checkpoint.header, checkpoint.digest, path=run.output.name)
        (fresh / "README.md").write_text(card, encoding="utf-8")
    delete_checkpoints(run.output)
    trained_facts = checkpoint.header["facts"]
    return TrainingResult(
        {"digest": checkpoint.digest, **trained_facts},
        [
            ("digest", checkpoint.digest),
            *((f"dialogues of {name}", f"{len(dialogues):,}") for name, dialogues in corpora.items() if dialogues),
            ("associations", f"{trained_facts['edges']:,}"),
            *((f"{part} tells true from false", f"{area:.3f} of 1") for part, area in trained_facts["areas"].items()),
        ],
    )


@training(
    "judgement", holds=("judgement.safetensors", "a probe of judgement"), nouns={"reading": "responses", "fitting": "layers"}
)
def judgement(
    run: Run,
    dialogues: DialogueFiles,
    model: LanguageModel,
    weigh: Annotated[
        str | None,
        option(
            "FILE", "JSON lines with turns, options and answer, of another corpus: decides whether the model's own answer counts."
        ),
    ] = None,
    exclude: Exclude = None,
) -> TrainingResult:
    """Train a probe of a language model for the metric judgement, on true and false responses of dialogues, without ratings.

    A tenth of the dialogues is left out, the one that train coherence holds out with the same files and seed. An interrupted run
    continues when the command is run again.
    """
    corpora, left_out, files = read_corpora(dialogues, exclude or (), run.strict)
    other_corpus = read_choices(weigh) if weigh is not None else []
    from ....reasoning.training.card import judgement_card
    from ....reasoning.training.corpora import training_dialogues
    from ....reasoning.training.judgement import make_contrasts, train_judgement

    recipe = run.recipe
    causal = run.open_language_model(model, recipe.dtype)
    contrasts = make_contrasts(
        training_dialogues(corpora, recipe.seed), limit=recipe.histories, each=recipe.false, seed=recipe.seed
    )
    if weigh is not None:
        files.append({"file": Path(weigh).name, "dialogues": len(other_corpus), "sha256": file_sha256(Path(weigh))})
    facts = {
        "files": files, "left_out": left_out, "licence": recipe.licence, "recipe": asdict(recipe), "command": run.command,
    }  # fmt: skip
    probe = train_judgement(
        contrasts, causal, run.checkpoints, weigh=other_corpus, seed=recipe.seed, facts=facts, progress=run.stages.report
    )
    shown_facts = ("ordered", "interval", "yes_alone", "penalty", "histories", "pairs", "seed")
    return run.write_probe(probe, judgement_card, shown_facts, yes=round(probe.yes, 4))


@training("reference", holds=None, options="recipe seed strict")
def reference(
    run: Run,
    dialogues: DialogueFiles,
    metrics: opts.MetricsRequired,
    graph: opts.Graph = None,
    output: Annotated[
        Path | None, option("FOLDER", "Folder for the references.", "--output", "-o", default="where scoring finds them")
    ] = None,
    exclude: Exclude = None,
    option_values: opts.MetricOptions = None,
) -> None:
    """Make reference distributions, for percentiles with your graph, options or dialogues.

    Later scores of the same metric with the same options over the same graph have a percentile.
    """
    from ....reasoning.reference import own_folder, write_reference
    from ....reasoning.training.reference import draw, held_out_dialogues, make_reference

    recipe = run.recipe
    names = opts.metric_names(metrics)
    options = opts.metric_options(option_values, names, None)
    corpora, left_out, files = read_corpora(dialogues, exclude or (), run.strict)
    sample = draw(held_out_dialogues(corpora, recipe.seed) if recipe.held_out else corpora, recipe.responses, recipe.seed)
    rows: list[dict[str, Any]] = []
    print_settings(run.quiet)
    with opts.open_reasoner(names, options, opts.address_of(graph), "auto", quiet=run.quiet) as reasoner:
        for metric in reasoner.metrics:
            facts: dict[str, Any] = {
                "files": files, "licence": recipe.licence, "seed": recipe.seed, "held_out": recipe.held_out,
                "left_out": left_out, "recipe": asdict(recipe),
            }  # fmt: skip
            if reasoner.graph is not None and "graph" in dict(metric.signature.parts):
                loads = reasoner.graph.manifest().loads
                facts["graph"] = [{"loader": load.loader, "file": Path(load.file).name, "sha256": load.sha256} for load in loads]
            batch_size = recipe.batch_size or min(getattr(metric, "batch_size", 256), 256)
            total = len(sample.true) + len(sample.random)
            with Meter(metric.name, total, noun="responses", quiet=run.quiet) as meter:
                distribution = make_reference(metric, sample, "+".join(corpora), facts, batch_size=batch_size, progress=meter.add)
            path = write_reference(output or own_folder(), metric.name, distribution)
            rows.append({
                "metric": metric.name, "reference": distribution.label, **distribution.facts["responses"],
                "random_median": distribution.random_median, "above": distribution.above, "file": str(path),
            })  # fmt: skip
    if run.json:
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
