"""Splits raw text into words and punctuation."""

import re
from collections.abc import Callable

from elmo_keras.tasks.readers.combining_marks import joined_at_marks

_CONTRACTION = r"(?:n['’]t|['’](?:s|m|re|ve|ll|d))(?![^\W_])"
_TOKEN = re.compile(
    rf"""
    {_CONTRACTION}
    | (?: (?!{_CONTRACTION})
          (?: [^\W_] | (?<=[a-z0-9]) [.,'’·/-] (?=[a-z0-9]) ) )+
      (?: (?<=[0-9]) % )?
    | ([.!?~]) \1*
    | [^\w\s] | _
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ASCII_SPACES = re.compile(r"[ \t\n\r\v\f]+")


def words_and_punctuation(text: str) -> list[str]:
    """The tokens of raw text, split like the training text of most language models.

    Words are split at spaces, English contractions as in the Penn Treebank, and
    punctuation is split off, except inside numbers and Latin words (`7.5`, `F-22`).
    Repetitions of one of `.!?~` stay together; other signs are tokens of their own.
    Combining marks stay in their word.

    Example:

    >>> words_and_punctuation("I don't... 7.5점, 재밌어요^^")
    ['I', 'do', "n't", '...', '7.5점', ',', '재밌어요', '^', '^']
    """
    spans = (match.span() for match in _TOKEN.finditer(text))
    return [text[begin:end] for begin, end in joined_at_marks(text, spans)]


def split_at_spaces(text: str) -> list[str]:
    """The tokens of text that is split already, separated by ASCII white space.

    Files of the language model are read in the same way: a token may hold other white
    space, such as the no-break space of `2\\xa01/2`.
    """
    return [token for token in _ASCII_SPACES.split(text) if token]


Split = Callable[[str], list[str]]  # text → tokens

SPLITS: dict[str, Split] = {
    "spaces": split_at_spaces,
    "punctuation": words_and_punctuation,
}
