"""The commands ``fetch`` and ``sources``: the official files, where they come from, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .options import Json, Quiet
from .progress import Meter


def fetch(
    name: Annotated[Literal["conceptnet", "atomic2020", "numberbatch"], typer.Argument(show_default=False, help="Which files.")],
    directory: Annotated[Path, typer.Option("--directory", metavar="FOLDER", help="Where to put them.")] = Path(),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Download official files; a download that was cut off goes on where it ended, and checksums are verified."""
    from ..loaders import fetch as download
    from .screen import print_json

    with Meter(name, noun="bytes", quiet=quiet) as meter:
        files = download(name, directory, progress=meter.add)
    if json:
        print_json([str(path) for path in files])
    else:
        for path in files:
            print(path)


def sources(json: Json = False) -> None:
    """List the official files: address, size, licence."""
