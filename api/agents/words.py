"""What the server tells a model besides the tools: instructions, the prompt ``ask``, and the text of the resource ``tacit://schema``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    """Return what a graph holds, in words.

    Args:
        info: the answer of ``/v1/info``. meanings: of relations, where A is the head and B the tail.
        linked: whether events are linked to concepts.
    """
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
