"""The forms under which a text may stand in the graph: as written, without its article, then lemmatised.

Lemmas come from detachment rules and irregular forms, as in WordNet's *morphy* (Fellbaum 1998): every rule proposes a candidate
and the graph's own vocabulary decides, so a wrong guess costs a look-up and nothing else. No language model is needed.
"""

from __future__ import annotations

from .names import concept_uri, normalise_term

_ARTICLES = ("a_", "an_", "the_")

_DETACHMENTS = (
    ("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"),
    ("zes", "z"), ("oes", "o"), ("es", "e"), ("es", ""), ("s", ""),
    ("ied", "y"), ("ed", "e"), ("ed", ""), ("ying", "ie"), ("ing", "e"), ("ing", ""),
    ("iest", "y"), ("ier", "y"), ("est", "e"), ("est", ""), ("er", "e"), ("er", ""),
)  # fmt: skip

_DOUBLED = ("ing", "ed", "er", "est")

_IRREGULAR = {
    form: lemma
    for lemma, forms_ in {
        "be": "am is are was were been being", "have": "has had having", "do": "does did done", "go": "goes went gone",
        "become": "became", "begin": "began begun", "bite": "bit bitten", "blow": "blew blown", "break": "broke broken",
        "bring": "brought", "build": "built", "buy": "bought", "catch": "caught", "choose": "chose chosen", "come": "came",
        "draw": "drew drawn", "drink": "drank drunk", "drive": "drove driven", "eat": "ate eaten", "fall": "fell fallen",
        "feed": "fed", "feel": "felt", "fight": "fought", "find": "found", "fly": "flew flown", "forget": "forgot forgotten",
        "get": "got gotten", "give": "gave given", "grow": "grew grown", "hear": "heard", "hide": "hid hidden", "hold": "held",
        "keep": "kept", "know": "knew known", "lead": "led", "leave": "left", "lend": "lent", "lie": "lay lain", "lose": "lost",
        "make": "made", "mean": "meant", "meet": "met", "pay": "paid", "ride": "rode ridden", "ring": "rang rung",
        "rise": "rose risen", "run": "ran", "say": "said", "see": "saw seen", "sell": "sold", "send": "sent",
        "shake": "shook shaken",
        "shine": "shone", "shoot": "shot", "sing": "sang sung", "sink": "sank sunk", "sit": "sat", "sleep": "slept",
        "speak": "spoke spoken", "spend": "spent", "stand": "stood", "steal": "stole stolen", "stick": "stuck",
        "swim": "swam swum", "take": "took taken", "teach": "taught", "tear": "tore torn", "tell": "told", "think": "thought",
        "throw": "threw thrown", "understand": "understood", "wake": "woke woken", "wear": "wore worn", "win": "won",
        "write": "wrote written", "man": "men", "woman": "women", "child": "children", "person": "people", "tooth": "teeth",
        "foot": "feet", "mouse": "mice", "goose": "geese", "ox": "oxen", "louse": "lice", "die": "dice", "leaf": "leaves",
        "good": "better best", "bad": "worse worst", "far": "farther further", "little": "less least",
    }.items()
    for form in forms_.split()
}  # fmt: skip


def lemmas(word: str) -> list[str]:
    """Return the lemmas that ``word`` (lower case, one word) may have, most likely first; never ``word`` itself."""
    candidates = [_IRREGULAR[word]] if word in _IRREGULAR else []
    for suffix, replacement in _DETACHMENTS:
        stem = word.removesuffix(suffix)
        if stem == word or len(stem) < 2:
            continue
        if suffix in _DOUBLED and not replacement and len(stem) > 2 and stem[-1] == stem[-2]:
            candidates.append(stem[:-1])
        candidates.append(stem + replacement)
    return [c for c in dict.fromkeys(candidates) if c != word and len(c) > 1]


def forms(text: str, language: str = "en") -> list[str]:
    """Return the concept URIs under which ``text`` may be known, in the order in which they should be tried.

    Surface form, without article, then each again with its last word and then its first word lemmatised (``dogs`` -> ``dog``,
    ``hot dogs`` -> ``hot dog``, ``riding a bike`` -> ``ride a bike``). English only past the surface form. A concept URI is
    its own only form; a text with no term in it has none.
    """
    if text.startswith("/c/"):
        return [text]
    term = normalise_term(text)
    if not term.replace("/", "").strip("_"):
        return []
    surfaces = [term]
    if language == "en":
        surfaces += [term.removeprefix(article) for article in _ARTICLES if term.startswith(article)]
        for surface in tuple(surfaces):
            first, *rest = surface.split("_")
            surfaces += ["_".join([first, *rest[:-1], lemma]) for lemma in lemmas(rest[-1])] if rest else lemmas(first)
            surfaces += ["_".join([lemma, *rest]) for lemma in lemmas(first)] if rest else []
    return [concept_uri(surface, language) for surface in dict.fromkeys(surfaces) if surface.strip("/_")]
