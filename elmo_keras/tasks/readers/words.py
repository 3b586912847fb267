"""Splits raw text into words and punctuation."""

import re
from collections.abc import Callable

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


def words_and_punctuation(text: str) -> list[str]:
    """The tokens of raw text, split like the training text of most language models.

    Words are split at spaces, English contractions as in the Penn Treebank, and
    punctuation is split off, except inside numbers and Latin words (`7.5`, `F-22`).
    Repetitions of one of `.!?~` stay together; other signs are tokens of their own.

    Example:

    >>> words_and_punctuation("I don't... 7.5점, 재밌어요^^")
    ['I', 'do', "n't", '...', '7.5점', ',', '재밌어요', '^', '^']
    """
    return [match.group() for match in _TOKEN.finditer(text)]


Split = Callable[[str], list[str]]  # text → tokens

SPLITS: dict[str, Split] = {"spaces": str.split, "punctuation": words_and_punctuation}
