"""How pictures look: sizes in pixels, and colours that the colour-blind and a grey print tell apart.

The two hues are Okabe and Ito's blue and vermillion (Color Universal Design, 2008); what they say is said again by dashes, signs
or places, so no meaning hangs on colour alone.
"""

from __future__ import annotations

from .scene import By

INK = "#1b1f24"
QUIET = "#57606a"
FAINT = "#d5dae0"
PAPER = "#f6f8fa"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
GREY = "#8a94a0"
HISTORY = "#dcebf7"
HISTORY_EDGE = "#5a9bc9"
RESPONSE = "#d9f0e6"
RESPONSE_EDGE = "#4fa98a"

COLOUR = {By.GRAPH: BLUE, By.MODEL: VERMILLION, By.LIKENESS: GREY}
DASHES = {By.GRAPH: "", By.MODEL: "7 4", By.LIKENESS: "2 4"}

MARGIN = 24.0
TEXT = 13.0
SMALL = 11.5
TINY = 10.5
LEAD = 18.0

THINNEST, THICKEST = 1.2, 5.0
LIKENESS_MOST = 2.0


def signed(share: float) -> str:
    """A share with its sign, in at most seven letters: three decimals, four where three show nothing, fewer for large ones."""
    size = abs(share)
    if size >= 10:
        text = f"{share:+.2f}" if size < 100 else f"{share:+.0f}" if size < 1e5 else f"{share:+.0e}"
    else:
        text = f"{share:+.3f}" if size >= 0.0005 or share == 0 else f"{share:+.4f}"
    return "±0" if text.strip("+-") == "0.0000" else text.replace("-", "−", 1)


def valued(value: float) -> str:
    """A score: three decimals, or two behind the first digit of a large one."""
    return (f"{value:.3f}" if abs(value) < 1e5 else f"{value:.2e}").replace("-", "−", 1)


def thickness(part: float, most: float, by: By) -> float:
    """How thick a line is whose chain has ``part`` when the strongest has ``most``; a likeness is no more than a thread."""
    thick = THINNEST + (THICKEST - THINNEST) * (part / most if most > 0 else 0.0)
    return min(thick, LIKENESS_MOST) if by is By.LIKENESS else thick
