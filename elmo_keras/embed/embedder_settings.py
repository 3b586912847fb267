"""The settings of an `Embedder`, and the parts that are made from them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from elmo_keras.elmo import Elmo
from elmo_keras.embed.batch_vectors import SentenceVectors, words_within
from elmo_keras.embed.model_digest import mix_values, model_digest
from elmo_keras.embed.word_table import WordTable
from elmo_keras.layers.scalar_mix import ScalarMix


class Parts(NamedTuple):
    """What an `Embedder` computes with."""

    elmo: Elmo
    words: WordTable
    vectors: SentenceVectors


class Settings(NamedTuple):
    """The arguments of an `Embedder`; see there."""

    model: str | Elmo
    weights: str | None
    layers: str | int | tuple[float, ...]
    gamma: float
    pooling: str | None
    dtype: str
    arithmetic: str | None
    tokenizer: Callable[[str], Sequence[str]] | None
    tokens_at_once: int
    cache_bytes: int
    jit_compile: bool

    def read(self) -> Parts:
        """Reads the model.

        Raises:
            FileNotFoundError, ValueError: as `Embedder`.
        """
        elmo = self.model
        if not isinstance(elmo, Elmo):
            dtype = self.arithmetic or "float32"
            elmo = Elmo.from_pretrained(elmo, self.weights, dtype=dtype)
        elif not elmo.built:
            elmo.build()
        n_words = words_within(self.cache_bytes, elmo)
        words = WordTable(elmo, n_words, graph_later=self.jit_compile)
        return Parts(elmo, words, self._vectors(elmo))

    def _vectors(self, elmo):
        kinds = {
            "dtype": self.dtype,
            "pooling": self.pooling,
            "jit_compile": self.jit_compile,
        }
        if not isinstance(self.layers, tuple):
            return SentenceVectors(elmo, self.layers, **kinds)
        mix = ScalarMix(dtype=elmo.dtype_policy)
        mix.build([(None, 2 * elmo.config.projection_dim)] * (elmo.config.n_layers + 1))
        mix.assign(self.layers, self.gamma)
        return SentenceVectors(elmo, "mix", mix=mix, **kinds)

    def identity(self, parts: Parts) -> dict[str, Any]:
        """Everything that the vectors depend on, as JSON values."""
        layers = parts.vectors.layers
        mix = mix_values(parts.vectors.mix) if layers == "mix" else {}
        return mix | {
            "model": model_digest(parts.elmo),
            "arithmetic": parts.elmo.bilm.dtype_policy.name,
            "tokenizer": getattr(self.tokenizer, "__qualname__", None),
            "layers": layers,
            "pooling": self.pooling,
            "dtype": self.dtype,
        }
