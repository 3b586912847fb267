"""English text that every Python installation carries: its language reference."""

import pydoc_data.topics
import re

_TOKEN = re.compile(r"\w+(?:['’]\w+)?|([^\w\s])\1*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"“(]?[A-Z])")
_PROSE = re.compile(r"(?:[*\d\[][\d.\]]* )?[\"“(*]*[A-Z].*[.:!?]\)?", re.DOTALL)
_NOT_PROSE = re.compile(r"::=|>>>|\|  |---|Related help topics")


def python_reference() -> list[list[list[str]]]:
    """The sentences of Python's language reference, topic by topic.

    A sentence that occurs in several topics is returned once, so that no held-out
    sentence is also a training sentence. Headings, tables, code and grammar are left
    out.

    Returns:
        For each topic its sentences, each a list of tokens: words, and runs of one
        other character.
    """
    seen: set[tuple[str, ...]] = set()
    topics = []
    for text in pydoc_data.topics.topics.values():
        sentences = []
        for sentence in _sentences(text):
            if tuple(sentence) not in seen:
                seen.add(tuple(sentence))
                sentences.append(sentence)
        topics.append(sentences)
    return topics


def _sentences(text):
    for paragraph in re.split(r"\n\s*\n", text):
        prose = " ".join(paragraph.split())
        if not _PROSE.fullmatch(prose) or _NOT_PROSE.search(paragraph):
            continue
        for sentence in _SENTENCE_END.split(prose):
            yield [match.group() for match in _TOKEN.finditer(sentence)]
