"""The metric ``coherence`` and the four it is made of: does this response follow from what was said before it?

``similarity``, ``association``, ``selection`` and ``repetition`` each look at one thing and are metrics of their own;
``coherence`` weighs them as a logistic regression found best for telling true responses from random and repeated ones.
"""

from __future__ import annotations
