"""The reader of KorSTS and of tables like it."""

import math
from pathlib import Path

from elmo_keras.tasks.readers.lines import malformed, table_rows
from elmo_keras.tasks.readers.words import Split, words_and_punctuation
from elmo_keras.tasks.similarity import HIGHEST_SCORE


def read_korsts(path: str | Path, split: Split = words_and_punctuation) -> list[dict]:
    """A table with `sentence1`, `sentence2` and `score`, from 0 to 5, such as KorSTS.

    Gives examples `{"first": […], "second": […], "score": 3.8}`.
    """
    rows = table_rows(path, ("sentence1", "sentence2", "score"))
    return [
        {
            "first": split(first),
            "second": split(second),
            "score": _score(path, number, score),
        }
        for number, (first, second, score) in rows
    ]


def _score(path, number, text):
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not 0 <= score <= HIGHEST_SCORE:
        reason = f"a score from 0 to {HIGHEST_SCORE:g} is expected, not {text!r}"
        raise malformed(path, number, reason)
    return score
