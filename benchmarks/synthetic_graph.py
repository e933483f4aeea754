"""A seeded graph with the sizes and the heavy hubs of ConceptNet's English part, for measurements without the download.

Every concept is the head of at least one assertion; further heads and all tails are drawn by power laws over concepts, so that
a few hubs have a large part of all assertions (the first about 200,000, the twentieth 11,000), more than those of ConceptNet. As
a program it writes the assertions in ConceptNet 5.7's format.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from tacit.graph.model import Assertion

NODES = 1_170_000
EDGES = 3_400_000

_RELATIONS = (
    "RelatedTo",
    "IsA",
    "Synonym",
    "DerivedFrom",
    "FormOf",
    "UsedFor",
    "AtLocation",
    "HasContext",
    "CapableOf",
    "Antonym",
)
_SHARES = (0.40, 0.18, 0.10, 0.09, 0.08, 0.04, 0.03, 0.04, 0.02, 0.02)
_WEIGHTS = (1.0, 2.0, 0.5, 3.464, 2.828, 0.25, 4.472, 5.291)
_WEIGHT_SHARES = (0.70, 0.12, 0.06, 0.04, 0.04, 0.02, 0.01, 0.01)
_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def _power_law(random: np.random.Generator, nodes: int, count: int, exponent: float) -> NDArray[np.int64]:
    """Draw ``count`` nodes, node k with probability proportional to (k + 1) ** -exponent."""
    edges = np.cumsum(np.arange(1, nodes + 1, dtype=np.float64) ** -exponent)
    drawn: NDArray[np.int64] = np.searchsorted(edges, random.random(count) * edges[-1]).clip(0, nodes - 1)
    return drawn


def word(number: int) -> str:
    """Return a pronounceable word, a different one for each number."""
    parts = []
    while True:
        number, syllable = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[syllable])
        if not number:
            return "".join(reversed(parts))
        number -= 1


def synthetic_rows(nodes: int = NODES, edges: int = EDGES, seed: int = 20) -> Iterator[Assertion]:
    """Yield ``edges`` distinct assertions over ``nodes`` concepts, the same ones for the same arguments.

    Raises:
        ValueError: there are fewer edges than nodes.
    """
    if edges < nodes:
        raise ValueError(f"{edges} edges cannot touch {nodes} nodes; give at least as many edges as nodes")
    random = np.random.default_rng(seed)
    spare = edges // 5
    heads = np.concatenate([np.arange(nodes), _power_law(random, nodes, edges - nodes + spare, 0.6)])
    tails = _power_law(random, nodes, len(heads), 1.0)
    tails = np.where(tails == heads, (tails + 1) % nodes, tails)
    relations = random.choice(len(_RELATIONS), len(heads), p=_SHARES)
    weights = random.choice(len(_WEIGHTS), len(heads), p=_WEIGHT_SHARES)
    keys = (heads * nodes + tails) * len(_RELATIONS) + relations
    distinct = np.sort(np.unique(keys, return_index=True)[1])[:edges]
    if len(distinct) < edges:
        raise ValueError(f"only {len(distinct)} distinct assertions could be drawn; ask for more nodes or fewer edges")
    names = [f"/c/en/{word(number)}" for number in random.permutation(nodes).tolist()]
    columns = (heads[distinct].tolist(), tails[distinct].tolist(), relations[distinct].tolist(), weights[distinct].tolist())
    for head, tail, relation, weight in zip(*columns, strict=True):
        yield Assertion(
            names[head], _RELATIONS[relation], names[tail], _WEIGHTS[weight], "conceptnet", "/d/synthetic", "cc0", "/s/synthetic"
        )


def _line(row: Assertion) -> str:
    about = '{"dataset": "/d/synthetic", "license": "cc:by/4.0", "sources": [{"contributor": "/s/synthetic"}], "weight": %s}'
    uri = f"/a/[/r/{row.relation}/,{row.head}/,{row.tail}/]"
    return "\t".join((uri, f"/r/{row.relation}", row.head, row.tail, about % row.weight)) + "\n"


def main() -> None:
    """Write the graph to standard output."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()
    sys.stdout.writelines(_line(row) for row in synthetic_rows(options.nodes, options.edges, options.seed))


if __name__ == "__main__":
    main()
