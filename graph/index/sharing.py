"""Work on many independent rows, shared out to the machine's cores by threads that live as long as the work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

_WORTH_A_THREAD = 2_000  # rows: below, starting a thread costs more than it saves


def share_out(rows: int, work: Callable[[slice], None]) -> None:
    """Call ``work`` on slices that together make ``range(rows)``, at the same time on as many cores as are worth it.

    The slices change nothing in the result as long as rows do not depend on each other.

    Raises:
        BaseException: whatever ``work`` raised first, once all slices are done.
    """
    parts = max(1, min(_cores(), rows // _WORTH_A_THREAD))
    slices = [slice(rows * part // parts, rows * (part + 1) // parts) for part in range(parts)]
    errors: list[BaseException] = []

    def guarded(part: slice) -> None:
        try:
            work(part)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(part,), daemon=True) for part in slices[1:]]
    for thread in threads:
        thread.start()
    guarded(slices[0])
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
