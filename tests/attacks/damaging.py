"""Run in a process of its own: damages copies of a graph in many ways and says how each damaged copy answers."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = 4096


def flip_bit(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def blank_page(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = draw.randrange(len(data)) // PAGE * PAGE
    page = data[start : start + PAGE]
    data[start : start + PAGE] = (b"\xff" if not any(page) else b"\0") * len(page)
    path.write_bytes(data)


def cut(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size))


def grow(path: Path, draw: random.Random) -> None:
    with path.open("ab") as file:
        file.write(draw.randbytes(draw.randrange(1, 2 * PAGE)))


def exchange_pages(path: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    pages = [data[start : start + PAGE] for start in range(0, len(data), PAGE)]
    first, second = draw.randrange(len(pages)), draw.randrange(len(pages))
    if pages[first] == pages[second]:
        flip_bit(path, draw)
        return
    pages[first], pages[second] = pages[second], pages[first]
    path.write_bytes(b"".join(pages))


DAMAGES: list[Callable[[Path, random.Random], None]] = [flip_bit, flip_bit, blank_page, cut, grow, exchange_pages]


def answers(graph: Any) -> str:
    """Everything that a small graph can be asked, as one text."""
    uris = sorted({uri for row in graph.assertions() for uri in (row.head, row.tail) if uri.startswith("/c/")})
    some = uris[:: max(1, len(uris) // 12)]
    return repr(
        [
            graph.counts(),
            graph.manifest().digest,
            graph.resolve([uri.split("/")[-1] for uri in some]),
            [graph.neighbours(uri, hop, None) for uri in some for hop in (1, 2)],
            graph.hop_distances(some, some).tolist(),
            graph.triples_between(some[:6], some[6:]),
            graph.count_triples(some, some, 2),
            [graph.paths(some[0], uri) for uri in some],
            graph.tails("/e/event_0"),
            graph.heads("event_1"),
            sorted(graph.assertions()),
        ]
    )


def store_answers(folder: Path) -> str:
    """The answers of the store in ``folder``."""
    from tacit.graph import open_graph

    with open_graph(folder, engine="store") as store:
        return answers(store)


def index_answers(folder: Path) -> str:
    """The answers of the index of the graph in ``folder``, opened as it is, never built."""
    from tacit.graph import open_graph
    from tacit.graph.index import open_index_directory

    (home,) = (path for path in (folder / "index").iterdir() if not path.name.startswith("."))
    with open_graph(folder, engine="store") as store, open_index_directory(home, store) as index:
        return answers(index)


def table_answers(folder: Path) -> str:
    """What the table of events of the graph in ``folder`` holds, opened as it is, never built."""
    from tacit.reasoning.metrics.accent.tails.event_table import EventTable

    (home,) = (path for path in (folder / "events").iterdir() if not path.name.startswith("."))
    table = EventTable(home)
    return repr([[(text, table.rows(head, name)) for name in table.relations] for head, text in enumerate(table.heads)])


def graph_answers(folder: Path) -> str:
    """The answers of the graph in ``folder`` as ``open_graph`` gives it, which builds a damaged index again."""
    from tacit.graph import open_graph

    with open_graph(folder, progress=False) as graph:
        return answers(graph)


def table_of_graph(folder: Path) -> str:
    """What the table of events holds as metrics open it, which build a damaged one again."""
    from tacit.graph import open_graph
    from tacit.reasoning.metrics.accent.tails.event_table import open_table

    with open_graph(folder) as graph:
        open_table(graph)
    return table_answers(folder)


PARTS: dict[str, tuple[str, Callable[[Path], str], Callable[[Path], str] | None]] = {
    "store": ("graph.lbug*", store_answers, None),
    "index": ("index/*/*", index_answers, graph_answers),
    "events": ("events/*/*", table_answers, table_of_graph),
}


def main(source: str, other: str, work: str, part: str, first: int, last: int) -> None:
    """Print, for the undamaged graph and then for each case in ``first..last``, a JSON row: what was done and what came of it."""
    pattern, direct, usual = PARTS[part]
    want = direct(Path(source))
    usual_want = usual(Path(source)) if usual else None
    for number in range(first, last):
        draw = random.Random(f"{part} {number}")
        folder = Path(work) / f"case-{number}"
        shutil.copytree(source, folder)
        file = draw.choice(sorted(path for path in folder.glob(pattern) if path.is_file()))
        before = file.read_bytes()
        relative = file.relative_to(folder)
        twins = sorted(Path(other).glob(pattern))
        if number % 7 == 6:
            done = "swapped"
            shutil.copyfile(next(path for path in twins if path.name == file.name), file)
        else:
            damage = DAMAGES[number % len(DAMAGES)]
            done = damage.__name__
            damage(file, draw)
        row = {"case": number, "file": str(relative), "done": done, "changed": file.read_bytes() != before}
        row["direct"] = outcome(direct, folder, want)
        if usual is not None:
            row["usual"] = outcome(usual, folder, usual_want)
        print(json.dumps(row), flush=True)
        shutil.rmtree(folder)


def outcome(ask: Callable[[Path], str], folder: Path, want: str | None) -> str:
    """``equal``, ``other``, ``refused: …`` with the sentence, or ``traceback: …``."""
    from tacit.graph import TacitError

    try:
        return "equal" if ask(folder) == want else "other"
    except TacitError as error:
        return f"refused: {error}"
    except BaseException as error:
        return f"traceback: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main(*sys.argv[1:5], *map(int, sys.argv[5:7]))  # type: ignore[call-arg,arg-type]
