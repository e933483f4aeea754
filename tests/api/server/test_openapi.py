"""What OpenAPI promises, held against the service by schemathesis: requests made from the document, good and bad ones.

A few dozen cases of each operation in every run; TACIT_SCHEMA_CASES=800 asks for so many of each, 10,000 in all and more.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tacit.api.main import run

from tests.api.server.conftest import Running, serving

CASES = int(os.environ.get("TACIT_SCHEMA_CASES", "8"))


@pytest.fixture(scope="session")
def document(running: Running) -> Any:
    """The document, read from the running service."""
    return schemathesis.openapi.from_url(f"{running.url}/openapi.json")


OPERATIONS = [
    ("POST", "/v1/score"),
    ("POST", "/v1/explain"),
    ("POST", "/v1/infer"),
    ("POST", "/v1/choose"),
    ("POST", "/v1/cypher"),
    ("GET", "/v1/concepts"),
    ("GET", "/v1/concepts/{text}"),
    ("GET", "/v1/neighbours"),
    ("GET", "/v1/hops"),
    ("GET", "/v1/paths"),
    ("GET", "/v1/concept-tails"),
    ("GET", "/v1/tails"),
    ("GET", "/v1/cookbook"),
    ("GET", "/v1/info"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
]
CONCEPTNET = [
    ("GET", "/c/{uri}"),
    ("GET", "/a/{uri}"),
    ("GET", "/r/{uri}"),
    ("GET", "/d/{uri}"),
    ("GET", "/s/{uri}"),
    ("GET", "/query"),
    ("GET", "/related/{uri}"),
    ("GET", "/relatedness"),
    ("GET", "/uri"),
]
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="session")
def conceptnet_document(sample_graph: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The document of a service that answers the ConceptNet API too, with vectors."""
    folder = tmp_path_factory.mktemp("openapi")
    graph = str(shutil.copytree(sample_graph, folder / "graph"))
    (folder / "vectors.txt").write_text("dog 1 0\ncat 1 1\n", encoding="utf-8")
    own = {"TACIT_CACHE": str(folder / "cache")}  # so that no index of the same graph, shared with others, gets the vectors
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TACIT_CACHE", own["TACIT_CACHE"])
        assert run(["index", graph, "--vectors", str(folder / "vectors.txt"), "--json"]) == 0
    with serving(graph, "--conceptnet-api", **own) as service:
        yield schemathesis.openapi.from_url(f"{service.url}/openapi.json")


@pytest.mark.parametrize(("name", "listed"), [("document", OPERATIONS), ("conceptnet_document", OPERATIONS + CONCEPTNET)])
def test_all_operations_are_listed_here(name: str, listed: list[tuple[str, str]], request: pytest.FixtureRequest) -> None:
    operations = request.getfixturevalue(name).get_all_operations()
    assert {(found.ok().method.upper(), found.ok().path) for found in operations} == set(listed)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("name", "method", "path"),
    [("document", *one) for one in OPERATIONS] + [("conceptnet_document", *one) for one in CONCEPTNET],
)
def test_every_case_is_answered_as_the_document_says(
    name: str, method: str, path: str, mode: GenerationMode, request: pytest.FixtureRequest
) -> None:
    operation = request.getfixturevalue(name)[path][method]
    anything_goes = path == "/a/{uri}"  # any text is a path, and there are no parameters
    if mode is GenerationMode.NEGATIVE and (
        anything_goes or not (operation.body or operation.query or operation.path_parameters)
    ):
        pytest.skip("nothing can be wrong about this request")

    asked = 0

    @settings(
        max_examples=CASES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def answered(case: Any) -> None:
        nonlocal asked
        asked += 1
        case.call_and_validate(timeout=60, checks=CHECKS)

    answered()
    assert asked >= (CASES if operation.body or operation.query or operation.path_parameters else 1)
