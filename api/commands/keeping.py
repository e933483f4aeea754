"""The commands ``keys add``, ``keys list`` and ``keys remove``: who may ask a service, in a file that holds no key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...graph.errors import InputError
from ..terminal.options import Group, Json

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="The file of keys.")]
Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Whose key it is, or its id.")]

keys = typer.Typer(cls=Group, help="Manage the keys of a service.", rich_markup_mode=None)


@keys.command()
def add(file: File, name: Name) -> None:
    """Make a key and print it, once: the file holds only its hash."""
    from ..keyring import new_key, read_keys, write_keys
    from ..terminal.screen import note

    entries = read_keys(file) if file.exists() else []
    key, entry = new_key(name)
    write_keys(file, [*entries, entry])
    print(key)
    note(f"the key of {entry.name}; keep it, since it cannot be shown again, and {file} holds only its hash")


@keys.command("list")
def list_keys(file: File, json: Json = False) -> None:
    """List whose keys a file holds."""
    from ..keyring import read_keys
    from ..terminal.screen import print_json, show, table

    entries = read_keys(file)
    if json:
        print_json({"id": entry.id, "name": entry.name} for entry in entries)
    else:
        show(table(("id", "name"), [(entry.id, entry.name) for entry in entries]))


@keys.command()
def remove(file: File, name: Name) -> None:
    """Take a key away, by its id or by the name of its owner; a running service forgets it within a second or two."""
    from ..keyring import read_keys, write_keys
    from ..terminal.screen import note
    from ..terminal.text import plural

    entries = read_keys(file)
    kept = [entry for entry in entries if name not in (entry.id, entry.name)]
    if len(kept) == len(entries):
        raise InputError(f"{file} holds no key of {name!r}; tacit keys list {file} shows them")
    write_keys(file, kept)
    note(f"took away {plural(len(entries) - len(kept), 'key')} of {name}")
