"""The commands ``fetch`` and ``sources``: the official files, where they come from, and how to get them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..terminal.options import Json, Quiet
from ..terminal.progress import Meter


def fetch(
    name: Annotated[Literal["conceptnet", "atomic2020", "numberbatch"], typer.Argument(show_default=False, help="Which files.")],
    directory: Annotated[
        Path, typer.Option("--directory", metavar="FOLDER", help="Where to put them; made when missing.")
    ] = Path(),
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", show_default=False, help="Look for the file here instead: URL/FILE.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Download official files; one that was cut off goes on where it ended, and checksums are verified where they are known."""
    from ...loaders import fetch as download
    from ...loaders import find_source
    from ...loaders.download import verified
    from ..terminal.screen import note, print_json

    with Meter(name, noun="bytes", quiet=quiet) as meter:

        def progress(done: int, total: int | None) -> None:
            meter.add(max(0, done - int(meter.done)) if meter.done else 0, done=done, total=total)

        files = download(name, directory, progress=progress, base_url=mirror)
    known, sha256 = verified(name, directory)
    file = find_source(name).file
    if not known:
        note(
            f"not verified: nobody publishes a checksum of {file}; this one has the sha256 {sha256}, to compare with another copy"
        )
    elif not quiet:
        note(f"verified: {file} has the sha256 {sha256}")
    if json:
        print_json([str(path) for path in files])
    else:
        for path in files:
            print(path)


def sources(json: Json = False) -> None:
    """List the official files: address, size, licence."""
    from dataclasses import asdict

    from ...loaders import all_sources
    from ..terminal.screen import facts, print_json, show
    from ..terminal.text import size

    known = all_sources().values()
    if json:
        print_json(asdict(source) for source in known)
        return
    for number, source in enumerate(known):
        if number:
            print()
        show(
            facts(
                [
                    ("url", source.url),
                    ("size", "not published" if source.size is None else size(source.size)),
                    ("sha256", source.sha256 or "not published"),
                    ("licence", source.licence),
                    ("homepage", source.homepage),
                    ("cite", source.citation),
                ],
                title=f"{source.name}: {source.title}",
            )
        )
