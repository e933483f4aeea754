"""Scoring files of any length: shards of lines that are scored anywhere, kept beside the output, and put together in order."""

LINES = 1_000
"""Lines of a shard, unless the caller says how many."""
