"""Resumable scoring of files of any size: in shards, on this machine or a Ray cluster, merged in order at the end."""

from __future__ import annotations

LINES = 1_000
"""Default number of records in a shard."""
