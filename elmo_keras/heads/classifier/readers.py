"""Reads labelled texts."""

from pathlib import Path

from elmo_keras.heads.labels import read_labelled
from elmo_keras.heads.reading import read_rows
from elmo_keras.text.tokenizers import Tokenizer, split_words


def read_texts(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """Labelled texts of a table: `{"tokens": […], "label": …}`, or `"labels": […]`.

    The columns are `text` and `label`, or `labels` for none or several: a list in JSON,
    separated by commas in other tables. A `text` that is a list in JSON holds tokens.
    """
    return read_labelled(read_rows(path), path, split, {"text": "tokens"})
