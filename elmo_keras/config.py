"""The configuration of a biLM."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

from elmo_keras.base.argument_checks import (
    check_choices,
    check_clips,
    check_counts,
    is_count,
    shortened,
)
from elmo_keras.base.files import naming_damage
from elmo_keras.text.dictionary import TokenDictionary

# Larger sizes are a mistake: `original`, the largest published model, has 4096 units.
_MAX_SIZE, _MAX_CHARACTERS, _MAX_GROUPS, _MAX_LAYERS = 2**16, 2**12, 100, 100

# The filters of the published models.
_FILTERS = (1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)

# How text is split, see `text.tokenizers`; and in exports, also by tensorflow-text.
TokenizerName = Literal["spaces", "words", "ewt", "gsd"]
Splitting = Literal[TokenizerName, "whitespace", "unicode_script"]
Arithmetic = Literal["float32", "bfloat16", "mixed_bfloat16", "int8"]
_CHOICES = {
    "activation": ("relu", "tanh"),
    "unicode_normalization": (None, "NFC"),
    "cut_at": ("byte", "character"),
    "use_skip_connections": (True, False),
    "lstm_projection": (True, False),
    "tokenizer": get_args(TokenizerName),
}


@dataclasses.dataclass(frozen=True)
class ElmoConfig:
    """The sizes of a biLM and the details of its arithmetic.

    Args:
        units: size of the LSTM cell (options.json: `lstm.dim`).
        projection_dim: size of a token vector and of an LSTM layer's output in
            one direction.
        filters: `(width, count)` of each group of character n-gram filters.
        n_layers: number of LSTM layers in each direction, the paper's L.
        n_highway: number of highway layers over the filters.
        char_embedding_dim: size of a character's vector.
        max_characters_per_token: length of a word's row of character ids. Two
            of them mark the start and end of the word, so two fewer UTF-8 bytes fit;
            longer words are cut.
        activation: `"relu"` or `"tanh"`, applied after the max over positions.
        cell_clip: bound of the absolute cell state, or None.
        proj_clip: bound of the absolute projected output, or None.
        use_skip_connections: whether a layer's input is added to its output,
            from the second LSTM layer on.
        unicode_normalization: None (bytes are used as they are, as published) or
            `"NFC"`.
        cut_at: where a word that is too long is cut: `"byte"` (as published)
            or `"character"`, after the last whole UTF-8 character that fits.
        dictionary: None if the characters of a word are its UTF-8 bytes; or a
            `TokenDictionary`, or a mapping of its fields: of a model of ELMoForManyLangs,
            whose words are cut after `max_characters_per_token` − 2 Unicode characters;
            or of a language model of tokens, whose `word_embedding_dim` is
            `projection_dim`. Without characters in the dictionary, `filters` are empty,
            `n_highway` and `char_embedding_dim` 0.
        word_embedding_dim: size of the vector that each word of the dictionary has
            beside those of its characters, 0 without words.
        lstm_projection: whether LSTM layers have a projection even if `units` is
            `projection_dim`; in bilm-tf they have none then, and `proj_clip` no effect.
        tokenizer: how the text of the model was split, and how a `str` is split by
            default: at `"spaces"` (as published), or by the rules of
            `elmo_keras.split_words` that have this name.

    Raises:
        ValueError: a value is out of range; the message names the field.

    Example:

    >>> ElmoConfig.preset("original").projection_dim
    512

    Reference: Peters et al. 2018, section 3.4; bilm-tf's `options.json`.
    """

    units: int
    projection_dim: int
    filters: tuple[tuple[int, int], ...]
    _: dataclasses.KW_ONLY
    n_layers: int = 2
    n_highway: int = 1
    char_embedding_dim: int = 16
    max_characters_per_token: int = 50
    activation: str = "relu"
    cell_clip: float | None = 3.0
    proj_clip: float | None = 3.0
    use_skip_connections: bool = True
    unicode_normalization: str | None = None
    cut_at: str = "byte"
    dictionary: TokenDictionary | None = None
    word_embedding_dim: int = 0
    lstm_projection: bool = False
    tokenizer: TokenizerName = "spaces"

    def __post_init__(self):
        received = f"Received: {shortened(self.filters)}."
        with naming_damage(f"`filters` should be pairs of (width, count). {received}"):
            pairs = tuple((width, count) for width, count in self.filters)
        object.__setattr__(self, "filters", pairs)
        if isinstance(self.dictionary, Mapping):
            dictionary = TokenDictionary(**self.dictionary)
            object.__setattr__(self, "dictionary", dictionary)
        check_counts(1, _MAX_SIZE, units=self.units, projection_dim=self.projection_dim)
        check_counts(1, _MAX_LAYERS, n_layers=self.n_layers)
        check_counts(0, _MAX_LAYERS, n_highway=self.n_highway)
        check_clips(cell_clip=self.cell_clip, proj_clip=self.proj_clip)
        for name, choices in _CHOICES.items():
            check_choices(choices, **{name: getattr(self, name)})
        has_words = self.dictionary is not None and self.dictionary.words
        least, most = (1, _MAX_CHARACTERS) if has_words else (0, 0)
        if self.is_of_tokens:
            least = most = self.projection_dim
        check_counts(least, most, word_embedding_dim=self.word_embedding_dim)
        least, most = (1, _MAX_CHARACTERS) if self.has_characters else (0, 0)
        check_counts(least, most, char_embedding_dim=self.char_embedding_dim)
        if self.has_characters:
            self._check_filters()
        elif self.filters or self.n_highway:
            raise ValueError(
                "`filters` should be () and `n_highway` 0 without characters. Received: "
                f"{shortened(self.filters)} and {self.n_highway}"
            )
        widest = max((width for width, _ in self.filters), default=0)
        length = self.max_characters_per_token
        check_counts(max(3, widest), _MAX_CHARACTERS, max_characters_per_token=length)

    def _check_filters(self):
        are_counts = all(
            is_count(width, 1, _MAX_CHARACTERS) and is_count(count, 1, _MAX_SIZE)
            for width, count in self.filters
        )
        fit = are_counts and 0 < len(self.filters) <= _MAX_GROUPS
        if not fit or self.n_filters > _MAX_SIZE:
            raise ValueError(
                f"`filters` should be up to {_MAX_GROUPS} pairs of (width, count) above "
                f"0, with widths up to {_MAX_CHARACTERS} and {_MAX_SIZE} filters in "
                f"all. Received: {shortened(self.filters)}"
            )

    @property
    def has_characters(self) -> bool:
        """Whether words are read by their characters, not by a dictionary only."""
        return self.dictionary is None or bool(self.dictionary.characters)

    @property
    def is_of_tokens(self) -> bool:
        """Whether each word of a vocabulary has a vector, and there are no characters."""
        return self.dictionary is not None and self.dictionary.is_vocabulary

    @property
    def is_of_many_langs(self) -> bool:
        return self.dictionary is not None and not self.dictionary.is_vocabulary

    @property
    def n_filters(self) -> int:
        return sum(count for _, count in self.filters)

    @property
    def ids_per_token(self) -> int:
        """Length of a token's row of ids: its characters', and its own if it has one."""
        n_characters = self.max_characters_per_token if self.has_characters else 0
        return n_characters + bool(self.word_embedding_dim)

    @property
    def has_projection(self) -> bool:
        """Whether the token representation ends with a projection."""
        differ = self.n_filters != self.projection_dim and not self.is_of_tokens
        return self.is_of_many_langs or differ

    @property
    def has_lstm_projection(self) -> bool:
        """Whether LSTM layers project their cell's output."""
        differ = self.units != self.projection_dim
        return differ or self.lstm_projection or self.is_of_many_langs

    @property
    def forget_bias(self) -> float:
        """Added to the forget gate at run time, unless the stored bias includes it."""
        return 0.0 if self.is_of_many_langs else 1.0

    @classmethod
    def from_any(cls, config: "ElmoConfig | Mapping[str, Any]") -> "ElmoConfig":
        """The configuration itself, or the one with these fields."""
        if isinstance(config, Mapping):
            return cls(**config)
        if not isinstance(config, cls):
            raise TypeError(
                "`config` should be an ElmoConfig, such as ElmoConfig.preset('small'); "
                "Elmo.from_pretrained(model) reads a model with its own. Received: "
                f"{shortened(config)}"
            )
        return config

    @classmethod
    def preset(cls, name: str) -> "ElmoConfig":
        """Sizes by name, without weights: a biLM made of them starts at random.

        Args:
            name: `small`, `medium`, `original` (sizes of published models) or `tiny`
                (trains in minutes on a laptop).

        Raises:
            ValueError: there is no preset of that name.
        """
        check_choices(sorted(PRESETS), name=name)
        return PRESETS[name]

    def to_dict(self) -> dict[str, Any]:
        """The fields as values that JSON can hold; `ElmoConfig(**…)` takes them."""
        fields: dict[str, Any] = dataclasses.asdict(self)
        fields |= {"filters": [list(f) for f in self.filters]}
        if self.dictionary is None:
            del fields["dictionary"], fields["word_embedding_dim"]
        elif not self.is_of_tokens:
            del fields["dictionary"]["is_vocabulary"]
        for name, default in (("lstm_projection", False), ("tokenizer", "spaces")):
            if fields[name] == default:
                del fields[name]
        return fields

    def to_summary(self) -> dict[str, Any]:
        """Like `to_dict`, but with the SHA-256 of a dictionary instead of its keys."""
        digest = self.dictionary and self.dictionary.digest
        return self.to_dict() | ({"dictionary": digest} if digest else {})


PRESETS = {
    "small": ElmoConfig(1024, 128, _FILTERS),
    "medium": ElmoConfig(2048, 256, _FILTERS),
    "original": ElmoConfig(4096, 512, _FILTERS, n_highway=2),
    "tiny": ElmoConfig(256, 64, ((1, 16), (2, 32), (3, 64), (4, 64), (5, 64))),
}
