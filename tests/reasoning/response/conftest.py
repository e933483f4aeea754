"""The command line, for the tests of commands that stand beside those of the library."""

from __future__ import annotations

from tests.api.conftest import tacit

__all__ = ["tacit"]
