"""The commands of the program ``tacit``, one module each, and the table that lists them."""

from __future__ import annotations
