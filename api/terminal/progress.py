"""Progress of long work, on stderr: a bar with rate and time left on a terminal, a plain line now and then elsewhere.

Short work (under two seconds) off a terminal says nothing, so that scripts and logs stay clean. How long the rest will take is
not said in the first five seconds: what is opened, compiled or warmed up then makes any estimate many times too long.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .text import count, duration, rate, size, visible

if TYPE_CHECKING:
    from rich.progress import Progress

_SILENT_SECONDS = 2.0
_LINE_SECONDS = 10.0
_ESTIMATE_SECONDS = 5.0
_REDRAW_SECONDS = 0.1
_LOOK_SECONDS = 0.25

Watch = Callable[[], tuple[int, float, float | None]]


class Meter:
    """Tells how far some work is; a context manager.

    Args:
        label: what is being done, e.g. the file's name.
        total: how much there is in all, in ``unit``; None when nobody knows.
        unit: ``bytes`` or the plural of what is counted.
        noun: what :meth:`add` counts beside, e.g. ``rows``; its rate is shown.
        watch: for work that does not report by itself: asked now and then, from a thread, for the number of the noun, how much
            of the total is done, and the total.
        quiet: say nothing at all.
    """

    def __init__(
        self,
        label: str,
        total: float | None = None,
        *,
        unit: str = "bytes",
        noun: str = "rows",
        watch: Watch | None = None,
        quiet: bool = False,
    ) -> None:
        self.label, self.total, self.unit, self.noun = visible(label), total, unit, noun
        self.done = 0.0
        self.number = 0
        self._behind = 0.0
        self._watch = None if quiet else watch
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._next = self._started if self._terminal else self._started + _SILENT_SECONDS
        self._bar: Progress | None = None
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None

    @property
    def seconds(self) -> float:
        """Time since the work began."""
        return time.monotonic() - self._started

    def __enter__(self) -> Self:
        if self._watch is not None:
            self._watcher = threading.Thread(target=self._look, args=(self._watch,), name="tacit-progress", daemon=True)
            self._watcher.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
        if self._bar is not None:
            self._bar.stop()

    def add(self, number: int = 0, done: float | None = None, total: float | None = None) -> None:
        """Count ``number`` more of the noun; ``done`` is how much of the total is behind (default: the same as was counted)."""
        self.number += number
        self.done = self.done + number if done is None else done
        self.total = self.total if total is None else total
        self._tell()

    def reach(self, step: int, total: float) -> None:
        """Say that ``step`` is done; the steps before the first one told were done by an earlier run, in time of its own."""
        if not self.number:
            self._behind = step - 1.0
        self.add(step - int(self._behind) - self.number, done=step, total=total)

    def _look(self, watch: Watch) -> None:
        """Ask ``watch`` until the work has ended."""
        while not self._ended.wait(_LOOK_SECONDS):
            self.number, self.done, self.total = watch()
            self._tell()

    def _tell(self) -> None:
        """Say how far it is, when it is time to."""
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        if self._terminal:
            bar = self._bar = self._bar or self._draw()
            bar.update(bar.task_ids[0], completed=self.done, total=self.total, status=self._status())
            self._next = now + _REDRAW_SECONDS
        else:
            print(f"{self.label}: {self._share()}{self._status()}", file=sys.stderr, flush=True)
            self._next = now + _LINE_SECONDS

    def _status(self) -> str:
        if not self.number:
            return ""
        parts = [f"{count(self.number)} {self.noun}", f"{rate(self.number / max(self.seconds, 1e-9))}/s"]
        if self.total and self.done >= self.total:
            parts.append("finishing")
        elif self.total and self.done > self._behind and self.seconds >= _ESTIMATE_SECONDS:
            parts.append(f"{duration(self.seconds * (self.total - self.done) / (self.done - self._behind))} left")
        return ", ".join(parts)

    def _share(self) -> str:
        if not self.total:
            return ""
        done = f"{size(self.done)} of {size(self.total)}" if self.unit == "bytes" else f"{self.done:,.0f} of {self.total:,.0f}"
        return f"{self.done / self.total:.0%} ({done}), "

    def _draw(self) -> Progress:
        """A bar, with the first progress there is."""
        from pathlib import PurePath

        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        from .screen import console

        share = "{task.percentage:>3.0f}%" if self.total else ""
        bar = Progress(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24), TextColumn(share, markup=False),
            TextColumn("{task.fields[status]}", style="dim", markup=False),
            console=console(sys.stderr), transient=True, refresh_per_second=8,
        )  # fmt: skip
        bar.add_task(PurePath(self.label).name, total=self.total, status="")
        bar.start()
        return bar


def waiting(label: str, *, quiet: bool) -> Meter:
    """Return a meter of what takes a while and cannot say how far it is; it shows on terminals alone."""
    return Meter(label, None, unit="", noun="", watch=lambda: (0, 0.0, None), quiet=quiet or not sys.stderr.isatty())


class Stages:
    """One meter after the other, as long work goes from stage to stage; a context manager.

    Args:
        noun: from the name of a stage to the plural of what is counted in it.
        quiet: say nothing at all.
    """

    def __init__(self, noun: Callable[[str], str], *, quiet: bool) -> None:
        self._noun, self._quiet = noun, quiet
        self._stage = ""
        self._meter: Meter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Remove the meter of the stage at hand."""
        if self._meter is not None:
            self._meter.__exit__(None, None, None)
            self._meter = None

    def tell(self, stage: str, done: int, total: int) -> None:
        """Show how far ``stage`` is."""
        meter = self._of(stage, total)
        meter.add(done - meter.number, total=total)

    def count(self, stage: str, number: int) -> None:
        """Count ``number`` more in ``stage``, whose end is not known."""
        self._of(stage, None).add(number)

    def _of(self, stage: str, total: int | None) -> Meter:
        if self._meter is None or self._stage != stage:
            self.end()
            noun = self._noun(stage)
            self._stage, self._meter = stage, Meter(stage, total, unit=noun, noun=noun, quiet=self._quiet).__enter__()
        return self._meter
