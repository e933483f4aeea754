"""The folder for what tacit computes or downloads once: indexes, references, models."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the folder ``name`` in ``TACIT_CACHE``, else in the user's cache folder; it may not exist yet."""
    given = os.environ.get("TACIT_CACHE")
    if given:
        return Path(given) / name
    import platformdirs

    return Path(platformdirs.user_cache_dir("tacit")) / name
