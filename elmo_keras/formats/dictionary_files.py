"""The files of a `TokenDictionary` in a model directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_keras.hub.catalogue import CHARACTERS, WORDS
from elmo_keras.published_options import has_characters
from elmo_keras.text.files import whole_file
from elmo_keras.token_dictionary import TokenDictionary

_MAX_SIZE = 2**28  # bytes


def read_dictionary(folder: Path, options: Mapping[str, Any]) -> TokenDictionary:
    """The dictionary of a model directory: line i of a file is the key of id i."""
    characters = words = ""
    if has_characters(options):
        characters = read_text(folder / CHARACTERS).removesuffix("\n")
    if (folder / WORDS).exists():
        words = read_text(folder / WORDS).removesuffix("\n")
    try:
        return TokenDictionary(characters, words)
    except ValueError as error:
        raise ValueError(f"{CHARACTERS} or {WORDS}: {error}") from error


def dictionary_files(dictionary: TokenDictionary) -> dict[str, bytes]:
    texts = {CHARACTERS: dictionary.characters, WORDS: dictionary.words}
    return {name: f"{text}\n".encode() for name, text in texts.items() if text}


def read_text(path: Path) -> str:
    try:
        return whole_file(path, _MAX_SIZE).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} should be UTF-8. {error}") from error
