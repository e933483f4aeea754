"""Terminal output, progress bars and output files of the command line and of scoring runs."""

from __future__ import annotations
