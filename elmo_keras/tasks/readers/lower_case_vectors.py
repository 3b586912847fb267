"""The vectors of a text's words in lower case, from a file that may tell cases apart."""

import collections
from collections.abc import Iterable, Sequence
from pathlib import Path

from elmo_keras.tasks.readers.word_vector_file import (
    WordVectorFile,
    read_word_vectors,
)


def read_lower_case_vectors(
    path: str | Path, sentences: Iterable[Sequence[str]]
) -> WordVectorFile:
    """Reads the vectors of the words of sentences, for `TokenVectors`.

    A word has the vector of its lower-case form or, where the file lacks this form, the
    vector of the form that is most frequent in the sentences.

    Args:
        path: see `read_word_vectors`.
        sentences: lists of tokens.

    Returns:
        The words that have a vector, in lower case, the most frequent one first.

    Raises:
        ValueError, OSError: see `read_word_vectors`.
    """
    forms = _forms(sentences)
    wanted = {form for of_word in forms.values() for form in of_word}
    file = read_word_vectors(path, wanted)
    rows = {form: row for row, form in enumerate(file.words)}
    chosen = {
        word: next((rows[form] for form in of_word if form in rows), None)
        for word, of_word in forms.items()
    }
    chosen = {word: row for word, row in chosen.items() if row is not None}
    return WordVectorFile(tuple(chosen), file.vectors[list(chosen.values())])


def _forms(sentences):
    """The forms of each word by preference: lower case, then by frequency."""
    counts = collections.Counter(token for tokens in sentences for token in tokens)
    forms: dict[str, list[str]] = {}
    for token in sorted(counts, key=lambda token: (-counts[token], token)):
        forms.setdefault(token.lower(), [token.lower()]).append(token)
    return forms
