"""Extractors of event tuples: by rules over a parse, by a sequence-to-sequence model, or by keywords of the graph."""

from __future__ import annotations
