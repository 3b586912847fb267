"""The scripts of the languages that the package has models for."""

import itertools
import re
from collections.abc import Iterable, Iterator

N_SAMPLED = 100  # lines of a text whose letters choose its language
SCRIPTS = {
    "en": re.compile("[A-\u024f]"),
    "ko": re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]"),  # syllables and jamo
}


def is_in_script(text: str, language: str) -> bool:
    """Whether at least half of a text's letters are of a language's script.

    >>> is_in_script("Ann은 서울에 산다", "ko"), is_in_script("1990 ...", "ko")
    (True, True)
    """
    letters = "".join(filter(str.isalpha, text))
    return 2 * len(SCRIPTS[language].findall(letters)) >= len(letters)


def package_model(sample: str) -> str:
    """The name of the package's language model for a text, by the script of its letters.

    >>> package_model("A word"), package_model("한국어 낱말")
    ('en', 'ko')
    """
    for language in SCRIPTS:
        if is_in_script(sample, language):
            return language
    raise ValueError(
        "The package has models for English and Korean, and most letters of the text are "
        "of another script. Name a model."
    )


def package_model_of(
    lines: Iterable[bytes], n_sampled: int = N_SAMPLED
) -> tuple[str, Iterator[bytes]]:
    """The package's model for the script of the first lines, and all lines.

    >>> name, lines = package_model_of(iter([b"", "한국어".encode()]), 1)
    >>> name, len([*lines])
    ('ko', 2)
    """
    lines, first = iter(lines), []
    for line in lines:
        first.append(line)
        if len(first) >= n_sampled and line.strip():
            break
    sample = b" ".join(first).decode(errors="replace")
    return package_model(sample), itertools.chain(first, lines)
