"""The command ``train llm-probe``: what tells plausible tuples from others within a language model, from judged tuples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import readable
from ...terminal.options import Dtype, Json, Quiet, Strict
from ...terminal.progress import Stages, waiting
from .data import check_distinct, sha256_of, tell_left_out
from .output import say
from .scorers import Device, Output, Seed
from .typed import as_typed

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
    dtype: Annotated[Dtype, typer.Option(help="Numbers that the model works with.")] = Dtype.FLOAT32,
    device: Device = None,
    seed: Seed = 0,
    licence: Annotated[str | None, typer.Option(metavar="TEXT", show_default=False, help="Of the data, for the card.")] = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a probe, which reads from within a language model whether people call an event tuple plausible.

    Its agreement with them is measured on heads that it did not learn from.
    """
    from ....reasoning.accent.scorers.probe import FILE, to_bytes
    from ....reasoning.modelfile import check_folder, new_folder

    check_folder(output, FILE, "a probe")
    rows, files = _read(judged, strict)
    from ....reasoning.likelihood import open_causal
    from ....reasoning.training.card import probe_card as card
    from ....reasoning.training.probe import train_probe

    with waiting("opening the model", quiet=quiet):
        causal = open_causal(model, device=device, dtype=dtype.value)
    otherwise = [*judged, "--model", model, "--output", str(output)]
    told = {"files": files, "licence": licence, "command": as_typed("llm-probe", otherwise, output)}
    with Stages(lambda stage: _NOUNS[stage], quiet=quiet) as stages:
        probe = train_probe(rows, causal, seed=seed, facts=told, progress=stages.tell)
    with new_folder(output) as fresh:
        (fresh / FILE).write_bytes(to_bytes(probe))
        (fresh / "README.md").write_bytes(card(probe, path=output.name).encode())
    made = {"digest": probe.digest, "language_model": probe.model, "layer": probe.layer}
    say(output, json, made | (dict(probe.facts) if json else {name: probe.facts[name] for name in _SHOWN}))


def _read(paths: list[str], strict: bool) -> tuple[list[Any], list[dict[str, Any]]]:
    """The judged tuples of the files, and for each file its name, its digest and how many it gave.

    Raises:
        InputError: there is no such file, one is named twice, or one holds no judged tuple; under ``strict``, a line holds none.
    """
    from ....loaders import JudgedTupleError, read_judged_tuples
    from ....reasoning.accent.readings import READ

    rows: list[Any] = []
    files = []
    check_distinct(paths)
    for path in paths:
        faults, before = [], len(rows)
        for row in read_judged_tuples(readable(path), READ):
            if not isinstance(row, JudgedTupleError):
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
