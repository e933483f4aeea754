"""Metrics of others, through the interface of all: what new metrics are measured against."""

from __future__ import annotations
