"""From text to words, parses, concepts, and whether it can be judged at all."""

from __future__ import annotations
