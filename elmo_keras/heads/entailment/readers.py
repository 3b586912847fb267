"""Reads labelled pairs of texts."""

from pathlib import Path

from elmo_keras.heads.labels import read_labelled
from elmo_keras.heads.reading import read_rows
from elmo_keras.text.tokenizers import Tokenizer, split_words


def read_pairs(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """Pairs of a table with the columns `premise`, `hypothesis` and `label`."""
    fields = {name: name for name in ("premise", "hypothesis")}
    return read_labelled(read_rows(path), path, split, fields)
