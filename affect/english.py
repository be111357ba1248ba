"""Whether a text may be English: a lexicon of English words finds some in any language ("die Stadt", "je me plains").

Function words give a language away within a sentence. Each list has the commonest words of one language that are no
English words, but for "die" and "war", which stand in every second German sentence.
"""

from __future__ import annotations

import re
from typing import Final

_WORD = re.compile(r"\b[^\W\d_]+\b")

_ENGLISH = """
a about all also am an and any are as at be been but by can could did do does for from get got had has have he her here
him his how i if in is it its just like my no not now of on one only or our out she should so some such than that the
their them then there these they this those to too up us very was we were what when where which who why will with would
yes you your
"""
_GERMAN = """
aber auch auf das dem der die ein eine einen es habe haben hat ich ihr ist kann mit nicht noch nur oder sehr sich sie
sind und von war wenn wie wir wird zu zum zur für über
"""
_DUTCH = "aan dat deze een heb het hij ik je maar meer met naar niet nog ook op uit van voor wat wel zijn"
_FRENCH = """
au aux avec ce ces cette dans des elle est et il ils je la le les leur mais ne nous ou pas pour qui sont sur très un
une vous ça être
"""
_SPANISH_PORTUGUESE = """
como con da del el en eso esta está este las lo los mas mi mucho muito muy más não nos para pero por que se ser sin sua
também tem todo uma é
"""
_ITALIAN = "anche che ci della di gli ho il molto nel più questo sono è"
_NORDIC = "att av det du ett för har inte jag med men och og på som till är"

_KNOWN: Final = frozenset(_ENGLISH.split())
_FOREIGN: Final = frozenset(" ".join((_GERMAN, _DUTCH, _FRENCH, _SPANISH_PORTUGUESE, _ITALIAN, _NORDIC)).split())


def may_be_english(text: str) -> bool:
    """Tell whether a text has as many English function words as foreign ones; with none of either it may be."""
    english = foreign = 0
    for word in _WORD.findall(text.lower()):
        english += word in _KNOWN
        foreign += word in _FOREIGN
    return english >= foreign
