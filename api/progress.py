"""Progress of long work, on stderr: a bar with rate and time left on a terminal, a plain line now and then elsewhere.

Short work (under two seconds) off a terminal says nothing, so that scripts and logs stay clean.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .text import count, duration, size, visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SILENT_SECONDS = 2.0
_LINE_SECONDS = 10.0
_REDRAW_SECONDS = 0.1


class Meter:
    """Tells how far some work is; a context manager.

    Args:
        label: what is being done, e.g. the file's name.
        total: how much there is in all, in ``unit``; None when nobody knows.
        unit: ``bytes`` or the plural of what is counted.
        noun: what :meth:`add` counts beside, e.g. ``rows``; its rate is shown.
        quiet: say nothing at all.
    """

    def __init__(self, label: str, total: float | None = None, *, unit: str = "bytes", noun: str = "rows", quiet: bool = False):
        self.label, self.total, self.unit, self.noun = label, total, unit, noun
        self.done = 0.0
        self.number = 0
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._next = self._started if self._terminal else self._started + _SILENT_SECONDS
        self._bar: Progress | None = None

    @property
    def seconds(self) -> float:
        """Time since the work began."""
        return time.monotonic() - self._started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, number: int = 0, done: float | None = None, total: float | None = None) -> None:
        """Count ``number`` more of the noun; ``done`` is how much of the total is behind (default: the same as was counted)."""
        self.number += number
        self.done = self.done + number if done is None else done
        self.total = self.total if total is None else total
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        if self._terminal:
            bar, task = self._drawn()
            bar.update(task, completed=self.done, total=self.total, status=self._status())
            self._next = now + _REDRAW_SECONDS
        else:
            print(f"{visible(self.label)}: {self._share()}{self._status()}", file=sys.stderr, flush=True)
            self._next = now + _LINE_SECONDS

    def _status(self) -> str:
        rate = self.number / max(self.seconds, 1e-9)
        parts = [f"{count(self.number)} {self.noun}", f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"]
        if self.total and self.done:
            parts.append(f"{duration(max(0.0, self.seconds * (self.total - self.done) / self.done))} left")
        return ", ".join(parts)

    def _share(self) -> str:
        if not self.total:
            return ""
        done = f"{size(self.done)} of {size(self.total)}" if self.unit == "bytes" else f"{self.done:,.0f} of {self.total:,.0f}"
        return f"{self.done / self.total:.0%} ({done}), "

    def _drawn(self) -> tuple[Progress, TaskID]:
        """The bar, drawn with the first progress there is."""
        if self._bar is not None:
            return self._bar, self._bar.task_ids[0]
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        from .screen import console

        share = "{task.percentage:>3.0f}%" if self.total else ""
        self._bar = Progress(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TextColumn(share, markup=False),
            TextColumn("{task.fields[status]}", style="dim", markup=False),
            console=console(sys.stderr), transient=True, refresh_per_second=8,
        )  # fmt: skip
        task = self._bar.add_task(visible(self.label), total=self.total, status="")
        self._bar.start()
        return self._bar, task
