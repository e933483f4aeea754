"""Model files, and opening and running the models that metrics use: sentence encoders and causal language models."""

from __future__ import annotations
