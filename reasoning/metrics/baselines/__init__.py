"""Published metrics that new ones are compared with, through the same interface as all metrics."""

from __future__ import annotations
