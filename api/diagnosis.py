"""What is installed, which graph and models are available, and the command for what is missing: the checks of ``tacit doctor``.

Nothing is downloaded, built or opened that takes long, and no network is used, except that a Neo4j server which is the default
graph is asked whether it answers.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from ..graph.errors import MissingExtra, TacitError
from ..graph.open import SCHEMES
from .config import GRAPH, Config, check_metrics, check_options, display_path, find_config, without_credentials
from .opening import Address

if TYPE_CHECKING:
    from ..graph.protocol import KnowledgeGraph

State = Literal["ok", "missing", "wrong"]

DISTRIBUTION = "tacit-kg"
_NOT_SHOWN = ("dev", "all")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^]]*\])?[^;]*(?:;(.*))?")
_EXTRA = re.compile(r"extra\s*==\s*[\"']([\w.-]+)[\"']")
_PLATFORM = re.compile(r"sys_platform\s*!=\s*[\"'](\w+)[\"']")
_SECONDS = 2.0
"""Longest time that a server is waited for."""


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check."""

    group: str  # heading under which it is shown
    name: str
    state: State  # missing: not needed for the default scoring; wrong: the default scoring cannot run
    detail: str  # what was found, as one line
    command: str = ""  # that installs or repairs it; empty if none is needed or possible
    facts: dict[str, Any] = field(default_factory=dict)  # the same for programs

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        return {
            "group": self.group, "name": self.name, "state": self.state, "detail": self.detail,
            "command": self.command or None, **self.facts,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, and whether the default scoring can run here."""

    checks: tuple[Check, ...]
    metrics: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether ``tacit score FILE`` can run without options."""
        return bool(self.metrics) and all(check.state != "wrong" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        return {"ready": self.ready, "metrics": list(self.metrics), "checks": [check.to_dict() for check in self.checks]}


def diagnose(server: dict[str, str | None] | None = None, graph: str | None = None) -> Diagnosis:
    """Look at this installation and a graph, by default that of ``TACIT_GRAPH`` or ``tacit.toml``.

    ``server`` has user, password and database of a server, where they are not those of the URL or the environment.
    """
    checks = [*_installed(), *_extras()]
    settings, config = _settings()
    checks.append(settings)
    name, origin = _graph_of(config, graph)
    if name is None and settings.state == "wrong":
        detail = f"not known: {GRAPH} names none, and the settings cannot be used"
        graphs = [Check("graph", "graph", "missing", detail, facts={"url": None})]
    else:
        graphs = list(_graph(name, origin, server or {}))
    checks += [*graphs, _kernels(), *_models()]
    scoring, metrics = _scoring(config, name is not None)
    return Diagnosis((*checks, scoring), metrics)


def _installed() -> Iterator[Check]:
    """Check tacit, Python and the packages that tacit always needs."""
    version = _version(DISTRIBUTION)
    yield Check(
        "installed", "tacit", "ok", version or "a checkout that is not installed",
        facts={"version": version, "python": platform.python_version(), "executable": sys.executable},
    )  # fmt: skip
    yield Check("installed", "Python", "ok", f"{platform.python_version()}, {platform.system()} {platform.machine()}")
    needed = _requirements().get("", [])
    missing = [name for name in needed if _version(name) is None]
    if missing:
        command = f"{shlex.quote(sys.executable)} -m pip install {DISTRIBUTION}"
        yield Check("installed", "packages", "wrong", f"not installed: {', '.join(missing)}", command)
    else:
        yield Check("installed", "packages", "ok", f"all {len(needed)} that tacit needs")


def _extras() -> Iterator[Check]:
    """Check the packages of each extra."""
    for extra, names in _requirements().items():
        if not extra or extra in _NOT_SHOWN:
            continue
        versions = {name: _version(name) for name in names}
        missing = [name for name, version in versions.items() if version is None]
        installed = ", ".join(f"{name} {version}" for name, version in versions.items() if version is not None)
        facts = {"packages": versions}
        if missing:
            detail = f"not installed: {', '.join(missing)}" + (f"; installed: {installed}" if installed else "")
            yield Check("extras", extra, "missing", detail, install_command(missing, extra), facts)
        else:
            yield Check("extras", extra, "ok", installed, facts=facts)


def install_command(packages: Sequence[str], extra: str) -> str:
    """Return the command that installs an extra, as error messages give it."""
    return str(MissingExtra(packages, extra)).partition("run: ")[2].partition(" (on Linux")[0]


def _requirements() -> dict[str, list[str]]:
    """Return the names of the required distributions by extra; those that are always needed under an empty text."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    names_by_extra: dict[str, list[str]] = {}
    for text in requirements:
        match = _REQUIREMENT.match(text)
        if match is None:
            continue
        name, marker = match[1], match[2] or ""
        platform_marker = _PLATFORM.search(marker)
        extra = _EXTRA.search(marker)
        if name != DISTRIBUTION and not (platform_marker and platform_marker[1] == sys.platform):
            names_by_extra.setdefault(extra[1] if extra else "", []).append(name)
    return names_by_extra


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _settings() -> tuple[Check, Config | None]:
    """Check the file of settings, the options of metrics included."""
    sentences: list[str] = []
    try:
        config = find_config(sentences.append)
        if config is None:
            detail = sentences[0] if sentences else "no tacit.toml here or above"
            return Check("graph", "settings", "ok", detail, facts={"file": None}), None
        check_metrics(config)
        for metric in config.options:
            check_options(config, metric)
    except TacitError as error:
        return Check("graph", "settings", "wrong", str(error)), None
    return Check("graph", "settings", "ok", display_path(config.path), facts={"file": str(config.path)}), config


def _graph_of(config: Config | None, graph: str | None) -> tuple[str | None, str]:
    """Return the default graph, and who names it."""
    if graph:
        return graph, "--graph"
    from_environment = os.environ.get(GRAPH)
    if from_environment:
        return from_environment, GRAPH
    if config is not None and config.graph is not None:
        return config.graph, display_path(config.path)
    return None, ""


def _graph(name: str | None, origin: str, server: dict[str, str | None]) -> Iterator[Check]:
    """Check the default graph and its index."""
    if name is None:
        detail = f"none: neither {GRAPH} nor tacit.toml names one"
        yield Check("graph", "graph", "missing", detail, "tacit setup", {"url": None})
        return
    try:
        if "://" in name and name.partition("://")[0].lower() in SCHEMES:  # any other scheme is refused before it is asked
            yield from _on_server(name, origin, server)
        else:
            yield from _opened(name, origin, server)
    except TacitError as error:
        command = "" if "://" in name or Path(name).exists() else _load_command(Path(name))
        yield Check(
            "graph", "graph", "wrong", f"{error} (the graph is named by {origin})", command, {"url": without_credentials(name)}
        )


def _load_command(path: Path) -> str:
    """Return the command that makes a graph at ``path``."""
    if path.name == "graph":  # the name of the folder that setup makes
        return f"tacit setup --directory {shlex.quote(str(path.parent))}"
    return f"tacit load conceptnet FILE --into {shlex.quote(str(path))}"


def _on_server(name: str, origin: str, server: dict[str, str | None]) -> Iterator[Check]:
    """Check a graph on a server, which has two seconds to answer."""
    url = without_credentials(name)
    try:
        parts = urlsplit(name)
        host, port = parts.hostname or "localhost", parts.port or 7687
    except ValueError:
        host, port = "", 0
    facts = {"url": url}
    if host:
        try:
            socket.create_connection((host, port), _SECONDS).close()
        except OSError as error:
            detail = (
                f"{url} (named by {origin}) does not answer: {error.strerror or error}; start the server, or name another graph"
            )
            yield Check("graph", "graph", "wrong", detail, "", facts)
            return
    answers: list[list[Check]] = []
    faults: list[TacitError] = []

    def ping() -> None:
        try:
            answers.append(list(_opened(name, origin, server)))
        except TacitError as error:
            faults.append(error)

    thread = threading.Thread(target=ping, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if faults:
        raise faults[0]
    if not answers:
        detail = f"{url} (named by {origin}) accepts connections, but gave no answer in {_SECONDS:g} seconds"
        yield Check("graph", "graph", "wrong", detail, "", facts)
        return
    yield from answers[0]


def _opened(name: str, origin: str, server: dict[str, str | None]) -> Iterator[Check]:
    from .opening import open_store

    with open_store(Address(name, **server)) as store:
        counts, manifest = store.counts(), store.manifest()
        yield Check(
            "graph", "graph", "ok",
            f"{store.url} (named by {origin}): {counts.assertions:,} assertions, digest {manifest.digest}",
            facts={"url": store.url, "named_by": origin, "assertions": counts.assertions, "digest": manifest.digest},
        )  # fmt: skip
        yield _index(store, name, manifest.digest)


def _index(store: KnowledgeGraph, name: str, digest: str) -> Check:
    """Check whether there is an index of the graph as it is now."""
    from ..graph.errors import GraphError
    from ..graph.index import index_homes, open_index_directory

    homes = index_homes(store)
    for home in homes:
        if not (home / digest).is_dir():
            continue
        try:
            with closing(open_index_directory(home / digest)):
                return Check("graph", "index", "ok", f"fresh: {home / digest}", facts={"index": "fresh"})
        except GraphError:  # of an older format, or damaged: built again
            continue
    is_stale = [] if "://" in name else [folder for folder in homes[:1] if folder.is_dir() and any(folder.iterdir())]
    state = "stale: made of earlier contents of the graph, or by another version" if is_stale else "none yet"
    detail = f"{state}; the first scoring builds it"
    return Check("graph", "index", "missing", detail, f"tacit index {shlex.quote(without_credentials(name))}",
                 {"index": "stale" if is_stale else "none"})  # fmt: skip


def _kernels() -> Check:
    """Check whether the searches of indexes have been compiled for this Python."""
    from ..graph.index.compiled_searches import kept_on_disk

    if kept_on_disk():
        return Check("graph", "searches", "ok", "compiled; the machine code is kept on disk", facts={"compiled": True})
    detail = "not compiled yet: the first long scoring compiles them, in up to a minute"
    return Check("graph", "searches", "missing", detail, facts={"compiled": False})


def _models() -> Iterator[Check]:
    """Check the models that metrics load by default, without opening them."""
    from ..reasoning.models.hub import is_cached
    from ..reasoning.registry import METRIC_REGISTRY

    users: dict[tuple[str, str, str], list[str]] = {}
    is_ready: dict[tuple[str, str, str], bool] = {}
    for name, kind in METRIC_REGISTRY.kinds().items():
        if kind.model:
            key = kind.model, kind.get_model, kind.extra
            users.setdefault(key, []).append(name)
            is_ready[key] = kind.has_model()
    for (model, get, extra), names in users.items():
        ready = is_ready[model, get, extra]
        detail = f"{'there' if ready else 'not there'}; for {', '.join(names)}"
        command = "" if ready else get or install_command([model], extra)
        yield Check("models", model, "ok" if ready else "missing", detail, command, {"there": ready, "for": names})
    from ..reasoning.metrics.accent.extractors.t5 import DEFAULT_MODEL
    from ..reasoning.metrics.accent.metric import PAPER_ENCODER
    from ..reasoning.metrics.accent.tails.comet import DEFAULT_COMET

    published = {DEFAULT_COMET: "COMET", DEFAULT_MODEL: "extraction of events", PAPER_ENCODER: "encoder"}
    for model, use in published.items():
        ready = is_cached(model)
        detail = f"{'there' if ready else 'not there'}; {use} of accent.profile=paper"
        command = "" if ready else f"hf download {model}"
        yield Check("models", model, "ok" if ready else "missing", detail, command, {"there": ready, "for": ["accent"]})


def _scoring(config: Config | None, graph: bool) -> tuple[Check, tuple[str, ...]]:
    """Check whether the metrics of the settings, or the default ones, are ready."""
    from ..reasoning.describing import default_metrics, lacking

    try:
        if config is not None and config.metrics:
            for name in config.metrics:
                missing, get = lacking(name, graph)
                if missing:
                    detail = f"{name}, which {display_path(config.path)} names, lacks {missing}"
                    return Check("scoring", "default", "wrong", detail, "" if missing == "a graph" else get), ()
            names = config.metrics
            return Check("scoring", "default", "ok", f"{', '.join(names)}, as {display_path(config.path)} says"), names
        default = default_metrics("a graph" if graph else None)
    except TacitError as error:
        return Check("scoring", "default", "wrong", str(error)), ()
    return Check("scoring", "default", "ok", default.reason.removeprefix("scoring with ")), default.names
