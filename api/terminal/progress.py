"""Progress on stderr: a bar with rate and remaining time on a terminal, otherwise a line of text every ten seconds.

Without a terminal nothing is printed in the first two seconds, so that scripts and logs stay clean. The remaining time is shown
after five seconds, since start-up costs make earlier estimates far too long. In a notebook the bar is part of the cell's output
and disappears when the work is done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .screen import duration, plural, rate, size, visible

if TYPE_CHECKING:
    from rich.progress import Progress

_SILENT_SECONDS = 2.0
_LINE_SECONDS = 10.0
_ESTIMATE_SECONDS = 5.0
_REDRAW_SECONDS = 0.1
_POLL_SECONDS = 0.25

Watch = Callable[[], tuple[int, float, float | None]]


class Meter:
    """A progress bar, as a context manager.

    Args:
        label: what is done, e.g. a file's name.
        total: total amount in ``unit``; None: unknown.
        noun: what :meth:`add` counts, in the plural; its rate is shown. Default: rows of a file whose total is in bytes.
        unit: of the total, where it is not what is counted.
        watch: for work that does not call :meth:`add`: polled from a thread for the count, the amount done, and the total.
    """

    def __init__(
        self,
        label: str,
        total: float | None = None,
        *,
        noun: str = "",
        unit: str = "",
        watch: Watch | None = None,
        quiet: bool = False,
    ) -> None:
        self.label, self.total, self.unit, self.noun = visible(label), total, unit or noun or "bytes", noun or "rows"
        self.done = 0.0
        self.number = 0
        self._resumed = 0.0
        self._watch = None if quiet else watch
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._notebook = not self._terminal and in_notebook()
        self._started = time.monotonic()
        self._next = self._started if self._terminal else self._started + _SILENT_SECONDS
        self._bar: Progress | None = None
        self._output: Any = None  # IPython's handle of the bar in a notebook
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the meter was created."""
        return time.monotonic() - self._started

    def __enter__(self) -> Self:
        if self._watch is not None:
            self._watcher = threading.Thread(target=self._poll, args=(self._watch,), name="tacit-progress", daemon=True)
            self._watcher.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
        if self._bar is not None:
            self._bar.stop()
        if self._output is not None:
            self._output.update({"text/html": ""}, raw=True)

    def add(self, number: int = 0, done: float | None = None, total: float | None = None) -> None:
        """Add ``number`` to the count; ``done``: amount of the total that is done (default: the count)."""
        self.number += number
        self.done = self.done + number if done is None else done
        self.total = self.total if total is None else total
        self._show()

    def advance_to(self, step: int, total: float) -> None:
        """Set the progress to ``step``; steps before the first reported one were done by an earlier run and do not count."""
        if not self.number:
            self._resumed = step - 1.0
        self.add(step - int(self._resumed) - self.number, done=step, total=total)

    def _poll(self, watch: Watch) -> None:
        """Poll ``watch`` until the meter is closed."""
        while not self._ended.wait(_POLL_SECONDS):
            self.number, self.done, self.total = watch()
            self._show()

    def _show(self) -> None:
        """Draw the bar or print a line, if it is time to."""
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        if self._terminal:
            bar = self._bar = self._bar or self._draw()
            bar.update(bar.task_ids[0], completed=self.done, total=self.total, status=self._status())
            self._next = now + _REDRAW_SECONDS
        elif self._notebook:
            self._show_in_notebook()
            self._next = now + _POLL_SECONDS
        else:
            print(f"{self.label}: {self._percentage()}{self._status()}", file=sys.stderr, flush=True)
            self._next = now + _LINE_SECONDS

    def _show_in_notebook(self) -> None:
        """Show the bar in the output of the cell."""
        share = f' value="{min(self.done / self.total, 1.0):.4f}"' if self.total else ""  # without a value the bar moves
        bar = f"<div>{escape(self.label)} <progress{share}></progress> <small>{escape(self._status())}</small></div>"
        if self._output is None:
            self._output = sys.modules["IPython"].display.display({"text/html": bar}, raw=True, display_id=True)
        else:
            self._output.update({"text/html": bar}, raw=True)

    def _status(self) -> str:
        if not self.number:
            return ""
        parts = [plural(self.number, self.noun.removesuffix("s")), f"{rate(self.number / max(self.seconds, 1e-9))}/s"]
        if self.total and self.done >= self.total:
            parts.append("finishing")
        elif self.total and self.done > self._resumed and self.seconds >= _ESTIMATE_SECONDS:
            parts.append(f"{duration(self.seconds * (self.total - self.done) / (self.done - self._resumed))} left")
        return ", ".join(parts)

    def _percentage(self) -> str:
        if not self.total:
            return ""
        done = f"{size(self.done)} of {size(self.total)}" if self.unit == "bytes" else f"{self.done:,.0f} of {self.total:,.0f}"
        return f"{self.done / self.total:.0%} ({done}), "

    def _draw(self) -> Progress:
        """Create the bar, at the first progress."""
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        from .screen import console

        share = "{task.percentage:>3.0f}%" if self.total else ""
        bar = Progress(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TextColumn(share, markup=False),
            TextColumn("{task.fields[status]}", style="dim", markup=False),
            console=console(sys.stderr), transient=True, refresh_per_second=8,
        )  # fmt: skip
        bar.add_task(Path(self.label).name, total=self.total, status="")
        bar.start()
        return bar


def shows_progress(output: Path | None, quiet: bool) -> bool:
    """Return whether a command that writes rows to ``output`` shows a progress bar: not between rows on the same terminal."""
    return not quiet and not (output is None and sys.stdout.isatty())


def count_ahead(file: str, read: Callable[[str], Iterable[object]], *, shown: bool) -> int | None:
    """Return the number of records that ``read`` yields, for a progress bar.

    None where no terminal shows the bar, or the file cannot be read twice.
    """
    if not shown or not sys.stderr.isatty() or file == "-" or not Path(file).is_file():
        return None
    return sum(1 for _ in read(file)) or None


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def waiting(label: str, *, quiet: bool) -> Meter:
    """Return a spinner for work of unknown progress; shown on terminals only."""
    return Meter(label, None, watch=lambda: (0, 0.0, None), quiet=quiet or not sys.stderr.isatty())


class Stages:
    """Progress of work in several stages, with one meter at a time; ``noun`` gives what a stage counts, in the plural."""

    def __init__(self, noun: Callable[[str], str], *, quiet: bool) -> None:
        self._noun, self._quiet = noun, quiet
        self._stage = ""
        self._meter: Meter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Remove the meter of the current stage."""
        if self._meter is not None:
            self._meter.__exit__(None, None, None)
            self._meter = None

    def report(self, stage: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are done in ``stage``."""
        meter = self._of(stage, total)
        meter.add(done - meter.number, total=total)

    def count(self, stage: str, number: int) -> None:
        """Add ``number`` to the count of ``stage``, whose total is unknown."""
        self._of(stage, None).add(number)

    def _of(self, stage: str, total: int | None) -> Meter:
        if self._meter is None or self._stage != stage:
            self.end()
            noun = self._noun(stage)
            self._stage, self._meter = stage, Meter(stage, total, noun=noun, quiet=self._quiet).__enter__()
        return self._meter
