"""The commands of ``tacit train``."""

from __future__ import annotations
