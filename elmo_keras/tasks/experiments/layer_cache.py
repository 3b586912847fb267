"""All layers of many sentences, and a file of them for all epochs and runs."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from elmo_keras.cli.progress import Progress
from elmo_keras.elmo import Elmo
from elmo_keras.text.length_batches import length_batches
from elmo_keras.text.token_batches import padded_tokens

TOKENS_AT_ONCE = 2**13


def sentence_layers(
    elmo: Elmo, sentences: Sequence[Sequence[str]], verbose: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """The index and the layers `(layers, tokens, dim)` of each sentence, shortest first."""
    tokens = tf.TensorSpec((None, None), tf.string)
    # A concrete function: TensorFlow warns if a `tf.function` is made repeatedly.
    layers_of = tf.function(elmo.layers, autograph=False).get_concrete_function(tokens)
    n_tokens = sum(map(len, sentences))
    with Progress(total=n_tokens, disable=not verbose) as progress:
        lengths = [len(sentence) + 2 for sentence in sentences]  # with boundaries
        for batch in length_batches(lengths, max_tokens=TOKENS_AT_ONCE):
            tokens = padded_tokens([sentences[i] for i in batch], min_time=0)
            layers = layers_of(tokens).numpy()
            for i, of_sentence in zip(batch, layers):
                yield i, of_sentence[:, : len(sentences[i])]
            progress.update(sum(len(sentences[i]) for i in batch))


class LayerCache:
    """All layers of sentences, in one file that is mapped into memory.

    Each distinct sentence is computed once, in a batch with others of similar length.
    The file has no name, so that nothing is left over however the process ends; its
    size is 4 bytes · tokens · `(num_layers + 1)` · 2 · `projection_dim`.

    Args:
        elmo: computes the layers; built. Its mixes are not used.
        sentences: lists of tokens; none of the tokens is `""`.
        folder: the folder of the file; None for the system's temporary folder.
        verbose: 1 for a progress bar on standard error.

    Output: of a batch of these sentences, float32 array `(batch, num_layers + 1, time,
    2 · projection_dim)`, 0 at padding, as `elmo.layers` returns it.

    Attributes:
        rms: the root mean square of each layer, float64 `(num_layers + 1,)`. A mix of
            layers of different sizes is mostly the largest one; see `ScalarMix`'s
            `layer_norm`.

    >>> from elmo_keras import ElmoConfig
    >>> elmo = Elmo(ElmoConfig.preset("test"))
    >>> elmo.build()
    >>> cache = LayerCache(elmo, [["A", "b"], ["c"]])
    >>> cache([["c"], ["A", "b"]]).shape
    (2, 3, 2, 10)
    """

    def __init__(
        self,
        elmo: Elmo,
        sentences: Sequence[Sequence[str]],
        folder: str | Path | None = None,
        *,
        verbose: int = 0,
    ):
        distinct = sorted(dict.fromkeys(map(tuple, sentences)), key=len)
        ends = np.cumsum([len(sentence) for sentence in distinct], dtype=int)
        self._ends = dict(zip(distinct, ends.tolist()))
        n_tokens = int(ends[-1]) if distinct else 0
        n_layers, dim = elmo.config.n_layers + 1, 2 * elmo.config.projection_dim
        with tempfile.TemporaryFile(dir=folder) as file:
            self._layers = np.memmap(  # (tokens, layers, dim); a file is never empty
                file, np.float32, "w+", shape=(max(1, n_tokens), n_layers, dim)
            )
        squares = np.zeros(n_layers)
        for i, layers in sentence_layers(elmo, distinct, verbose):
            end = ends[i]
            self._layers[end - len(distinct[i]) : end] = layers.swapaxes(0, 1)
            squares += np.square(layers).sum(axis=(1, 2))
        self.rms = np.sqrt(squares / max(1, n_tokens * dim))

    @property
    def shape(self) -> tuple[int | None, ...]:
        _, n_layers, dim = self._layers.shape
        return None, n_layers, None, dim

    def __call__(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        _, n_layers, dim = self._layers.shape
        time = max(map(len, sentences), default=0)
        batch = np.zeros((len(sentences), n_layers, time, dim), np.float32)
        for row, sentence in zip(batch, sentences):
            n, end = len(sentence), self._ends[tuple(sentence)]
            row[:, :n] = self._layers[end - n : end].swapaxes(0, 1)
        return batch
