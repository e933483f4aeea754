"""What scoring and the command line show and write: the screen, progress, output files, text that is safe to print."""

from __future__ import annotations
