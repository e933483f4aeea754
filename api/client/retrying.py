"""When to ask again, and after how long: full-jitter exponential back-off within a bound of time.

Every request of the service is a question, so that asking it twice does no harm. See "Exponential Backoff And Jitter", AWS
Architecture Blog, 2015: a wait drawn evenly from zero to a bound that doubles spreads clients best.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time

AGAIN = (429, 503)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client goes on asking.

    Attributes:
        retries: asks again at most so often; 0 never.
        seconds: gives up where the next wait would end later than this after the first request.
        first, longest: bound of the first wait, doubled each time, and of any, in seconds. What the service asks for in
            Retry-After comes on top of the drawn wait, so that clients sent away together do not come back together.
    """

    retries: int = 8
    seconds: float = 60.0
    first: float = 0.2
    longest: float = 10.0

    def wait(self, attempt: int, spent: float, asked: str | None = None) -> float | None:
        """Return the seconds to wait before asking again, None to give up.

        Args:
            attempt: requests made so far, >= 1; spent: seconds since the first of them.
            asked: the value of Retry-After, seconds or an HTTP date; None without one.
        """
        if attempt > self.retries:
            return None
        bound = min(self.longest, self.first * 2.0 ** min(attempt - 1, 60))
        wait = random.uniform(0.0, bound) + retry_after(asked)
        return wait if spent + wait <= self.seconds else None


def retry_after(value: str | None) -> float:
    """Return the seconds that a Retry-After header asks for, 0 where it asks for none or cannot be read."""
    if value is None:
        return 0.0
    try:
        return (
            max(0.0, float(value)) if value.strip().isdecimal() else max(0.0, parsedate_to_datetime(value).timestamp() - time())
        )
    except ValueError:
        return 0.0
