"""Phrases of events: a predicate with its dependents in base form, with participants marked; and the names of participants.

Auxiliaries, connectives and discourse markers are left out and contractions are expanded. A phrase of more than :data:`LONGEST`
words loses its relative clauses first, then its adverbials, so that the event keeps its objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from ..verb_forms import third_person
from .dependency_tree import SUBJECTS, Tree

# Word lists of the rules: English lemmas in lower case.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODALITIES = {
    "want": "want", "wanna": "want", "wish": "want", "hope": "want", "plan": "want", "intend": "want", "like": "like",
    "love": "like", "hate": "hate", "prefer": "like", "need": "need", "try": "try", "have": "must", "get": "must", "go": "will",
    "use": "used", "gon": "will", "suppose": "must",
}  # fmt: skip
"""Verbs whose infinitive complement is the event, with the modality that they express."""

ATTITUDES = _words("think believe know guess suppose feel wonder say tell see hear mean remember hope bet agree forget notice")
"""Verbs of thinking and saying."""

NO_EVENTS = _words("thank welcome excuse please sorry congratulate guess suppose bet mean")
"""Verbs of phatic expressions, which state no event."""

PERSON_NOUNS = _words(
    "mom dad mother father mum mommy daddy parent brother sister son daughter wife husband boyfriend girlfriend friend "
    "uncle aunt grandma grandpa grandmother grandfather cousin boss neighbor roommate teacher doctor guy man woman girl boy "
    "kid baby player someone somebody"
)
"""Nouns for persons, who are participants of a tuple."""

MEN = _words("dad father daddy brother son husband boyfriend uncle grandpa grandfather guy man boy")
WOMEN = _words("mom mother mum mommy sister daughter wife girlfriend aunt grandma grandmother woman girl")

FEELINGS = _words(
    "afraid amazed amused angry annoyed anxious ashamed bad better blue bored calm comfortable concerned confident confused "
    "content crazy curious delighted depressed desperate disappointed disgusted down eager ecstatic embarrassed emotional "
    "envious excited exhausted fine free frustrated furious glad good grateful great guilty happy heartbroken helpless "
    "honored hopeful hopeless horrible hungry hurt impressed inspired interested jealous joyful lonely lost lucky mad "
    "miserable nervous nice nostalgic okay overwhelmed pleased positive proud ready regretful relaxed relieved sad "
    "satisfied scared shocked sick sleepy sorry strange stressed surprised terrible terrified thankful thrilled tired "
    "uncomfortable uneasy unhappy upset weird well wonderful worried worse worst"
)
"""Adjectives for feelings."""

EVALUATIONS = _words(
    "amazing awesome awful beautiful best boring brilliant cool crazy cruel cute dangerous difficult easy excellent "
    "exciting fantastic fine fun funny good great hard hilarious horrible impressive incredible interesting lame lovely "
    "marvelous neat nice odd okay perfect pretty reasonable ridiculous rough sad scary shame silly strange stressful super "
    "surprising sweet terrible tough true unbelievable unfortunate unusual weird wild wonderful"
)
"""Adjectives and nouns that evaluate the preceding utterance."""

EXCLAMATIONS = {
    "wow": "surprised", "yay": "happy", "ouch": "hurt", "ugh": "annoyed", "yikes": "scared", "yuck": "disgusted",
    "hooray": "happy",
}  # fmt: skip
"""Interjections, with the feeling that they express."""

THANKS = _words("thank thanks thankyou thanx thx")
"""Expressions of gratitude."""

DISCOURSE = _words(
    "so then too also just really actually maybe well though however therefore anyway even probably definitely certainly "
    "basically literally honestly absolutely exactly indeed surely perhaps yes yeah no thus still already instead rather better"
)
"""Discourse adverbs, which are not part of the event of their clause."""

_MANNER = frozenset(("better", "well"))
"""Those that are part of the event after its verb: "I don't feel well"."""


# Participants: pronouns of two speakers, and their names PersonX, PersonY and PersonZ.
#
# "I" of one speaker and "you" of the other are one participant; "he", "she" and "they" are further ones. The subject of a tuple's
# head is always PersonX, and others are PersonY and PersonZ in the order in which head and tail mention them, as in the annotated
# tuples of DECO (Ghazarian et al., ACL 2023).

NAMES = ("PersonX", "PersonY", "PersonZ")

Speaker = Literal[0, 1]


class Participant(NamedTuple):
    """A participant in a phrase."""

    who: str  # `0` and `1` for the speakers, else the pronoun or name of a third person
    possessive: bool  # in the genitive
    plain: str  # the word itself, used where no name is left


Phrase = Sequence[str | Participant]

_OWN = {"i": False, "me": False, "myself": False, "we": False, "us": False, "ourselves": False, "my": True, "mine": True,
        "our": True, "ours": True}  # fmt: skip
_OTHER = {"you": False, "yourself": False, "yourselves": False, "ya": False, "u": False, "your": True, "yours": True, "ur": True}
_THIRD = {
    "he": ("he", False), "him": ("he", False), "himself": ("he", False), "his": ("he", True),
    "she": ("she", False), "her": ("she", False), "herself": ("she", False), "hers": ("she", True),
    "they": ("they", False), "them": ("they", False), "themselves": ("they", False), "their": ("they", True),
    "theirs": ("they", True),
}  # fmt: skip


def participant(word: str, speaker: Speaker, *, possessive: bool | None = None) -> Participant | None:
    """Return the participant of a personal pronoun of ``speaker``, else None; ``possessive`` decides ambiguous words ("her")."""
    lower = word.lower()
    if lower in _OWN:
        return Participant(str(speaker), _OWN[lower] if possessive is None else possessive, lower)
    if lower in _OTHER:
        return Participant(str(1 - speaker), _OTHER[lower] if possessive is None else possessive, lower)
    if lower in _THIRD:
        who, owns = _THIRD[lower]
        return Participant(who, owns if possessive is None else possessive, lower)
    return None


def name_participants(phrases: Iterable[Phrase], first: Iterable[str] = ()) -> list[str]:
    """Return the phrases of one tuple with PersonX, PersonY, PersonZ for its participants, those in ``first`` before all
    others."""
    names = dict(zip(dict.fromkeys(first), NAMES, strict=False))
    texts = []
    for phrase in phrases:
        words = []
        for word in phrase:
            if isinstance(word, Participant):
                if word.who not in names and len(names) < len(NAMES):
                    names[word.who] = NAMES[len(names)]
                name = names.get(word.who)
                words.append(word.plain if name is None else f"{name}'s" if word.possessive else name)
            else:
                words.append(word)
        texts.append(" ".join(words))
    return texts


# Phrases out of a parse.

LONGEST = 14
DENIALS = frozenset(("not", "n't", "n’t", "nt", "never", "neither", "hardly"))

_CLAUSAL = "aux aux:pass cop mark cc cc:preconj punct discourse vocative parataxis expl dislocated"
_LEFT_OUT = frozenset((*_CLAUSAL.split(), *SUBJECTS))
_OPTIONAL = (("acl:relcl", "acl", "appos"), ("obl:unmarked", "nmod", "obl", "advmod"), ("ccomp",))
_FULL = {"'m": "is", "'re": "are", "'ll": "will", "'ve": "have", "n't": "not", "ca": "can", "wo": "will", "gonna": "going to"}

Words = tuple[str | Participant, ...]


def phrase_at(tree: Tree, index: int, speaker: Speaker, apart: Collection[int] = (), *, perfect: bool = False) -> Words:
    """Return the predicate in base form (``perfect``: as participle) with its dependents, without subject, negation,
    auxiliaries, and predicates ``apart``."""
    words = tree.words
    dropped = {child for child in tree.children[index] if words[child].relation in _LEFT_OUT or _is_filler(tree, child)}
    positions = tree.below(index, dropped, apart)
    for optional in _OPTIONAL:
        if len(positions) <= LONGEST:
            break
        dropped |= {position for position in positions if words[position].relation in optional and position != index}
        positions = tree.below(index, dropped, apart)
    positions = [position for position in positions if words[position].tag not in ("WP", "WRB") or position >= index]
    first = {position for child in positions if tree.is_time_first(child, index) for position in tree.below(child)}
    positions = sorted(positions, key=lambda position: position in first)  # "yesterday I cooked" as "cook yesterday"
    copula = tree.child(index, "cop")
    verb = index if words[index].pos in ("VERB", "AUX") and copula is None else None
    rendered = rendered_words(tree, positions, speaker, verb=verb, perfect=perfect)[:LONGEST]
    if copula is None:
        return tuple(rendered)
    travelled = words[copula].tag == "VBN" and any(
        words[c].relation == "case" and words[c].lemma == "to" for c in tree.children[index]
    )  # "I have been to Japan"
    return ("been" if perfect else "go" if travelled else "be", *rendered)


def subject_at(tree: Tree, index: int, speaker: Speaker) -> tuple[Words, str, bool]:
    """Return the words of the subject at ``index``, its participant or noun, and whether it is a person."""
    head = tree.words[index]
    whom = participant(head.text, speaker) if head.pos == "PRON" else None
    if whom is not None:
        return (whom._replace(possessive=False),), whom.who, True
    if head.pos == "PROPN" or (head.lemma in PERSON_NOUNS and head.pos == "NOUN"):
        return (Participant(head.lemma, False, head.text),), head.lemma, True
    return tuple(rendered_words(tree, tree.below(index), speaker)), head.lemma, False


def rendered_words(
    tree: Tree, positions: Sequence[int], speaker: Speaker, *, verb: int | None = None, perfect: bool = False
) -> list[str | Participant]:
    """Return the words at ``positions``: pronouns as participants, ``verb`` in its base form or, with ``perfect``, as a
    participle, contractions expanded."""
    rendered: list[str | Participant] = []
    for index in positions:
        word = tree.words[index]
        lower = word.text.lower().replace("’", "'")
        if index == verb:
            if tree.passive(index):
                rendered += ["been" if perfect else "be", lower]
            elif perfect:
                rendered.append(lower)
            else:
                owns = lower == "got" and tree.has_have(index) and tree.child(index, "obj") is not None
                rendered.append("have" if owns else word.lemma)
            continue
        whom = participant(lower, speaker, possessive=word.tag == "PRP$" or None) if word.pos == "PRON" else None
        if whom is not None:
            rendered.append(whom)
        elif word.relation == "punct":
            continue
        elif lower in _FULL:
            rendered.append(_FULL[lower])
        elif lower in ("'s", "'d") and word.pos == "AUX":
            rendered.append({"be": "is", "have": "has"}.get(word.lemma, "would") if lower == "'s" else "would")
        elif word.tag == "VBP" and rendered and isinstance(rendered[-1], Participant):
            rendered.append(third_person(lower))
        elif rendered and lower.startswith("'") and isinstance(rendered[-1], str):
            rendered[-1] += lower
        else:
            rendered.append(word.text if word.pos == "PROPN" else lower)
    return rendered


def _is_filler(tree: Tree, index: int) -> bool:
    """Whether the word at ``index`` negates, or is a discourse marker, and so is not part of the event."""

    word = tree.words[index]
    if tree.ends(index):
        return True
    if word.relation == "advmod":
        if tree.is_degree(index):
            return False
        text = word.text.lower()
        manner = text in _MANNER and index > word.head
        return text in DENIALS or (text in DISCOURSE and not manner and not tree.children[index])
    return word.relation == "obl" and word.lemma == "way" and any(tree.words[c].lemma == "by" for c in tree.children[index])
