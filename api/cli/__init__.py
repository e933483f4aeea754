"""The command line ``tacit``: one module per group of commands, and the table of all commands."""

from __future__ import annotations
