"""The assertion as promptfoo calls it: the file of the page in a process of its own, with its arguments and result as JSON files.

promptfoo itself is not run: it is a program for Node.js with hundreds of packages. Its protocol is taken from its source: it
starts ``python wrapper.py SCRIPT METHOD INPUT OUTPUT``, where INPUT holds the arguments as a JSON list; the wrapper imports
SCRIPT from its own folder, calls METHOD and writes ``{"type": "final_result", "data": …}`` to OUTPUT. Of an object promptfoo
demands that ``pass`` is a boolean, ``score`` a number and ``reason`` a text.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tacit.api.frameworks.promptfoo_assert import get_assert
from tacit.graph import InputError

from tests.doc_pages import blocks

from .conftest import EDGE, HISTORY, NO_WORDS, RESPONSE

(FILE,) = [block.text for block in blocks() if block.page == "docs/frameworks.md" and block.file == "tacit_assert.py"]
WRAPPER = """
import importlib.util, json, sys
from pathlib import Path
script, method, given, answer = sys.argv[1:]
sys.path.insert(0, str(Path(script).resolve().parent))
spec = importlib.util.spec_from_file_location(Path(script).stem, script)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
result = getattr(module, method)(*json.loads(Path(given).read_text(encoding="utf-8")))
Path(answer).write_text(json.dumps({"type": "final_result", "data": result}, allow_nan=False), encoding="utf-8")
"""


def call(output: Any, context: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Call the page's file as promptfoo does; the answer is in ``answer.json``."""
    for name, text in (("wrapper.py", WRAPPER), ("tacit_assert.py", FILE), ("given.json", json.dumps([output, context]))):
        Path(name).write_text(text, encoding="utf-8")
    command = [sys.executable, "wrapper.py", "tacit_assert.py", "get_assert", "given.json", "answer.json"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def of_prompt(prompt: str, **config: Any) -> dict[str, Any]:
    """The context of a test without variables."""
    return {"prompt": prompt, "vars": {}, "test": {"vars": {}}, "config": config}


def check_grading_result(result: Any) -> None:
    """Check what promptfoo checks."""
    assert type(result["pass"]) is bool
    assert type(result["score"]) is float
    assert type(result["reason"]) is str
    assert all(type(value) is float for value in result.get("namedScores", {}).values())
    for part in result.get("componentResults", []):
        check_grading_result(part)


def test_promptfoo_gets_a_grading_result(graph: str) -> None:
    outcome = call(RESPONSE, of_prompt(HISTORY[0], metrics=["grounding", "length"], graph=graph, threshold=0.5))
    assert outcome.returncode == 0, outcome.stderr
    answer = json.loads(Path("answer.json").read_text(encoding="utf-8"))
    assert answer["type"] == "final_result"
    result = answer["data"]
    check_grading_result(result)
    assert result["pass"] is True
    assert result["namedScores"] == {"grounding": result["score"], "length": 6.0}
    assert EDGE in result["reason"]
    assert result["metadata"]["metric"] == "grounding"
    assert result["metadata"]["label"] == "pass"
    assert [part["score"] for part in result["componentResults"]] == [result["score"], 6.0]
    assert result == get_assert(RESPONSE, of_prompt(HISTORY[0], metrics=["grounding", "length"], graph=graph, threshold=0.5))


def test_promptfoo_gets_the_reason_of_an_error() -> None:
    result = call(RESPONSE, of_prompt(HISTORY[0], metrics="groundng"))
    assert result.returncode == 1
    assert "unknown metric 'groundng'" in result.stderr.splitlines()[-1]
    assert not Path("answer.json").exists()


def test_the_threshold_decides_pass_or_fail(graph: str) -> None:
    high = get_assert(RESPONSE, of_prompt(HISTORY[0], metrics="grounding", graph=graph, threshold=0.99))
    assert (high["pass"], high["componentResults"][0]["pass"], high["metadata"]["label"]) == (False, False, "fail")
    assert get_assert("Then read.", of_prompt(HISTORY[0], metrics="grounding", graph=graph))["pass"] is True


def test_unjudged_responses_fail_unless_configured(graph: str) -> None:
    result = get_assert("?!", of_prompt(HISTORY[0], metrics=["grounding", "length"], graph=graph))
    check_grading_result(result)
    assert (result["pass"], result["score"], result["namedScores"]) == (False, 0.0, {"length": 0.0})
    assert NO_WORDS in result["reason"]
    assert result["metadata"]["note"] == NO_WORDS
    assert get_assert("?!", of_prompt(HISTORY[0], metrics="grounding", graph=graph, unjudged="pass"))["pass"] is True


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I like tea."},
    {"role": "assistant", "content": "Tea is good."},
    {"role": "user", "content": "What else?"},
]
TURNS = ["I like tea.", "Tea is good.", "What else?"]


@pytest.mark.parametrize(
    ("context", "repeated"),
    [
        ({"prompt": json.dumps(MESSAGES)}, True),
        ({"prompt": "I like tea."}, False),
        ({"prompt": "x", "vars": {"history": TURNS}}, True),
        ({"prompt": "x", "vars": {"history": json.dumps(TURNS)}}, True),
        ({"prompt": "x", "vars": {"history": "\n".join(TURNS)}}, True),
        ({"prompt": "x", "vars": {"history": MESSAGES}}, True),
        ({"prompt": "x", "vars": {"talk": TURNS}, "config": {"history": "talk"}}, True),
        ({"prompt": "[1, 2"}, False),
    ],
)
def test_the_history_is_a_variable_or_the_prompt(context: dict[str, Any], repeated: bool) -> None:
    context = context | {"config": context.get("config", {}) | {"metrics": "repetition"}}
    assert (get_assert("Tea is good.", context)["score"] > 0.5) is repeated


@pytest.mark.parametrize(
    ("output", "context", "reason"),
    [
        ("a", {"prompt": "x", "config": {"metric": "length"}}, "unknown setting 'metric'"),
        ("a", {"prompt": "x", "config": {"unjudged": "skip"}}, "give fail or pass"),
        ({"a": 1}, {"prompt": "x"}, "the output is of type dict"),
        ("a", {"prompt": "x", "config": {"history": "talk", "metrics": "length"}}, "no variable 'talk'"),
        ("a", {"vars": {}, "config": {"metrics": "length"}}, "neither a variable 'history' nor a prompt"),
        ("a", {"vars": {"history": 3}, "config": {"metrics": "length"}}, "'history' cannot be read as a history"),
        ("a", {"vars": {"history": [{"text": "b"}]}, "config": {"metrics": "length"}}, "list of objects with role and content"),
    ],
)
def test_wrong_settings_are_named(output: Any, context: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        get_assert(output, context)
