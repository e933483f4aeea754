"""A service that is none: answers one after another as a test wants them, and scores that are the lengths of responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import orjson

Handler = Callable[[httpx.Request], httpx.Response]
SIGNATURE = "grounding|graph:8f0c|hops:6|v:1"


def problem(status: int, kind: str = "busy", detail: str = "try again", **headers: str) -> httpx.Response:
    body = {"type": f"urn:tacit:problem:{kind}", "status": status, "detail": detail, "request_id": "r-1"}
    return httpx.Response(status, json=body, headers=headers)


def scored(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/v1/info":
        return httpx.Response(404)
    items = orjson.loads(request.content)["items"]
    rows = [
        {"id": at, "scores": {"grounding": len(item["response"])}, "signature": {"grounding": SIGNATURE}}
        for at, item in enumerate(items, 1)
    ]
    return httpx.Response(200, json={"items": rows})


class Service:
    """Answers with ``answers`` one after another, then with scores; an exception among them is a connection that fails."""

    def __init__(self, *answers: httpx.Response | Exception, limits: dict[str, Any] | None = None) -> None:
        self.answers = list(answers)
        self.limits = limits
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/info" and self.limits is not None:
            return httpx.Response(200, json={"version": "1", "graph": None, "metrics": {}, "limits": self.limits})
        if request.url.path == "/v1/info":
            return httpx.Response(404)
        self.requests.append(request)
        if not self.answers:
            return scored(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
