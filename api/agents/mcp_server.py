"""The server of the Model Context Protocol: tools, resources and a prompt over the service's application.

Every call of a tool is a request to the application, in this process and without a socket, so that limits, restrictions of
Cypher, queues, errors and field names are those of the service. Over HTTP the application serves ``/mcp`` too, behind its own
middleware, and requests made for a caller carry the caller's API key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import httpx
import mcp_types as types
import orjson
from fastapi import FastAPI
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.requests import Request as HTTPRequest
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ...graph.errors import InputError, TacitError, did_you_mean
from ...graph.open import linking_store, store_of
from ...graph.protocol import KnowledgeGraph
from ...graph.relations import RELATIONS
from ...graph.schema import dump
from ...reasoning.lru_cache import LruCache
from ..server.service import Service, Settings
from ..server.telemetry import error_fields, log
from .results import layout, page, without
from .tools import TOOLS, Arguments, Detailed, Request, Tool

PATH = "/mcp"
"""Where :func:`mount` serves the protocol."""

_PASSED_ON = ("authorization", "x-api-key")
_RECENT = 16
_MAX_CACHED_CHARACTERS = 1 << 20  # characters; longer results are computed again for each page

RESOURCES = (
    types.Resource(
        uri="tacit://schema",
        name="schema",
        title="Schema of the graph",
        description="Kinds of nodes, properties, relations with their meanings, metrics and limits, as text.",
        mime_type="text/plain",
    ),
    types.Resource(
        uri="tacit://manifest",
        name="manifest",
        title="Manifest of the graph",
        description="What was loaded: files, checksums, options, rows; sizes, digest, metrics with signatures; as JSON.",
        mime_type="application/json",
    ),
)

PROMPT = types.Prompt(
    name="ask",
    title="Ask the commonsense graph",
    description="How to answer a question from the graph: which tool first, what to do when nothing is found, how to cite.",
    arguments=[types.PromptArgument(name="question", description="The question, in plain words.", required=True)],
)


INSTRUCTIONS = (
    "A commonsense knowledge graph (concepts and events, joined by assertions with a weight and a source) and metrics that score "
    "dialogue responses. Use hops, paths and neighbours for concepts, tails for events, cookbook and run_cookbook for questions "
    "that come up often, schema and cypher for the rest; score, explain and infer for dialogues. Everything only reads. A long "
    "result comes in pages: call the tool again with the offset that the page names. An error is one sentence that says what to "
    "change."
)

ASK = """Answer this question with the tools of tacit, from its commonsense graph and not from memory: {question}

1. Find the concepts or events of the question. A concept is a plain word or phrase in the singular, such as dog or \
ice cream; an event is a short phrase such as PersonX cooks dinner. If a word is unknown, take the one that the error \
suggests, or a simpler one.
2. Ask the narrowest tool first: hops or paths for how two concepts are related, neighbours for what is near one, \
tails for causes, intents, effects and reactions of an event, infer for a turn of a dialogue. For other questions look \
for a query in cookbook and run it with run_cookbook. Only then read schema and write Cypher for the tool cypher, with \
words as $parameters.
3. If nothing is found, try a synonym or max_hops higher once, and then say that the graph does not have it. A graph \
lacks most of what is true: that something is not in it does not make it false.
4. Answer in a few sentences. Support each with the assertions that you found, as head -relation-> tail with the \
weight, and keep apart what the graph says and what you conclude."""

_NODES = """Nodes
  (:Concept {uri, text, language})  a word or phrase; uri such as /c/en/ice_cream, text 'ice cream', language 'en'
  (:Event {uri, text})              an event, or its cause, effect and the like; uri such as /e/PersonX_eats_dinner
Relationships: (:Concept)-[r]->(:Concept) and (:Event)-[r]->(:Event); type(r) is the relation
  weight      number >= 0, higher is stronger; 1 where the dataset gives none
  source      what loaded or made it: conceptnet, atomic2020, rdf, comet:MODEL
  dataset, license, contributors       texts; contributors are joined by ' | '
  head_sense, tail_sense               sense of the word, or ''
  rank, score                          of tails that a model made: place in its beam from 0, log-probability; else null
  id                                   whole number
"""
_LINKS = """Links, without a weight
  (:Event)-[:Mentions {role, position}]->(:Concept)
  (:Event)-[:SameEvent]->(:Event)   events of the same meaning
"""


def schema_text(info: Mapping[str, Any], meanings: Mapping[str, str], *, linked: bool) -> str:
    """Return what a graph holds, in words, from the answer of ``/v1/info`` and the meanings of relations (A: head, B: tail)."""
    graph, limits = info["graph"], info["limits"]
    sizes = f"{graph['concepts']:,} concepts, {graph['events']:,} events, {graph['assertions']:,} assertions"
    lines = [f"tacit {info['version']}; {sizes}; digest {graph['digest']}"]
    if graph["changed"]:
        lines.append(graph["changed"])
    lines += ["", (_NODES + (_LINKS if linked else "")).rstrip(), "", "Relations: assertions, and what A -relation-> B means"]
    for name, number in graph["relations"].items():
        meaning = meanings.get(name)
        lines.append(f"  {name}  {number:,}" + (f"  {meaning}" if meaning else ""))
    lines += ["", "Metrics"]
    lines += [f"  {name}  {metric['summary']}" for name, metric in info["metrics"].items()]
    lines += ["", "Limits: " + ", ".join(f"{name} {value:,}".removesuffix(".0") for name, value in limits.items())]
    return "\n".join(lines)


class Refused(Exception):
    """The service did not answer a request; the message is one sentence."""


class ServiceCaller:
    """Sends requests to an application of :func:`tacit.api.server.create_app` that has a graph."""

    def __init__(self, app: FastAPI) -> None:
        self.service: Service = app.state.service
        graph = self.service.graph
        if graph is None:
            raise InputError("the MCP server needs a graph; give one to create_app")
        manifest = store_of(graph).manifest()  # an index has the digest alone
        self._loads = [dump(entry) for entry in manifest.loads]
        self._meanings = {**RELATIONS, **{name: relation.meaning for name, relation in manifest.relations.items()}}
        self._linked = _is_linked(graph)
        self._recent: LruCache[str, str] = LruCache(_RECENT)  # so that all pages are of the same result
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=None)

    async def answer(self, request: Request, headers: Mapping[str, str]) -> Any:
        """Return the JSON answer to a request; a problem document is raised as :class:`Refused`."""
        response = await self._client.request(**request, headers=headers)
        body = orjson.loads(response.content)
        if response.status_code >= 400:
            raise Refused(body["detail"])
        return body

    async def schema(self, headers: Mapping[str, str]) -> tuple[str, Any]:
        """Return the text of ``tacit://schema``, and the answer of ``/v1/info`` that it is made of."""
        info = await self.answer(Request(method="GET", url="/v1/info"), headers)
        return schema_text(info, self._meanings, linked=self._linked), info

    async def manifest(self, headers: Mapping[str, str]) -> str:
        """Return the JSON of ``tacit://manifest``: the answer of ``/v1/info``, with the loads of the graph."""
        info = await self.answer(Request(method="GET", url="/v1/info"), headers)
        return layout({**info, "graph": {**info["graph"], "loads": self._loads}})

    async def _full_result(self, tool: Tool, arguments: Arguments, headers: Mapping[str, str]) -> tuple[str, Any]:
        """Return the whole text of a result, and its JSON."""
        if tool.name == "schema":
            return await self.schema(headers)
        answer = tool.shape(arguments, await self.answer(tool.request(arguments), headers))
        detail = isinstance(arguments, Detailed) and arguments.detail
        answer = answer if detail else without(answer, tool.left_out)
        return layout(answer), answer

    async def result(self, tool: Tool, values: Mapping[str, Any], headers: Mapping[str, str]) -> types.CallToolResult:
        """Return the result of a tool, or an error as a result that the model can read."""
        try:
            arguments = tool.check(values)
            key = f"{tool.name} {arguments.model_dump_json(exclude={'offset'})}"
            text = self._recent.get(key) if arguments.offset else None
            structured: Any = None
            if not text:
                text, structured = await self._full_result(tool, arguments, headers)
                self._recent.put(key, text if len(text) <= _MAX_CACHED_CHARACTERS else "")
            shown, following = page(text, arguments.offset)
        except (InputError, Refused) as error:
            return failure(error)
        content: list[types.ContentBlock] = [types.TextContent(text=shown)]
        sizes = {"characters": len(text)}
        if following is not None:
            position = f"This is characters {arguments.offset:,} to {following:,} of {len(text):,}"
            call = f"for the next page call {tool.name} again with the same arguments and offset={following}"
            content.append(types.TextContent(text=f"{position}; {call}."))
            sizes["next_offset"] = following
        part = arguments.offset or following is not None  # a page of it has no structure
        return types.CallToolResult(content=content, structured_content=sizes if part else structured, _meta=sizes)


def failure(error: Exception) -> types.CallToolResult:
    """Return an error as a result, which the model sees."""
    return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)


def _is_linked(graph: KnowledgeGraph) -> bool:
    """Return whether the events of a graph are linked to its concepts."""
    return linking_store(graph).link_manifest().links > 0


def _headers(context: Any) -> dict[str, str]:
    """Return the headers of the requests of a call: the API key and request ID of the caller, if it came over HTTP."""
    request = context.request
    if not isinstance(request, HTTPRequest):
        return {}
    headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
    if "tacit.request_id" in request.scope:
        headers["x-request-id"] = request.scope["tacit.request_id"]
    return headers


def create_server(app: FastAPI) -> Server[Any]:
    """Return the MCP server over an application of :func:`tacit.api.server.create_app`.

    Raises:
        InputError: the application has no graph.
    """
    caller = ServiceCaller(app)

    async def ready() -> ServiceCaller:
        return caller

    return _server(ready, caller.service.settings, list(caller.service.metrics))


def _server(ready: Callable[[], Awaitable[ServiceCaller]], settings: Settings, metrics: Sequence[str]) -> Server[Any]:
    """Return the MCP server; ``ready`` is awaited before the application is used, and may raise TacitError."""
    tools = {tool.name: tool for tool in TOOLS}
    described = [tool.described(settings, metrics) for tool in TOOLS]

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=described)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in tools:
            advice = did_you_mean(params.name, tools, f"the tools are {', '.join(tools)}")
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name[:60]!r}; {advice}")
        try:
            caller = await ready()
        except TacitError as error:
            return failure(error)
        try:
            return await caller.result(tools[params.name], params.arguments or {}, _headers(context))
        except Exception as error:
            log("error", "failure", tool=params.name, **error_fields(error))
            return failure(RuntimeError("an unexpected error in tacit; its log on stderr says where"))

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=list(RESOURCES))

    async def read_resource(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        [*matches] = [resource for resource in RESOURCES if resource.uri == params.uri]
        if not matches:
            uris = " and ".join(resource.uri for resource in RESOURCES)
            raise MCPError(types.INVALID_PARAMS, f"unknown resource {params.uri[:200]!r}; the resources are {uris}")
        try:
            caller = await ready()
            headers = _headers(context)
            text = (await caller.schema(headers))[0] if params.uri == "tacit://schema" else await caller.manifest(headers)
        except (Refused, TacitError) as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=matches[0].mime_type, text=text)]
        )

    async def list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[PROMPT])

    async def get_prompt(_: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT.name:
            raise MCPError(types.INVALID_PARAMS, f"unknown prompt {params.name[:60]!r}; there is one, ask")
        question = (params.arguments or {}).get("question", "").strip()
        if not question:
            raise MCPError(types.INVALID_PARAMS, "the prompt ask needs the argument question; give the question in plain words")
        text = types.TextContent(text=ASK.replace("{question}", question))
        return types.GetPromptResult(description=PROMPT.description, messages=[types.PromptMessage(role="user", content=text)])

    return Server(
        "tacit",
        version=version("tacit-kg"),
        title="tacit: commonsense graph and dialogue metrics",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


async def serve_stdio(opening: Callable[[], FastAPI], settings: Settings, metrics: Sequence[str]) -> None:
    """Serve the protocol on stdin and stdout until stdin ends; whatever else writes to stdout goes to stderr meanwhile.

    The client is answered at once, since programs give a server a few seconds to start and models can take longer to open; the
    first call of a tool waits for the application.

    Args:
        opening: makes the application; called once, in a thread. An error that it raises is logged, and answers all calls.
        settings, metrics: the limits and the names of the metrics that the application will have.
    """

    def opened() -> ServiceCaller:
        try:
            return ServiceCaller(opening())
        except TacitError as error:
            log("error", "opening", detail=str(error))
            raise

    async with stdio_server() as (incoming, outgoing):
        task = asyncio.create_task(asyncio.to_thread(opened))
        server = _server(lambda: asyncio.shield(task), settings, metrics)
        await server.run(incoming, outgoing, server.create_initialization_options())


def mount(app: FastAPI) -> None:
    """Serve the protocol at ``POST /mcp`` of the application, as streamable HTTP without sessions, with answers in JSON.

    The application must be run with its lifespan, and once only.

    Raises:
        InputError: the application has no graph.
    """
    server = create_server(app)
    manager = StreamableHTTPSessionManager(
        server, stateless=True, json_response=True, max_request_body_size=app.state.service.settings.body_bytes
    )
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(application: Any) -> AsyncIterator[Any]:
        async with inner(application) as state, manager.run():
            yield state

    app.router.lifespan_context = lifespan
    endpoint = _Endpoint(manager)
    endpoint.route = Route(PATH, endpoint, methods=["POST"])
    app.router.routes.append(endpoint.route)


class _Endpoint(StreamableHTTPASGIApp):
    """The SDK's ASGI endpoint, which also sets the route in the scope for the access log, as FastAPI does for its routes."""

    route: Route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self.route
        await super().__call__(scope, receive, send)
