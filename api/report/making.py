"""From a run's rows to its report: what ``tacit score --html`` does besides scoring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...graph.errors import InputError
from ..terminal.output import check_output, write_whole
from ..terminal.progress import Meter
from ..terminal.screen import note
from .collected import Collected

if TYPE_CHECKING:
    from ...reasoning import Explanation
    from ..scale.plan import Plan


class Reporting:
    """A report in the making.

    Attributes:
        collected: is told of every row, by its method ``add``.
    """

    def __init__(self, target: Path, plan_names: list[str], file: str, output: Path | None = None) -> None:
        """Report to ``target`` on the run of ``file`` into ``output`` by the metrics ``plan_names``.

        Raises:
            InputError: ``target`` cannot be written, or is the input or the output.
        """
        if check_output(target, file) == (output and output.resolve()):
            raise InputError(f"{target} is for the scores; write the report to another file")
        self.target = target
        self.collected = Collected(plan_names)

    def read(self, plan: Plan, output: Path, *, quiet: bool) -> None:
        """Tell :attr:`collected` of every row of a finished output: for a run that did not score, or not here, all of it.

        Raises:
            InputError: the output does not hold the scores of the plan's file.
        """
        from ..scale.running import read_scores

        with Meter("reading the scores", unit="items", noun="items", quiet=quiet) as meter:
            for row in read_scores(plan, output):
                self.collected.add(row)
                meter.add(1)

    def finish(self, plan: Plan, signatures: Mapping[str, str], *, quiet: bool) -> None:
        """Explain the worst and the best items and write the report; the metrics are opened once more for that.

        Raises:
            InputError: the report cannot be written.
            GraphUnavailable: the graph went away.
        """
        from ...reasoning.registry import METRIC_REGISTRY
        from .page import report_page

        facts, explanations = self._explained(plan)
        summaries = {name: summary for name in plan.names if (summary := METRIC_REGISTRY.summary(name))}
        name = "standard input" if plan.file == "-" else Path(plan.file).name
        text = report_page(f"Scores of {name}", self.collected, facts, signatures, summaries, explanations)
        write_whole(self.target, text.encode())
        if not quiet:
            note(f"report written to {self.target}")

    def _explained(self, plan: Plan) -> tuple[list[tuple[str, str]], dict[tuple[str, int], Explanation]]:
        """What stands at the head of the report, and the explanations of the extremes by metric and place."""
        from importlib.metadata import version

        tally = self.collected.tally
        facts = [("scored", f"{tally.scored:,}"), ("not scored", f"{tally.errors:,}"), ("tacit", version("tacit-kg"))]
        explanations: dict[tuple[str, int], Explanation] = {}
        with plan.open(quiet=True) as reasoner:
            if reasoner.graph is not None:
                manifest = reasoner.graph.manifest()
                facts.insert(0, ("graph", f"{manifest.digest}, {manifest.assertions:,} assertions"))
            metrics = {metric.name: metric for metric in reasoner.metrics}
            for name, column in self.collected.columns.items():
                rows = {place: item for _, place, item in [*column.worst(), *column.best()]}
                from ...reasoning import Explanation

                for place, item in rows.items():
                    score = metrics[name].score_batch([item], explain=True)[0]
                    explanations[name, place] = Explanation(item.history, item.response, score)
        return facts, explanations
