"""What the tests of the command line share: a way to call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tacit.api.main import run


@dataclass
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON; it must have ended well."""
        assert self.status == 0, self.err
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        """What it printed, as one JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Tacit = Callable[..., Outcome]


@pytest.fixture
def tacit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tacit:
    """Call the command line in this process; every argument is a word of it."""
    monkeypatch.delenv("TACIT_DEBUG", raising=False)

    def call(*words: object) -> Outcome:
        capsys.readouterr()
        status = run([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call
