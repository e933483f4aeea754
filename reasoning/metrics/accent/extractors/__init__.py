"""Extractors of event tuples: by discourse rules, by a sequence-to-sequence model, or by keywords of the graph."""

from __future__ import annotations
