"""What the tests of the adapters share: the sample graph, known texts, and a network that is out of reach.

The frameworks are installed by ``make frameworks`` in an environment of their own; elsewhere their tests are skipped. Under
``TACIT_TEST_FRAMEWORKS=1``, which that command sets, a framework that is not installed is an error.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Before the first import of a framework: they read these once.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # the small MLflow has no database
os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"

HISTORY = ["My dog ran away."]
RESPONSE = "Did you look in the park?"
EDGE = "dog -AtLocation-> park"
NO_WORDS = "the response cannot be judged: it has no words"


def needs(package: str) -> None:
    """Skip the module's tests without ``package``, or fail where all frameworks have to be there."""
    if find_spec(package) is None:
        assert not os.environ.get("TACIT_TEST_FRAMEWORKS"), f"{package} is not installed"
        pytest.skip(f"needs {package}; run: make frameworks", allow_module_level=True)


@pytest.fixture
def graph(sample_graph: str) -> str:
    """The path of the sample graph."""
    return sample_graph


@pytest.fixture(scope="session")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of MLflow's records, one for all tests, since MLflow keeps it."""
    return (tmp_path_factory.mktemp("mlflow") / "mlruns").as_uri()


@pytest.fixture(autouse=True)
def _in_own_folder(tmp_path: Path, tracked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a new folder, where frameworks leave their records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPEVAL_HOME", str(tmp_path / "deepeval"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracked)
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))


@pytest.fixture(autouse=True)
def _nothing_asks_the_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test during which an address beyond this machine was looked up or connected to."""
    requests: list[Any] = []
    look_up, connect = socket.getaddrinfo, socket.socket.connect

    def looking_up(host: Any, *arguments: Any, **named: Any) -> Any:
        if host not in (None, "localhost", "127.0.0.1", "::1", ""):
            requests.append(host)
            raise OSError(f"{host} is out of reach in tests")
        return look_up(host, *arguments, **named)

    def connecting(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            requests.append(address)
            raise OSError(f"{address} is out of reach in tests")
        return connect(self, address)

    monkeypatch.setattr(socket, "getaddrinfo", looking_up)
    monkeypatch.setattr(socket.socket, "connect", connecting)
    yield
    assert not requests, f"the network was asked for {requests}"
