"""The command ``prompts``: chooses the contexts about which dialogues can be written."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ... import loaders
from ...graph.errors import InputError
from ..opening import check_files
from ..terminal.faults import Records
from ..terminal.output import lines_to
from ..terminal.screen import facts, json_text, print_json, show
from . import options as opts
from .options import argument, option


def prompts(
    file: Annotated[str, argument("FILE", "Records with a context: JSON, CSV, Parquet, gzip; - reads stdin.")],
    names: Annotated[Path | None, option("FILE", "First names to look for, one a line.", default="those of SocialIQA")] = None,
    output: opts.Output = None,
    strict: opts.Strict = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON; needs --output.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Choose contexts to write dialogues about, as Zhou et al. (SIGDIAL 2021) chose SocialIQA's.

    A context is kept once, when it has more than 15 words or an inner comma or full stop, and a person's name. The report says
    how many are left out for each reason.
    """
    if json and output is None:
        raise InputError("--json prints the report to stdout; give a file for the prompts with --output")
    check_files(file, output)
    from ...reasoning.response.prompts import NAMES, Left, PromptFilter

    chosen = PromptFilter(NAMES if names is None else _names(names))
    records = Records(loaders.read_contexts(file, strict=strict), file, "a context")
    counts: Counter[Left | None] = Counter()
    with lines_to(output, apart_from=file) as write:
        for row in records:
            prompt = chosen.judge(row.text)
            counts[prompt.left] += 1
            if prompt.left is None:
                write(json_text({"id": row.id, "prompt": prompt.text, "names": prompt.names}) + "\n")
    records.report()
    if json:
        left = {reason.value: counts[reason] for reason in Left}
        print_json({"read": records.read, "kept": counts[None], "left_out": left, "errors": records.faults.number})
    elif not quiet:
        sys.stdout.flush()
        rows = [("read", f"{records.read:,}"), ("kept", f"{counts[None]:,}")]
        show(facts([*rows, *((f"left out: {reason.value}", f"{counts[reason]:,}") for reason in Left)]), sys.stderr)


def _names(path: Path) -> frozenset[str]:
    """Return the names in a file."""
    try:
        found = frozenset(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the names in {path} cannot be read; give a UTF-8 text file with one name a line") from error
    if not found:
        raise InputError(f"{path} has no names; give a file with one name a line")
    return found
