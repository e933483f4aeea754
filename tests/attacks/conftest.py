"""What the attacks share with the tests of the command line, and the choice of the long forms."""

from __future__ import annotations

import pytest

from tests.api.conftest import tacit

__all__ = ["tacit"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip attacks at full size unless they are asked for with ``-m long``."""
    if "long" not in config.option.markexpr:
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="an attack at full size; runs with -m long"))
