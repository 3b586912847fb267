"""The published `options.json` of a model, from and to its configuration."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_keras.base.argument_checks import shortened
from elmo_keras.base.files import naming_damage, whole_file
from elmo_keras.config import ElmoConfig
from elmo_keras.hub.catalogue import MAX_OPTIONS
from elmo_keras.text.dictionary import TokenDictionary

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
# Not published. Readers of the published format ignore sections that they don't know.
_OWN = (
    "unicode_normalization",
    "cut_at",
    "tokenizer",
    "word_embedding_dim",
    "lstm_projection",
)
_KEYS = _PUBLISHED_KEYS | {name: ("elmo_keras", name) for name in _OWN}

# bilm-tf and AllenNLP require 262 at prediction (the 261 of training, and 0 for masked
# positions); a file written by training says 261.
_N_CHARACTERS = ("char_cnn", "n_characters")

# The key that identifies the files of a dictionary, which are beside the options.
_DICTIONARY = ("elmo_keras", "dictionary_sha256")


def to_config(
    options: Mapping[str, Any], dictionary: TokenDictionary | None = None
) -> ElmoConfig:
    """The configuration of the content of a published `options.json`.

    Keys for training are ignored. `dictionary` is that of a model of
    ELMoForManyLangs or of tokens.

    Raises:
        ValueError: a key is missing or a value is out of range, or the dictionary
            is missing or not that of the options.
    """
    _check_characters(options, dictionary)
    # In a published file a missing key means "none", not the default.
    fields: dict[str, Any] = {"n_layers": 1, "n_highway": 0}
    fields |= {"cell_clip": None, "proj_clip": None, "use_skip_connections": False}
    keys = _KEYS
    if is_of_tokens(options):
        fields |= {"filters": (), "char_embedding_dim": 0}
        fields["word_embedding_dim"] = _lookup(options, _KEYS["projection_dim"])
        keys = {k: path for k, path in _KEYS.items() if k not in fields}
        keys |= {k: path for k, path in _KEYS.items() if path[0] == "lstm"}
    for field, path in keys.items():
        value = _lookup(options, path)
        if value is not None:
            fields[field] = value
        elif field in ("units", "projection_dim", "filters"):
            reason = f"The options lack `{'.'.join(path)}`."
            raise ValueError(f"{reason} Received: {shortened(options)}")
    return ElmoConfig(**fields, dictionary=dictionary)


def to_options(config: ElmoConfig) -> dict[str, Any]:
    """The content of a configuration's `options.json`, with the published keys.

    `n_characters` is 262, which bilm-tf and AllenNLP require at prediction, or the
    size of the dictionary. Fields of this package are there where they differ from
    the defaults.
    """
    options: dict[str, Any] = {}
    fields = dataclasses.asdict(config)
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for field, path in _KEYS.items():
        is_of_characters = path[0] == "char_cnn" or field == "word_embedding_dim"
        published = field in _PUBLISHED_KEYS or fields[field] != defaults[field]
        if published and not (is_of_characters and config.is_of_tokens):
            _insert(options, path, fields[field])
    if config.dictionary is None:
        _insert(options, _N_CHARACTERS, 262)
    elif config.is_of_tokens:
        options["n_tokens_vocab"] = config.dictionary.n_words
    else:
        _insert(options, _N_CHARACTERS, config.dictionary.n_characters)
    if config.dictionary is not None:
        _insert(options, _DICTIONARY, config.dictionary.digest)
    return options


def read_options(path: str | Path) -> dict[str, Any]:
    content = whole_file(path, MAX_OPTIONS)
    with naming_damage(f"{path} should hold JSON."):
        options = json.loads(content.decode())
    if isinstance(options, dict):
        return options
    raise ValueError(f"{path} should hold a JSON object, not {shortened(options)}")


def has_dictionary(options: Mapping[str, Any]) -> bool:
    return _lookup(options, _DICTIONARY) is not None


def is_of_tokens(options: Mapping[str, Any]) -> bool:
    """Whether these are options of a language model of tokens, as bilm-tf decides."""
    return "lstm" in options and "char_cnn" not in options


def has_characters(options: Mapping[str, Any]) -> bool:
    return _lookup(options, _N_CHARACTERS) != 0


def _check_characters(options, dictionary):
    """Refuses options whose characters are neither bytes nor the dictionary's."""
    n_characters = _lookup(options, _N_CHARACTERS)
    digest = _lookup(options, _DICTIONARY)
    if is_of_tokens(options) and dictionary is None:
        raise ValueError(
            "The options have no `char_cnn`, so they are those of a language model of "
            "tokens, which needs its vocab.txt beside them. There is none."
        )
    needs_none = digest is None and is_of_tokens(options)  # written by bilm-tf
    if not needs_none and digest != (dictionary and dictionary.digest):
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


def _lookup(options, path):
    for key in path:
        options = options.get(key) if isinstance(options, Mapping) else None
    return options


def _insert(options, path, value):
    for key in path[:-1]:
        options = options.setdefault(key, {})
    options[path[-1]] = value
