"""What all tests share: the real data, the sample graph, a Neo4j server, and one small graph in every backend.

Tests that need the data or a server skip with a reason when there is none. The server has one database, so a test that asks for
it gets it empty, and the graphs of one test that are on the server replace each other.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tacit.api.main import run
from tacit.graph import Assertion, KnowledgeGraph, WritableGraph, open_graph, open_index

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test asks the hub; those of fetching have one of their own
os.environ.pop("TACIT_GRAPH", None)  # tests name their graphs
os.environ.pop("TACIT_CONFIG", None)

# A machine that is busy with other tests is no fault of the one that is slow on it.
settings.register_profile("tacit", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")

# Collections of garbage took an eighth of the tests' processor time, since torch and spaCy keep a million objects alive.
gc.set_threshold(50_000, 20, 50)

REPOSITORY = Path(__file__).parents[1]
HOW_TO_GET_A_SERVER = (
    "Neo4j tests were skipped: docker run -p 7687:7687 -e NEO4J_AUTH=neo4j/tacit-test neo4j:5.26, "
    "then TACIT_TEST_NEO4J=bolt://localhost:7687 make test (its data will be deleted)"
)

# A server that lives for a minute spends most of its processor time on compiling what it runs a few times.
SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"}

OWN_SERVER = ("test_neo4j_restart", "test_a_neo4j_server_killed")
# Groups that take longest, the longest first; see group_of.
LONGEST = (
    "neo4j", "api/page", "own server", "test_pages", "graph/test_conformance", "api/scoring/test_ray", "api/server/test_socket",
    "reasoning/metrics/baselines/test_fed_bertscore", "reasoning/training/test_grade",
    "reasoning/metrics/accent/test_t5", "reasoning/metrics/accent/test_comet", "reasoning/metrics/accent/test_llm_probe",
    "reasoning/explanation/test_claims", "reasoning/models/test_encoder", "api/cli/test_load", "graph/test_loading",
    "reasoning/test_two_processes", "reasoning/training/test_coherence", "api/scoring/test_sharded_runs",
    "api/server/test_openapi", "api/agents/test_transports", "api/scoring/test_work_folder", "attacks/test_service_doors",
    "attacks/test_damaged_stores", "api/cli/test_installed_program",
)  # fmt: skip
ON_SERVER = ("cypher/test_cookbook", "graph/query/test_random_statements")

GraphOf = Callable[[Iterable[Assertion]], KnowledgeGraph]
Stored = Callable[[Iterable[Assertion], Path], Path]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data."""
    folder = Path(os.environ.get("TACIT_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    if not (folder / "conceptnet").is_dir():
        pytest.skip(f"no real data at {folder}; name its folder in TACIT_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def sample() -> Path:
    """The folder of the sample files."""
    with as_file(files("tacit.api") / "sample") as folder:
        return folder


@pytest.fixture(scope="session")
def sample_graph(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample, loaded into an embedded graph; tests only read it."""
    graph = str(tmp_path_factory.mktemp("api") / "sample-graph")
    assert run(["load", "conceptnet", str(sample / "conceptnet.csv"), "--into", graph, "--json"]) == 0
    assert run(["load", "atomic2020", str(sample / "atomic2020.tsv"), "--into", graph, "--json"]) == 0
    return graph


@pytest.fixture(scope="session")
def conceptnet_graph(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of the real ConceptNet in an embedded graph, loaded once for all processes; tests only read it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    graph = folder / "conceptnet"
    with (folder / "conceptnet.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not graph.exists():
            source = str(data_dir / "conceptnet" / "assertions-en.csv.gz")
            assert run(["load", "conceptnet", source, "--into", str(graph), "--quiet"]) == 0
    return graph


@pytest.fixture(scope="session")
def neo4j_script() -> Path:
    """The script that starts and kills Neo4j servers of a test's own."""
    script = Path(os.environ.get("TACIT_NEO4J_SERVER") or REPOSITORY.parent / "shared" / "neo4j" / "neo4j-server")
    if not os.access(script, os.X_OK):
        pytest.skip(f"no neo4j-server script at {script}; name it in TACIT_NEO4J_SERVER")
    return script


@pytest.fixture
def neo4j_url(monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty Neo4j database; credentials are in the environment."""
    url = os.environ.get("TACIT_TEST_NEO4J")
    if not url:
        pytest.skip("no Neo4j server; name one in TACIT_TEST_NEO4J")
    credentials(monkeypatch)
    wipe(url)
    return url


class OwnServer:
    """A Neo4j server that a test may kill."""

    def __init__(self, script: Path, home: Path) -> None:
        self.script, self.home, self.port = script, home, "0"

    def do(self, verb: str, *arguments: str) -> str:
        """Run a verb of the server's script and return what it prints."""
        environment = SHORT_LIVED | os.environ | {"NEO4J_HEAP": "400m", "NEO4J_PAGECACHE": "100m"}
        command = [str(self.script), verb, str(self.home), *arguments]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def start(self) -> str:
        """Start the server, unless it runs, and return its URL, which stays the same."""
        for _ in range(150):  # the port of a killed server is free again when its clients have seen that it is gone
            try:
                printed = self.do("start", self.port).split()
                break
            except subprocess.CalledProcessError as error:
                problem = error
                time.sleep(0.1)
        else:
            raise problem
        url = next(word for word in printed if word.startswith("bolt://"))
        self.port = url.rpartition(":")[2]
        return url


@pytest.fixture(scope="session")
def _own_server(neo4j_script: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    if not os.environ.get("TACIT_TEST_NEO4J"):
        pytest.skip("no Neo4j wanted; name a server in TACIT_TEST_NEO4J")
    server = OwnServer(neo4j_script, tmp_path_factory.mktemp("own") / "server")
    try:
        yield server
    finally:
        subprocess.run([str(neo4j_script), "kill", str(server.home)], check=False, capture_output=True)


@pytest.fixture
def own_server(_own_server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> OwnServer:
    """A server that runs, is empty and may be killed; credentials are in the environment."""
    credentials(monkeypatch)
    wipe(_own_server.start())
    return _own_server


def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the user and password of the test server where tacit looks for them."""
    monkeypatch.setenv("NEO4J_USERNAME", os.environ.get("NEO4J_USERNAME", "neo4j"))
    monkeypatch.setenv("NEO4J_PASSWORD", os.environ.get("NEO4J_PASSWORD", "tacit-test"))


_on_server: list[tuple[tuple[Assertion, ...], str]] = []  # rows and digest of the graph that graph_of left on the server


def wipe(url: str) -> None:
    """Delete every node and relationship, but not the constraints, which cost seconds to make again."""
    import neo4j

    _on_server.clear()
    auth = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", "tacit-test"))
    with neo4j.GraphDatabase.driver(url, auth=auth) as driver, driver.session() as session:
        session.run("MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF 10000 ROWS").consume()
        session.run("MATCH (n) CALL (n) { DELETE n } IN TRANSACTIONS OF 10000 ROWS").consume()


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """A maker of embedded graphs: the same rows are loaded once, and each caller gets a copy in a folder of its own."""
    loaded: dict[tuple[Assertion, ...], Path] = {}

    def copy(rows: Iterable[Assertion], folder: Path) -> Path:
        rows = tuple(rows)
        if rows not in loaded:
            new = tmp_path_factory.mktemp("stored") / "graph"
            with open_graph(new, engine="store", create=True) as store:
                if rows:
                    store.load(rows)
            loaded[rows] = new
        return Path(shutil.copytree(loaded[rows], folder))

    return copy


def _stores(request: pytest.FixtureRequest, kind: str, tmp_path: Path, stack: ExitStack) -> Callable[[], WritableGraph]:
    """Return a maker of empty stores, an embedded one each time or the server's one database."""

    def embedded() -> WritableGraph:
        folder = request.getfixturevalue("stored")((), tmp_path / f"graph-{len(list(tmp_path.iterdir()))}")
        return stack.enter_context(open_graph(folder, engine="store"))

    used = False

    def on_server() -> WritableGraph:
        nonlocal used
        url = request.getfixturevalue("neo4j_url")
        if used:
            wipe(url)
        used = True
        return stack.enter_context(open_graph(url, engine="store"))

    return on_server if "neo4j" in kind else embedded


STORES = ["embedded", pytest.param("neo4j", marks=pytest.mark.neo4j)]
BACKENDS = [*STORES, "index-from-embedded", pytest.param("index-from-neo4j", marks=pytest.mark.neo4j)]


@pytest.fixture(params=STORES)
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], WritableGraph]]:
    """A maker of empty stores of one kind, closed after the test."""
    with ExitStack() as stack:
        yield _stores(request, request.param, tmp_path, stack)


@pytest.fixture(params=BACKENDS)
def graph_of(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphOf]:
    """From rows to a graph that holds them, in one backend after the other, closed after the test.

    The server's graph is not loaded again when the test before had the same rows and has changed nothing.
    """
    with ExitStack() as stack:
        empty = _stores(request, request.param, tmp_path, stack)

        def on_server(rows: tuple[Assertion, ...]) -> WritableGraph:
            url = os.environ.get("TACIT_TEST_NEO4J")
            if url and _on_server and _on_server[0][0] == rows:
                credentials(monkeypatch)
                store = stack.enter_context(open_graph(url, engine="store"))
                if store.manifest().digest == _on_server[0][1]:
                    return store
            store = empty()
            store.load(rows)
            _on_server[:] = [(rows, store.manifest().digest)]
            return store

        def graph(rows: Iterable[Assertion]) -> KnowledgeGraph:
            if "neo4j" in request.param:
                store = on_server(tuple(rows))
            else:
                folder = request.getfixturevalue("stored")(rows, tmp_path / f"graph-{len(list(tmp_path.iterdir()))}")
                store = stack.enter_context(open_graph(folder, engine="store"))
            if not request.param.startswith("index"):
                return store
            return stack.enter_context(open_index(store, directory=tmp_path / "indexes"))

        yield graph


def group_of(nodeid: str) -> str:
    """Which tests share a process when several run: those of one file, and all that ask one Neo4j server."""
    path, _, name = nodeid.partition("::")
    file = path.removeprefix("tests/").removesuffix(".py")
    if any(part in nodeid for part in OWN_SERVER):
        return "own server"
    if "test_real_data_neo4j" in nodeid:  # it makes a server for itself
        return file
    if file.startswith("api/page/"):  # one browser and one service for all of them
        return "api/page"
    return "neo4j" if "neo4j" in f"{file}{name}" or file in ON_SERVER else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let groups of tests, not single ones, go to the processes that ``pytest -n`` starts, in the order of these."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False

    class Groups(LoadScopeScheduling):  # type: ignore[misc,unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Groups(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Compile what is compiled while several processes collect their tests, before each of them compiles it for itself."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        command = [sys.executable, "-m", "tests.compile_searches"]
        compiling = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        config.add_cleanup(compiling.wait)  # type: ignore[arg-type]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put groups with slow tests first where processes share the work, so that these end together.

    A test that asks the one server and whose name does not say so is refused: it would run beside others that empty the server.
    """
    if hasattr(config, "workerinput"):
        groups = Counter(group_of(item.nodeid) for item in items)
        slow = Counter(group_of(item.nodeid) for item in items if item.get_closest_marker("slow"))
        rank = {group: LONGEST.index(group) if group in LONGEST else len(LONGEST) for group in groups}
        order = {group: (rank[group], -slow[group], -groups[group], group) for group in groups}
        items.sort(key=lambda item: order[group_of(item.nodeid)])
    for item in items:
        if "neo4j_url" in getattr(item, "fixturenames", ()) and group_of(item.nodeid) != "neo4j":
            raise pytest.UsageError(f"{item.nodeid} asks for the server; put neo4j into its name, or its file into ON_SERVER")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how to get a server when its tests were skipped."""
    if not os.environ.get("TACIT_TEST_NEO4J"):
        terminalreporter.write_line(HOW_TO_GET_A_SERVER)
