"""The scripts of the languages that the package has models for."""

import re

SCRIPTS = {
    "en": re.compile("[A-\u024f]"),
    "ko": re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]"),  # and jamo
}


def is_in_script(text: str, language: str) -> bool:
    """Whether at least half of a text's letters are of a language's script.

    >>> is_in_script("Ann은 서울에 산다", "ko"), is_in_script("1990 ...", "ko")
    (True, True)
    """
    letters = "".join(filter(str.isalpha, text))
    return 2 * len(SCRIPTS[language].findall(letters)) >= len(letters)
