"""Scoring files of any length: shards of lines that are scored anywhere, kept beside the output, and put together in order."""

from __future__ import annotations

LINES = 1_000
"""Lines of a shard, unless the caller says how many."""
