"""One small file that a trained model is kept in, read whole: it is named itself, or by the folder that holds it."""

from __future__ import annotations

from pathlib import Path

from ..graph.errors import ModelError


def read_small(place: Path, file: str, what: str, command: str, largest: int) -> tuple[bytes, str]:
    """Return the bytes of a model's file, and its path for messages.

    Args:
        place: the file, or a folder in which it is called ``file``.
        what: the model's kind, e.g. ``probe``; command: what makes one; largest: bytes that no such file exceeds.

    Raises:
        ModelError: there is none, it is larger, or it cannot be read.
    """
    path = place / file if place.is_dir() else place
    try:
        if path.stat().st_size > largest:
            raise ModelError(f"{path} is larger than any {what}; give one that {command} wrote")
        return path.read_bytes(), str(path)
    except FileNotFoundError as error:
        raise ModelError(f"there is no {what} at {place}; make one with: {command}") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"the {what} {str(place)!r} cannot be read: {error}") from error
