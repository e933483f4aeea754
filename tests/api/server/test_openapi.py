"""What OpenAPI promises, held against the service by schemathesis: requests made from the document, good and bad ones.

A few dozen cases of each operation in every run; TACIT_SCHEMA_CASES=800 asks for so many of each, 10,000 in all and more.
"""

from __future__ import annotations

import os
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

from tests.api.server.conftest import Running

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
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def test_all_operations_are_listed_here(document: Any) -> None:
    assert {(operation.ok().method.upper(), operation.ok().path) for operation in document.get_all_operations()} == set(
        OPERATIONS
    )


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_generated_request_matches_the_openapi_document(
    document: Any, method: str, path: str, mode: GenerationMode
) -> None:
    operation = document[path][method]
    if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or operation.path_parameters):
        pytest.skip("nothing can be wrong about this request")

    case_count = 0

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
        nonlocal case_count
        case_count += 1
        case.call_and_validate(timeout=60, checks=CHECKS)

    answered()
    assert case_count >= (CASES if operation.body or operation.query or operation.path_parameters else 1)
