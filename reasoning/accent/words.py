"""Word lists that the rules read: verbs of wanting and of attitude, people, feelings, fillers of talk. English, in lower case."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODALITIES = {
    "want": "want", "wanna": "want", "wish": "want", "hope": "want", "plan": "want", "intend": "want", "like": "like",
    "love": "like", "hate": "hate", "prefer": "like", "need": "need", "try": "try", "have": "must", "get": "must", "go": "will",
    "use": "used", "gon": "will", "suppose": "must",
}  # fmt: skip
"""Verbs whose infinitive complement is the event, by the modality that they put it under."""

ATTITUDES = _words("think believe know guess suppose feel wonder say tell see hear mean remember hope bet agree forget notice")
"""Verbs of what somebody thinks or says of something."""

NO_EVENTS = _words("thank welcome excuse please sorry congratulate guess suppose bet mean")
"""Verbs that only keep the talk going."""

PEOPLE = _words(
    "mom dad mother father mum mommy daddy parent brother sister son daughter wife husband boyfriend girlfriend friend "
    "uncle aunt grandma grandpa grandmother grandfather cousin boss neighbor roommate teacher doctor guy man woman girl boy "
    "kid baby player someone somebody"
)
"""Nouns whose bearer acts as a person of the tuple."""

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
"""Adjectives of how somebody feels."""

EVALUATIONS = _words(
    "amazing awesome awful beautiful best boring brilliant cool crazy cruel cute dangerous difficult easy excellent "
    "exciting fantastic fine fun funny good great hard hilarious horrible impressive incredible interesting lame lovely "
    "marvelous neat nice odd okay perfect pretty reasonable ridiculous rough sad scary shame silly strange stressful super "
    "surprising sweet terrible tough true unbelievable unfortunate unusual weird wild wonderful"
)
"""Adjectives and nouns that judge what was said before."""

EXCLAMATIONS = {
    "wow": "surprised", "yay": "happy", "ouch": "hurt", "ugh": "annoyed", "yikes": "scared", "yuck": "disgusted",
    "hooray": "happy",
}  # fmt: skip
"""Interjections by the feeling that they show."""

THANKS = _words("thank thanks thankyou thanx thx")
"""Words of gratitude."""

TIMES = _words(
    "yesterday today tomorrow tonight morning afternoon evening night midnight noon day weekday weekend week month year century "
    "decade hour minute moment time summer winter spring autumn fall monday tuesday wednesday thursday friday saturday sunday "
    "january february april june july august september october november december christmas thanksgiving easter halloween"
)
"""Nouns that name a time; "may" and "march" are more often verbs."""

DISCOURSE = _words(
    "so then too also just really actually maybe well though however therefore anyway even probably definitely certainly "
    "basically literally honestly absolutely exactly indeed surely perhaps yes yeah no thus still already instead"
)
"""Adverbs that place a clause in the talk and are no part of its event."""
