"""Text analysis: words with lemmas and parts of speech, dependency parses, concept linking, and whether a text can be judged."""

from __future__ import annotations
