"""The commands under ``tacit train``, one module each."""

from __future__ import annotations
