"""The commands ``respond`` (responses of a language model, ranked by metrics), ``perplexity`` (how well it predicts turns) and
``prompts`` (contexts to write dialogues about).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import loaders, reasoning
from ...graph.errors import InputError
from ...graph.model import Assertion
from ...graph.schema import dump
from ..opening import check_files
from ..terminal.faults import Records, read_all
from ..terminal.output import lines_to
from ..terminal.progress import Meter
from ..terminal.screen import facts, json_text, note, print_json, show
from . import options as opts
from .options import argument, option
from .settings import print_settings
from .training.run import Device

if TYPE_CHECKING:
    from ...reasoning.response import Reranked, Responder


_BATCH = 64  # histories
_SHOWN = 8  # edges in the text form

Model = Annotated[str, option("ID|FOLDER|FILE.gguf", "A model of tacit train responder, or a causal one.", "--model")]


def respond(
    file: opts.RecordFile,
    model: Model,
    samples: Annotated[
        int | None, option("N", "Number of responses per history.", "--samples", "-k", default="1, with --metrics 8", min=1)
    ] = None,
    p: Annotated[float, option("P", "Threshold of nucleus sampling, > 0 and <= 1.", "--top-p")] = 0.9,
    tokens: Annotated[int, option("N", "Maximum number of tokens of a response.", min=1)] = 40,
    seed: Annotated[int, option("N", "Random seed; the same seed gives the same responses.", min=0)] = 0,
    batch_size: Annotated[int, option("N", "Responses per batch; affects speed only.", min=1)] = 16,
    rerank: Annotated[
        list[str] | None, opts.metrics_option("Choose among the samples by these metrics, with the edges.", "--rerank")
    ] = None,
    graph: opts.Graph = None,
    option_values: opts.MetricOptions = None,
    output: opts.Output = None,
    engine: opts.EngineChoice = "auto",
    device: Device = None,
    strict: opts.Strict = False,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each history.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Respond to each history of FILE with samples of a language model; with --metrics, the best of them by these metrics.

    A record has "history", or "turns" or "messages", after the last of which comes the response. The output has "history" and
    "response", so that tacit score reads it, and all "responses". One seed, model and history give the same samples, whatever
    else is in FILE.
    """
    check_files(file, output)
    names = None if rerank is None else opts.metric_names(rerank)
    options = opts.metric_options(option_values, names or (), None)
    from ...reasoning.response import open_responder

    count = samples if samples is not None else 1 if names is None else 8
    records = Records(loaders.read_histories(file, strict=strict), file, "a history")
    opened = (
        nullcontext(None) if names is None else opts.open_reasoner(names, options, opts.address_of(graph), engine, quiet=quiet)
    )
    print_settings(quiet)
    with opened as reasoner:
        responder = open_responder(model, p=p, max_tokens=tokens, seed=seed, batch_size=batch_size, device=device)
        meter = Meter("responding", None, noun="responses", quiet=quiet or output is None)
        with lines_to(output, apart_from=file) as write, meter:
            for row, texts, ranked in _responses(iter(records), responder, count, reasoner):
                meter.add(count)
                write(_json(row, texts, ranked, responder, reasoner) if json or output is not None else _text(row, texts, ranked))
    records.report()
    if not quiet and not json:
        note(f"signature {responder.signature}")


def _responses(
    rows: Iterator[loaders.History], responder: Responder, samples: int, reasoner: reasoning.Reasoner | None
) -> Iterator[tuple[loaders.History, tuple[str, ...], Reranked | None]]:
    from ...reasoning.response import rerank

    while batch := list(islice(rows, _BATCH)):
        sampled = responder.respond([row.turns for row in batch], samples)
        if reasoner is None:
            yield from ((row, texts, None) for row, texts in zip(batch, sampled, strict=True))
        else:
            pairs = list(zip(batch, sampled, strict=True))
            ranked = rerank(reasoner, ((row.turns, texts) for row, texts in pairs))
            yield from ((row, texts, best) for (row, texts), best in zip(pairs, ranked, strict=True))


def _json(
    row: loaders.History,
    texts: tuple[str, ...],
    ranked: Reranked | None,
    responder: Responder,
    reasoner: reasoning.Reasoner | None,
) -> str:
    best = texts[0] if ranked is None else ranked.best.text
    output: dict[str, Any] = {"id": row.id, "history": row.turns, "response": best}
    if row.references:
        output["references"] = row.references
    output |= {"responses": texts, "signature": str(responder.signature)}
    if ranked is not None and reasoner is not None:
        output["ranking"] = [
            {"number": candidate.number, "rank": candidate.rank, "scores": candidate.values} for candidate in ranked.candidates
        ]
        output["edges"] = [dump(edge) for edge in ranked.edges]
        output["metrics"] = reasoner.signatures
    return json_text(output) + "\n"


def _text(row: loaders.History, texts: tuple[str, ...], ranked: Reranked | None) -> str:
    lines = [f"{row.id}: {row.turns[-1]}"]
    if ranked is None:
        return "\n".join([*lines, *(f"  {text}" for text in texts)]) + "\n"
    for rank, candidate in enumerate(ranked.candidates):
        values = ", ".join(f"{name} {'–' if value is None else f'{value:.3f}'}" for name, value in candidate.values.items())
        lines.append(f"{'*' if rank == 0 else ' '} {candidate.text} ({values})")
        if rank == 0:
            lines += [f"      {_edge(edge)}" for edge in ranked.edges[:_SHOWN]] or ["      no edge"]
    return "\n".join(lines) + "\n"


def _edge(edge: Assertion) -> str:
    return f"{edge.head_text} -{edge.relation}-> {edge.tail_text}"


def perplexity(
    file: opts.RecordFile,
    model: Model,
    output: opts.Output = None,
    device: Device = None,
    strict: opts.Strict = False,
    json: opts.Json = False,
    quiet: opts.Quiet = False,
) -> None:
    """Measure how well a language model predicts the responses of FILE after their histories.

    The perplexity is over all tokens of the responses, the end of each included; its interval is by a bootstrap over dialogues.
    With --output, each response is written with its perplexity.
    """
    check_files(file, output)
    from ...reasoning.models.causal_lm import open_causal
    from ...reasoning.response.responder import Turn, measure

    opened = open_causal(model, device=device)
    items = read_all(loaders.read_items(file, strict=strict), file, "a response")
    with Meter("reading", len(items), noun="responses", quiet=quiet) as meter:
        measured = measure(
            opened, [Turn(item.history, item.response) for item in items], lambda done: meter.advance_to(done, len(items))
        )
    low, high = measured.interval([str(item.id).rpartition("/")[0] or item.id for item in items])
    if output is not None:
        with lines_to(output, apart_from=file) as write:
            for item, nats, number in zip(items, measured.nats.tolist(), measured.tokens.tolist(), strict=True):
                nats_per_token = nats / number if number else None
                write(json_text({"id": item.id, "nats_per_token": nats_per_token, "tokens": number}) + "\n")
    row = {
        "perplexity": measured.value, "low": low, "high": high, "responses": len(items), "tokens": int(measured.tokens.sum()),
        "model": opened.signature,
    }  # fmt: skip
    if json:
        print_json(row)
        return
    show(facts([
        ("perplexity", f"{measured.value:.2f}"), ("95% interval", f"{low:.2f} to {high:.2f}"), ("responses", f"{len(items):,}"),
        ("tokens", f"{row['tokens']:,}"), ("model", opened.signature),
    ]))  # fmt: skip


def prompts(
    file: Annotated[str, argument("FILE", "Records with a context: JSON, CSV, Parquet, gzip; - reads stdin.")],
    names: Annotated[Path | None, option("FILE", "First names to look for, one per line.", default="those of SocialIQA")] = None,
    output: opts.Output = None,
    strict: opts.Strict = False,
    json: opts.JsonReport = False,
    quiet: opts.Quiet = False,
) -> None:
    """Choose contexts to write dialogues about, as those of SocialIQA were chosen (Zhou et al., SIGDIAL 2021).

    A context is kept once, when it has more than 15 words or an inner comma or full stop, and a person's name. The report says
    how many are left out for each reason.
    """
    opts.check_report(json, output)
    check_files(file, output)
    from ...reasoning.response.prompts import NAMES, Left, PromptFilter

    prompt_filter = PromptFilter(NAMES if names is None else _names(names))
    records = Records(loaders.read_contexts(file, strict=strict), file, "a context")
    counts: Counter[Left | None] = Counter()
    with lines_to(output, apart_from=file) as write:
        for row in records:
            prompt = prompt_filter.judge(row.text)
            counts[prompt.left] += 1
            if prompt.left is None:
                write(json_text({"id": row.id, "prompt": prompt.text, "names": prompt.names}) + "\n")
    records.report()
    if json:
        left_out = {reason.value: counts[reason] for reason in Left}
        print_json({"read": records.read, "kept": counts[None], "left_out": left_out, "errors": records.faults.number})
    elif not quiet:
        sys.stdout.flush()
        rows = [("read", f"{records.read:,}"), ("kept", f"{counts[None]:,}")]
        show(facts([*rows, *((f"left out: {reason.value}", f"{counts[reason]:,}") for reason in Left)]), sys.stderr)


def _names(path: Path) -> frozenset[str]:
    """Return the names in a file."""
    try:
        names = frozenset(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the names in {path} cannot be read; give a UTF-8 text file with one name per line") from error
    if not names:
        raise InputError(f"{path} has no names; give a file with one name per line")
    return names
