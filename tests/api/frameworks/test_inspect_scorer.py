"""The scorer against inspect_ai itself: ``eval`` with its mock model, aggregates, the log, and the entry point."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from .conftest import EDGE, HISTORY, NO_WORDS, RESPONSE, needs

needs("inspect_ai")
from inspect_ai import Task, eval, score  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import (  # noqa: E402
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.solver import Generate, TaskState, solver  # noqa: E402
from tacit.api.frameworks.inspect_scorer import tacit_scorer  # noqa: E402
from tacit.api.frameworks.response_scorer import ResponseScorer  # noqa: E402
from tacit.graph import InputError  # noqa: E402

ROOT = Path(__file__).parents[3]


def model_output(text: str) -> ModelOutput:
    """An output of the mock model, with its use of tokens: else it would count them with a vocabulary from the network."""
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage()
    return output


def run(samples: list[Sample], outputs: list[str], scorer: Any, **task: Any) -> Any:
    """Return the log of an evaluation in which the model says ``outputs`` in order."""
    model = get_model("mockllm/model", custom_outputs=[model_output(text) for text in outputs])
    (log,) = eval(Task(dataset=samples, scorer=scorer, **task), model=model, display="none", max_samples=1)
    assert log.status == "success", log.error
    return log


@pytest.fixture
def log(graph: str) -> Any:
    """An evaluation of three responses, of which one cannot be judged."""
    talk = [
        ChatMessageSystem(content="My wallet was stolen."),
        ChatMessageUser(content=HISTORY[0]),
        ChatMessageAssistant(content="Oh dear."),
        ChatMessageUser(content="What can I do?"),
    ]
    samples = [Sample(input=HISTORY[0]), Sample(input=talk), Sample(input=HISTORY[0])]
    return run(samples, [RESPONSE, "Look in the park.", "?!"], tacit_scorer(["grounding", "length"], graph=graph, threshold=0.5))


def test_each_sample_has_value_explanation_and_metadata(log: Any, graph: str) -> None:
    judge = ResponseScorer(["grounding", "length"], graph=graph)
    first = log.samples[0].scores["tacit"]
    own, length = judge(HISTORY, RESPONSE)
    assert first.value == own.value
    assert first.answer == RESPONSE
    assert EDGE in first.explanation
    assert first.metadata == {
        "metric": "grounding", "percentile": own.percentile, "signature": own.signature, "label": "pass",
        "others": [{"metric": "length", "value": 6.0, "percentile": None, "signature": length.signature}],
    }  # fmt: skip


def test_the_history_is_the_messages_without_those_of_the_system(log: Any, graph: str) -> None:
    turns = [HISTORY[0], "Oh dear.", "What can I do?"]
    own = ResponseScorer(["grounding", "length"], graph=graph)(turns, "Look in the park.")
    assert log.samples[1].scores["tacit"].value == own[0].value
    assert EDGE in log.samples[1].scores["tacit"].explanation


def test_a_response_that_cannot_be_judged_is_left_out_of_the_means(log: Any) -> None:
    none = log.samples[2].scores["tacit"]
    assert math.isnan(none.value)
    assert none.reason == "not_judged"
    assert none.metadata["note"] == NO_WORDS
    (result,) = log.results.scores
    assert (result.scored_samples, result.unscored_samples) == (2, 1)
    values = [sample.scores["tacit"].value for sample in log.samples[:2]]
    assert result.metrics["mean"].value == pytest.approx(sum(values) / 2)
    assert result.metrics["stderr"].value == pytest.approx(abs(values[0] - values[1]) / 2)


def test_the_log_names_the_arguments_and_can_be_read_back(log: Any, graph: str) -> None:
    (back,) = [read_eval_log(str(path)) for path in Path("logs").glob("*.eval")]
    assert back.eval.scorers[0].options == {"metrics": ["grounding", "length"], "graph": graph, "threshold": 0.5}
    assert back.samples[0].scores["tacit"].value == log.samples[0].scores["tacit"].value
    assert math.isnan(back.samples[2].scores["tacit"].value)


def test_a_log_is_scored_afterwards(log: Any, graph: str) -> None:
    again = score(log, tacit_scorer("length", graph=graph), action="overwrite", display="none")
    assert [sample.scores["tacit"].value for sample in again.samples] == [6.0, 4.0, 0.0]


def test_a_response_that_a_solver_adds_is_scored() -> None:
    @solver
    def replay() -> Any:
        async def solve(state: TaskState, _generate: Generate) -> TaskState:
            state.messages.append(ChatMessageAssistant(content="I like tea."))
            return state

        return solve

    log = run([Sample(input="I like tea.")], [], tacit_scorer("repetition"), solver=replay())
    assert log.samples[0].scores["tacit"].answer == "I like tea."
    assert log.samples[0].scores["tacit"].value > 0.5


def test_the_target_is_the_reference() -> None:
    pytest.importorskip("rouge_score", reason="needs pip install 'tacit-kg[baselines]'")
    log = run([Sample(input="Hello.", target="Good day to you.")], ["Good day to you."], tacit_scorer("rouge_l"))
    assert log.samples[0].scores["tacit"].value == 1.0


def test_wrong_arguments_are_refused_before_the_evaluation() -> None:
    with pytest.raises(InputError, match="unknown metric"):
        tacit_scorer("groundng")


def test_the_entry_point_names_the_module() -> None:
    (point,) = [point for point in entry_points(group="inspect_ai") if point.name == "tacit"]
    assert point.load() is sys.modules[tacit_scorer.__module__]


def test_an_installed_plugin_is_found_by_its_name(tmp_path: Path) -> None:
    """inspect_ai gives names of packages in site-packages a prefix; the checkout is shown to it there."""
    site = tmp_path / "site-packages" / "tacit"
    site.mkdir(parents=True)
    for folder in ("graph", "loaders", "reasoning", "api", "cypher"):
        (site / folder).symlink_to(ROOT / folder)
    (site / "__init__.py").symlink_to(ROOT / "api" / "front" / "__init__.py")
    program = f"import sys; sys.path.insert(0, {str(site.parent)!r})\n" + (
        "from inspect_ai._util.registry import registry_create\n"
        "print(type(registry_create('scorer', 'tacit/tacit', metrics='length')).__name__)"
    )
    outcome = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert outcome.stdout.strip() == "function", outcome.stderr
