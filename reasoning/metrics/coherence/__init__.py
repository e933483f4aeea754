"""The metric ``coherence`` and the four metrics that it combines: does the response follow from the history?

``similarity``, ``association``, ``selection`` and ``repetition`` are metrics of their own; ``coherence`` weighs them by a
logistic regression that was trained to tell true responses from random and repeated ones.
"""

from __future__ import annotations
