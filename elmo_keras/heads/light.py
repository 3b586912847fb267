"""Layers that heads share without TensorFlow: layers of the biLM in, vectors out.

A sentence has the same results alone and in any batch, to the last bit: products are
sums of whole numbers, which are exact in any order.
"""

from collections.abc import Iterable

import numpy as np

from elmo_keras.base.argument_checks import check_choices
from elmo_keras.heads.characters import CHARACTERS, WIDTHS, LightCharacters
from elmo_keras.heads.head import Head
from elmo_keras.heads.token_batch import TokenBatch, elmo_positions
from elmo_keras.lite.layers import LiteBiLstm, LiteDense
from elmo_keras.lite.scalar_mix import weighted_sum
from elmo_keras.text.word_ids import PADDING

_LSTM = "kernel", "recurrent_kernel", "bias"


class _StringVectors:
    """A table of vectors for strings; all other strings have row 0."""

    def __init__(self, head: Head, name: str, strings: list[str]):
        self._rows = {string: i for i, string in enumerate(strings, 1)}
        shape = len(strings) + 1, head.vectors.word_dim
        self.table = head.weight(f"encoder/{name}/embeddings", *shape)

    def __call__(self, strings: Iterable[str]) -> np.ndarray:
        return self.table[[self._rows.get(string, 0) for string in strings]]


class LightTokenVectors:
    """The vectors of `TokenVectors`: words, characters, and mixes of ELMo's layers."""

    def __init__(self, head: Head):
        arguments = head.vectors
        self.layer_norm = head.elmo.layer_norm
        positions = elmo_positions(arguments.elmo_at)
        self.mixes = {p: _read_mix(head, f"encoder/{p}_mix") for p in positions}
        self.words = self.endings = self._characters = None
        if arguments.words:
            self.words = _StringVectors(head, "words", arguments.words)
        if arguments.endings:
            self.endings = _StringVectors(head, "endings", arguments.endings)
            self._sizes = range(1, max(map(len, arguments.endings)) + 1)
        if arguments.character_dim:
            self._characters = _read_characters(head, arguments.character_dim)
        dim = 2 * head.elmo.projection_dim
        n_tables = bool(arguments.words) + bool(arguments.endings)
        self.input_dim = n_tables * arguments.word_dim + arguments.character_dim
        self.input_dim += dim if "input" in positions else 0
        self.output_dim = dim if "output" in positions else 0

    def __call__(self, batch: TokenBatch) -> tuple[np.ndarray, np.ndarray | None]:
        """Vectors `(tokens, dim)` at the input, and at the output or None."""
        layers = batch.normalized if self.layer_norm else batch.flat
        mixes = {p: weighted_sum(layers, weights) for p, weights in self.mixes.items()}
        at_input = []
        has_tables = self.words or self.endings
        lower = [token.lower() for token in batch.tokens] if has_tables else []
        if self.words:
            at_input.append(self.words(lower))
        if self.endings:
            endings = ([word[-n:] for word in lower] for n in self._sizes)
            at_input.append(sum(map(self.endings, endings)))
        if self._characters:
            at_input.append(self._characters(batch.tokens))
        if "input" in mixes:
            at_input.append(mixes["input"])
        return np.concatenate(at_input, axis=1), mixes.get("output")


def _read_characters(head, dim):
    name, n = "encoder/characters", dim // len(WIDTHS)
    size = CHARACTERS.char_embedding_dim
    filters = [
        (
            head.weight(f"{name}/kernel_{i}", width, size, n),
            head.weight(f"{name}/bias_{i}", n),
        )
        for i, width in enumerate(WIDTHS)
    ]
    embeddings = head.weight(f"{name}/embeddings", PADDING + 1, size)
    return LightCharacters(embeddings, filters)


def _read_mix(head, name):
    n_layers, layers = head.elmo.n_layers + 1, head.elmo.layers
    weights = np.eye(n_layers, dtype=np.float32)
    if layers == "mix":
        weights = softmax(head.weight(f"{name}/scalars", n_layers))
    elif layers == "average":
        weights = weights.mean(axis=0)
    else:
        check_choices(["mix", "average", "top", *range(n_layers)], layers=layers)
        weights = weights[-1 if layers == "top" else layers]
    return head.weight(f"{name}/gamma") * weights


class LightEncoder:
    """The outputs of `TaskEncoder` for words and ELMo: `(tokens, dim)`."""

    def __init__(self, head: Head, units: int):
        self._vectors = LightTokenVectors(head)
        self._lstm = read_bilstm(head, "encoder", self._vectors.input_dim, units)
        self.dim = 2 * units + self._vectors.output_dim

    def __call__(self, batch: TokenBatch) -> np.ndarray:
        x, at_output = self._vectors(batch)
        x = self._lstm(x, batch.lengths)
        return x if at_output is None else np.concatenate([x, at_output], axis=1)


def read_lstms(head: Head, name: str, dim: int, units: int) -> list[list[np.ndarray]]:
    """The arguments of `LiteBiLstm` for inputs of size `dim`."""
    shapes = (dim, 4 * units), (units, 4 * units), (4 * units,)
    return [
        [head.weight(f"{name}/{way}/{x}", *shape) for x, shape in zip(_LSTM, shapes)]
        for way in ("forward", "backward")
    ]


def read_bilstm(head: Head, name: str, dim: int, units: int) -> LiteBiLstm:
    return LiteBiLstm(read_lstms(head, name, dim, units))


def read_dense(head: Head, name: str, n_inputs: int, n_outputs: int) -> LiteDense:
    kernel = head.weight(f"{name}/kernel", n_inputs, n_outputs)
    return LiteDense(kernel, head.weight(f"{name}/bias", n_outputs))


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)
