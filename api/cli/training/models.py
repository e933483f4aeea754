"""The trainings of models: the English pipeline, extractor and tuple scorers of ACCENT, and models fine-tuned on dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .... import loaders
from ....graph.errors import InputError
from ...opening import open_store
from ...terminal.progress import Stages
from .. import options as opts
from ..event_tuples import scorer_stages
from ..options import argument, option
from ..settings import print_settings
from .data import read_corpora, read_files, read_judged_tuples, read_rated
from .run import DialogueFiles, Encoder, Exclude, LanguageModel, Licence, Model, Run, Seed, TrainingResult, name_of, training

if TYPE_CHECKING:
    from ....loaders.tuples import TupleRow
    from ....reasoning.metrics.accent.scorers.resources import ScorerResources


@training("pipeline", holds=None, options="output")
def pipeline(
    run: Run,
    treebank: Annotated[Path, argument("TREEBANK_DIR", "Folder with *-train, *-dev and *-test.conllu, plain or gzip.")],
    seed: Seed = 0,
    max_steps: Annotated[int, option("N", "Number of batches.", min=1)] = 4000,
) -> TrainingResult:
    """Train the small English spaCy pipeline (tags, lemmas, dependencies) on a UD treebank."""
    train_file, dev_file, test_file = (_split(treebank, name) for name in ("train", "dev", "test"))
    from ....reasoning.training.pipeline import train_pipeline

    with run.steps(max_steps) as progress:
        evaluation = train_pipeline(
            train_file, dev_file, test_file, run.output, seed=seed, max_steps=max_steps, progress=progress
        )
    scores = [(f"{name} on the test split", value) for name, value in evaluation.summary().items()]
    return TrainingResult({"test": asdict(evaluation)}, scores)


def _split(treebank: Path, name: str) -> Path:
    """Return the file of the split ``name`` in a treebank's folder."""
    if not treebank.is_dir():
        raise InputError(f"there is no folder {treebank}")
    files = sorted(path for pattern in ("conllu", "conllu.gz") for path in treebank.glob(f"*-{name}.{pattern}"))
    if not files:
        raise InputError(f"{treebank} holds no *-{name}.conllu or *-{name}.conllu.gz; give a treebank's folder")
    if len(files) > 1:
        raise InputError(f"{treebank} holds {len(files)} files *-{name}.conllu; leave one treebank in it")
    return files[0]


@training("accent", holds=None, options="output recipe epochs seed device")
def accent(
    run: Run,
    files: Annotated[list[str], argument("DECO_JSON", "Responses with annotated event tuples, plain or gzip.")],
    model: Model,
) -> TrainingResult:
    """Train the extractor t5 of the metric accent: fine-tune a sequence-to-sequence model on annotated event tuples."""
    from ....reasoning.training.accent import train_extractor

    tuples: list[int] = []

    def read(file: str) -> list[TupleRow]:
        rows_read = loaders.read_event_tuples(file)
        tuples.append(sum(len(row.tuples) for row in rows_read))
        return rows_read

    rows, data = read_files(files, read, "dialogues", "an event tuple")
    data = [{**row, "tuples": number} for row, number in zip(data, tuples, strict=True)]
    with run.steps() as progress:
        trained = train_extractor(
            rows,
            model,
            run.output,
            run.recipe,
            device=run.device,
            facts={"files": data, "command": run.command},
            progress=progress,
        )
    return TrainingResult(
        asdict(trained),
        [
            ("fine-tuned from", trained.model), ("examples", f"{trained.tuples} tuples, {trained.none_examples} None"),
            ("loss, last pass", trained.loss), ("digest", trained.digest),
        ],
    )  # fmt: skip


# Tuple scorers, trained on the events of a graph or on judged tuples.


@training("retriever", holds=("retriever.safetensors", "a tail retriever"), options="output recipe steps seed")
def retriever(run: Run, graph: opts.GraphArgument, encoder: Encoder = None) -> TrainingResult:
    """Train the compact retrieval model, which scores tails of heads that are not in the graph."""
    from ....reasoning.metrics.accent.events import RELATIONS
    from ....reasoning.metrics.accent.scorers.retrieval_model import FILE, to_bytes
    from ....reasoning.models.encoder import DEFAULT_ENCODER
    from ....reasoning.training.card import licence_text, retriever_card
    from ....reasoning.training.retriever import train_retriever

    with _resources(graph, run.quiet, encoder) as (resources, stages):
        triples = resources.table.triples(RELATIONS)
        stages.end()

        def vectors(texts: Any) -> Any:
            resources.vectors.add(texts, lambda number: stages.count("embedding", number))
            stages.end()
            return resources.vectors.known(texts)

        name = (name_of(encoder) if encoder else DEFAULT_ENCODER, resources.encoder.signature)
        facts = {"graph": resources.table.digest, "sources": resources.table.sources}
        with run.steps(run.recipe.steps) as progress:
            model = train_retriever(
                triples, RELATIONS, vectors, run.recipe, encoder=name, facts=facts, checkpoints=run.checkpoints,
                progress=progress,
            )  # fmt: skip
    data = to_bytes(model)
    run.write({"README.md": retriever_card(model, len(data)), "LICENSE": licence_text("retriever"), FILE: data})
    return TrainingResult({"digest": model.digest, "bytes": len(data), **model.facts})


@training("comet", options="output recipe passes precision seed device")
def comet(run: Run, graph: opts.GraphArgument, model: Model) -> TrainingResult:
    """Train a COMET, which generates tails of events, on a graph's assertions; an interrupted run is continued.

    The initial model is a sequence-to-sequence or a causal one; a causal one may be a GGUF file.
    """
    from ....reasoning.training.comet import train_comet

    return _train_on_triples(run, train_comet, graph, model)


@training("kg-bert", options="output recipe passes seed device")
def kg_bert(run: Run, graph: opts.GraphArgument, model: Model) -> TrainingResult:
    """Train a KG-BERT, which classifies triples as true or corrupted, on a graph's assertions; interrupted runs are continued."""
    from ....reasoning.training.comet import train_kgbert

    return _train_on_triples(run, train_kgbert, graph, model)


def _train_on_triples(run: Run, train: Any, graph: str, model: str) -> TrainingResult:
    """Train a model of transformers on the triples of a graph's events."""
    with _resources(graph, run.quiet, None) as (resources, stages):
        triples = resources.table.triples(resources.table.relations)
        digest = resources.table.digest
        stages.end()
    with run.steps() as progress:
        trained = train(triples, model, run.output, run.recipe, graph=digest, device=run.device, progress=progress)
    return TrainingResult({"graph": digest, **trained})


@contextmanager
def _resources(graph: str, quiet: bool, encoder: str | None) -> Iterator[tuple[ScorerResources, Stages]]:
    """Open the resources of tuple scorers over a graph, and a progress display."""
    from ....reasoning.metrics.accent.scorers.resources import ScorerResources

    print_settings(quiet)
    with open_store(opts.address_at(graph)) as store, scorer_stages(quiet) as stages:
        yield ScorerResources(store, encoder=encoder, progress=stages.count), stages


@training(
    "llm-probe",
    holds=("probe.safetensors", "a probe"),
    options="output device strict",
    nouns={"reading": "tuples", "fitting": "layers"},
)
def llm_probe(
    run: Run,
    judged: Annotated[
        list[str], argument("JUDGED", "CSV or JSON lines with head, relation, tail and label (1, 0); plain or gzip.")
    ],
    model: LanguageModel,
    dtype: Annotated[opts.Dtype, typer.Option(help="Precision of the model.")] = "float32",
    seed: Seed = 0,
    licence: Licence = None,
) -> TrainingResult:
    """Train a linear probe of a language model's hidden states, which predicts whether an event tuple is plausible.

    Its agreement with the labels is measured on held-out heads. An interrupted run continues when the command is run again.
    """
    rows, files = read_judged_tuples(judged, run.strict)
    from ....reasoning.training.card import probe_card
    from ....reasoning.training.llm_probe import train_probe

    causal = run.open_language_model(model, dtype)
    facts = {"files": files, "licence": licence, "command": run.command}
    probe = train_probe(rows, causal, run.checkpoints, seed=seed, facts=facts, progress=run.stages.report)
    shown_facts = ("penalty", "auc", "interval", "tuples", "heads", "plausible", "left_out", "seed")
    return run.write_probe(probe, probe_card, shown_facts)


@training("cross-encoder")
def cross_encoder(
    run: Run,
    ratings: Annotated[list[str], argument("RATINGS", "Rated responses, as tacit evaluate reads them.")],
    model: Model,
    tuples: Annotated[
        bool, typer.Option("--tuples", help="RATINGS are event tuples: head, relation, tail and label (1, 0); for score-tuples.")
    ] = False,
) -> TrainingResult:
    """Fine-tune an encoder to predict people's ratings of responses; an interrupted run is continued.

    The reported agreement is on conversations left out of the training. Use it with
    tacit score FILE --metrics cross-encoder -O cross-encoder.model=FOLDER.
    """
    from ....reasoning.evaluation.agreement import conversations
    from ....reasoning.metrics.accent.scorers.kgbert import pair_of
    from ....reasoning.metrics.baselines.cross_encoder import texts_of
    from ....reasoning.training.cross_encoder import Example, train_cross_encoder

    if tuples:
        judged, data = read_judged_tuples(ratings, run.strict)
        examples = [Example(*pair_of(row[:3]), float(row[3]), "tuples", row[0]) for row in judged]
        use = "here of an event tuple: `tacit score-tuples FILE --scorer cross-encoder -O accent.model=FOLDER`"
    else:
        rated, data = read_rated(ratings, False, run.recipe.rating, run.recipe.seed, run.strict)
        groups = conversations([(judgement.history, judgement.response) for judgement in rated], share_openings=True)
        examples = [
            Example(*texts_of(judgement.history, judgement.response), judgement.rating, judgement.dataset, str(group))
            for judgement, group in zip(rated, groups, strict=True)
        ]
        use = "here of a response after its history: `tacit score FILE --metrics cross-encoder -O cross-encoder.model=FOLDER`"
    number = "tuples" if tuples else "judgements"
    files = [{"file": row["file"], "number": row[number], "sha256": row["sha256"]} for row in data]
    with run.steps() as progress:
        return TrainingResult(
            train_cross_encoder(
                examples, model, run.output, run.recipe, device=run.device,
                facts={"files": files, "command": run.command, "use": use}, progress=progress,
            )
        )  # fmt: skip


@training(
    "responder", options="output recipe steps seed device strict", nouns=lambda stage: "steps" if stage == "training" else "turns"
)
def responder(
    run: Run,
    dialogues: DialogueFiles,
    model: Annotated[str, option("ID|FOLDER|FILE.gguf", "The initial causal language model.")],
    exclude: Exclude = None,
) -> TrainingResult:
    """Fine-tune a causal language model to respond in dialogues; an interrupted run is continued.

    The losses are language modelling of true responses, and choosing them among turns of other dialogues (Wolf et al., 2019).
    tacit respond and tacit perplexity use the model.
    """
    from ....reasoning.training.responder import train_responder

    corpora, left_out, files = read_corpora(dialogues, exclude or (), run.strict)
    facts = {"command": run.command}
    trained = train_responder(corpora, model, run.output, run.recipe, device=run.device, facts=facts, progress=run.stages.report)
    return TrainingResult({"data": files, "left out": left_out, **trained}, list(trained.items()))
