"""Files of a `TokenDictionary`: this package's, and those of ELMoForManyLangs."""

from collections.abc import Mapping
from typing import Any

from elmo_keras.formats.folders import Folder
from elmo_keras.hub.catalogue import CHARACTERS, WORDS
from elmo_keras.published_options import has_characters
from elmo_keras.token_dictionary import TokenDictionary

MAX_SIZE = 2**28  # bytes
_SPACE = "\u3000"  # the key that stands for white space


def read_dictionary(folder: Folder, options: Mapping[str, Any]) -> TokenDictionary:
    """The dictionary of a model directory: line i of a file is the key of id i."""

    def keys(name):
        return _text(folder.content(name, MAX_SIZE).data, name).removesuffix("\n")

    characters = keys(CHARACTERS) if has_characters(options) else ""
    words = keys(WORDS) if folder.has(WORDS) else ""
    try:
        return TokenDictionary(characters, words)
    except ValueError as error:
        raise ValueError(f"{CHARACTERS} or {WORDS}: {error}") from error


def dictionary_files(dictionary: TokenDictionary) -> dict[str, bytes]:
    texts = {CHARACTERS: dictionary.characters, WORDS: dictionary.words}
    return {name: f"{text}\n".encode() for name, text in texts.items() if text}


def parse_dic(content: bytes, name: str, n_ids: int) -> str:
    """The keys of a `char.dic` or `word.dic`, one on the line of each id.

    A key of white space is missing in effect, because ELMoForManyLangs strips the lines;
    it becomes U+3000, and the last one wins.
    """
    ids: dict[str, int] = {}
    lines = _text(content, name).removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        parts, place = line.strip().split("\t"), f"{name}, line {number},"
        if len(parts) == 1:
            parts.insert(0, _SPACE)
        if len(parts) != 2 or not (parts[1].isascii() and parts[1].isdigit()):
            raise ValueError(
                f"{place} should be a key, a tab and an id. Received: {line[:80]!r}"
            )
        ids[parts[0]] = int(parts[1][:18])
        if ids[parts[0]] >= n_ids:
            raise ValueError(
                f"{place} should have an id below {n_ids}, the number of vectors in "
                f"token_embedder.pkl. Received: {ids[parts[0]]}"
            )
    if len(set(ids.values())) < len(ids):
        raise ValueError(f"{name} should have one id for each key. Some share one.")
    keys = [""] * n_ids
    for key, i in ids.items():
        keys[i] = key
    return "\n".join(keys)


def _text(content, name):
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} should be UTF-8. {error}") from error
