"""Sentences of running text, by a rule."""

import re
from collections.abc import Iterator

from elmo_keras.text.tokenizers import Span, word_spans

LONGEST = 4000  # characters; a longer sentence is cut at a space, or anywhere
_ABBREVIATIONS = (
    "adm al apr approx apt aug ave bros c ca capt cf ch cmdr co col corp cpl ct dec "
    "dept dr ed eds eg e.g esp est etc feb fig figs fr ft gen gov hon i.e inc jan jr jul "
    "jun lt ltd maj mar messrs mme mr mrs ms mt nov oct op p pp ph.d pres prof pvt "
    "rep rev rt sec sen sep sept sgt sr st ste u.k u.n u.s univ v vol vols vs"
).split()
_END = re.compile(
    r"""
    (?<! [.!?…؟।] ) [.!?…؟।]++ ['"”’)\]»」』]*+       # the end of a sentence
    (?= \s++ ['"“‘(\[«「『¿¡]*+ [^\W_a-z] )       # and the start of the next
    | [。！？]++ ['"”’)\]»」』]*+
    | \n [^\S\n]*+ (?= \n )                      # or an empty line
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"(?:^|[\s('\"“‘\[])([^\s('\"“‘\[]*)$")


def sentence_spans(text: str) -> list[Span]:
    """Where the sentences of a text begin and end, without white space around them.

    A sentence ends at `.`, `!`, `?` or `…`, with closing quotes and brackets, before white
    space and what doesn't begin in lower case; not after an abbreviation or the initial of
    a name. It also ends at `。` and at an empty line.

    >>> text = 'Dr. Kim met J. Lee. "Why?" he asked.'
    >>> [text[begin:end] for begin, end in sentence_spans(text)]
    ['Dr. Kim met J. Lee.', '"Why?" he asked.']
    """
    spans, begin = [], 0
    for match in _END.finditer(text):
        if match[0] == "." and _is_abbreviation(text, match.start()):
            continue
        spans += _pieces(text, begin, match.end())
        begin = match.end()
    return [*spans, *_pieces(text, begin, len(text))]


def sentence_words(text: str) -> Iterator[list[Span]]:
    """Where the words of each sentence begin and end in a text, as `split_words` splits it."""
    for begin, end in sentence_spans(text):
        if spans := word_spans(text[begin:end]):
            yield [(begin + first, begin + last) for first, last in spans]


def _is_abbreviation(text, dot):
    word = _LAST_WORD.search(text, max(0, dot - 20), dot)
    if word is None:
        return False
    word = word[1]
    is_initial = len(word) == 1 and word.isalpha() and word.isupper() and word != "I"
    return is_initial or word.lower() in _ABBREVIATIONS


def _pieces(text, begin, end):
    """A sentence without the white space around it, in pieces of the longest length."""
    while begin < end:
        stop = min(end, begin + LONGEST)
        if stop < end:
            space = max(text.rfind(character, begin, stop) for character in " \n\t")
            stop = space if space > begin else stop
        piece = text[begin:stop]
        if stripped := piece.strip():
            first = begin + piece.index(stripped)
            yield first, first + len(stripped)
        begin = stop
