"""The arithmetic that vectors of sentences need, in floating-point operations.

A multiply-add is two operations; biases, activations, gates and the maximum over windows
are not counted.
"""

from collections.abc import Iterable, Sequence

from elmo_keras.config import ElmoConfig


def needed(config: ElmoConfig, sentences: Sequence[Sequence[str]]) -> float:
    """The fewest operations that give all layers of all tokens of these sentences.

    Padding needs none; each distinct word is computed once.
    """
    positions = sum(len(sentence) + 1 for sentence in sentences)  # and one boundary
    words = {word for sentence in sentences for word in sentence}
    per_word = sum(of_word(config, word) for word in [*words, "S", "S"])  # boundaries
    return positions * of_position(config) + per_word


def of_position(config: ElmoConfig) -> int:
    """Operations of the LSTM layers of both directions at one position."""
    units, dim = config.units, config.projection_dim
    return 2 * config.n_layers * 2 * (2 * dim * 4 * units + units * dim)


def of_word(config: ElmoConfig, word: str) -> int:
    """Operations of the character CNN for one word."""
    maximum, n = config.max_characters_per_token, config.n_filters
    length = min(len(word.encode()) + 2, maximum)
    convolutions = sum(
        min(length, maximum - width + 1) * width * config.char_embedding_dim * filters
        for width, filters in config.filters
    )
    highway = config.n_highway * 2 * n * n
    return 2 * (convolutions + highway + n * config.projection_dim)


def n_tokens(sentences: Iterable[Sequence[str]]) -> int:
    return sum(map(len, sentences))
