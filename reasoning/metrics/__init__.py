"""The metrics, one module or folder each; :mod:`tacit.reasoning.registry` lists them."""

from __future__ import annotations
