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
    from ..keyring import editing_keys, new_key
    from ..terminal.screen import note

    key, entry = new_key(name)
    with editing_keys(file, create=True) as entries:
        entries.append(entry)
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
    from ..keyring import editing_keys
    from ..terminal.screen import note
    from ..terminal.text import plural

    with editing_keys(file) as entries:
        gone = [entry for entry in entries if name in (entry.id, entry.name)]
        if not gone:
            raise InputError(f"{file} holds no key of {name!r}; tacit keys list {file} shows them")
        entries[:] = [entry for entry in entries if entry not in gone]
    note(f"took away {plural(len(gone), 'key')} of {name}")
