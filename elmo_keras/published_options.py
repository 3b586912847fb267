"""The published `options.json`: its keys, read and written."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_keras.token_dictionary import TokenDictionary
from elmo_keras.util.command import shortened
from elmo_keras.util.files import whole_file

# Field of `ElmoConfig` → where the published options.json keeps it.
_PUBLISHED_KEYS = {
    "units": ("lstm", "dim"),
    "projection_dim": ("lstm", "projection_dim"),
    "n_layers": ("lstm", "n_layers"),
    "cell_clip": ("lstm", "cell_clip"),
    "proj_clip": ("lstm", "proj_clip"),
    "use_skip_connections": ("lstm", "use_skip_connections"),
    "filters": ("char_cnn", "filters"),
    "n_highway": ("char_cnn", "n_highway"),
    "activation": ("char_cnn", "activation"),
    "char_embedding_dim": ("char_cnn", "embedding", "dim"),
    "max_characters_per_token": ("char_cnn", "max_characters_per_token"),
}
# Not published: how this package turns words into characters. Readers of the
# published format ignore sections that they don't know.
_OWN_KEYS = {
    "unicode_normalization": ("elmo_keras", "unicode_normalization"),
    "cut_at": ("elmo_keras", "cut_at"),
    "word_embedding_dim": ("elmo_keras", "word_embedding_dim"),
}
_KEYS = _PUBLISHED_KEYS | _OWN_KEYS

# bilm-tf and AllenNLP require 262 at prediction (the 261 of training and the id 0
# of masked positions); a file written by training says 261.
_N_CHARACTERS = ("char_cnn", "n_characters")

# What identifies the files of a dictionary, which are beside the options.
_DICTIONARY = ("elmo_keras", "dictionary_sha256")

MAX_OPTIONS = 2**20  # bytes of an options.json


def read_options(path: str | Path) -> dict[str, Any]:
    content = whole_file(path, MAX_OPTIONS)
    try:
        options = json.loads(content.decode())
    except RecursionError as error:
        raise ValueError(f"{path} should hold JSON. It is nested too deep.") from error
    except ValueError as error:
        raise ValueError(f"{path} should hold JSON. {error}") from error
    if not isinstance(options, dict):
        raise ValueError(
            f"{path} should hold a JSON object. Received: {shortened(options)}"
        )
    return options


def has_dictionary(options: Mapping[str, Any]) -> bool:
    return _lookup(options, _DICTIONARY) is not None


def has_characters(options: Mapping[str, Any]) -> bool:
    return _lookup(options, _N_CHARACTERS) != 0


def field_values(
    options: Mapping[str, Any], dictionary: TokenDictionary | None
) -> dict[str, Any]:
    """The fields of an `ElmoConfig` that the options give; keys for training are ignored."""
    _check_characters(options, dictionary)
    values = {field: _lookup(options, path) for field, path in _KEYS.items()}
    present = {field: value for field, value in values.items() if value is not None}
    for field in ("units", "projection_dim", "filters"):
        if field not in present:
            key = ".".join(_KEYS[field])
            raise ValueError(
                f"The options lack `{key}`. Received: {shortened(options)}"
            )
    # In a published file a missing key means "none", not the default.
    absent = dict(
        n_layers=1,
        n_highway=0,
        cell_clip=None,
        proj_clip=None,
        use_skip_connections=False,
    )
    return absent | present


def _check_characters(options, dictionary):
    """Refuses options of other characters than bytes or those of the dictionary."""
    n_characters = _lookup(options, _N_CHARACTERS)
    digest = _lookup(options, _DICTIONARY)
    if digest != (dictionary and dictionary.digest):
        raise ValueError(
            "The options should come with the dictionary of characters and words that "
            f"the model was trained with, of SHA-256 {shortened(digest)}. Received: "
            f"{dictionary and dictionary.digest}. Put its files back."
        )
    if dictionary is None and n_characters not in (261, 262, None):
        raise ValueError(
            "`char_cnn.n_characters` should be 261 (training) or 262 "
            f"(prediction). Received: {shortened(n_characters)}"
        )


def options_of(
    fields: Mapping[str, Any],
    defaults: Mapping[str, Any],
    dictionary: TokenDictionary | None,
) -> dict[str, Any]:
    """The content of an `options.json`; fields of this package only, where they differ."""
    options: dict[str, Any] = {}
    for field, path in _KEYS.items():
        value = fields.get(field, defaults[field])
        if field in _PUBLISHED_KEYS or value != defaults[field]:
            _insert(options, path, value)
    if dictionary is None:
        _insert(options, _N_CHARACTERS, 262)
    else:
        _insert(options, _N_CHARACTERS, dictionary.n_characters)
        _insert(options, _DICTIONARY, dictionary.digest)
    return options


def _lookup(options, path):
    for key in path:
        options = options.get(key) if isinstance(options, Mapping) else None
    return options


def _insert(options, path, value):
    for key in path[:-1]:
        options = options.setdefault(key, {})
    options[path[-1]] = value
