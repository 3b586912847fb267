"""All layers of many sentences, in a file for all epochs and runs."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.embed.embedder import Embedder


class LayerCache:
    """All layers of sentences, in one file that is mapped into memory.

    Each distinct sentence is computed once. The file has no name, so that nothing is left
    over however the process ends; its size is 4 bytes · tokens · `(num_layers + 1)` · 2 ·
    `projection_dim`.

    Args:
        elmo: computes the layers: an `Elmo` layer, whose mixes are not used, or an
            `Embedder` of all layers.
        sentences: lists of tokens; none of the tokens is `""`.
        folder: the folder of the file; None for the system's temporary folder.
        verbose: 1 for a progress bar on standard error.

    Output: of a batch of these sentences, float32 array `(batch, num_layers + 1, time,
    2 · projection_dim)`, 0 at padding, as `elmo.all_layers` returns it.

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
        elmo: Elmo | Embedder,
        sentences: Sequence[Sequence[str]],
        folder: str | Path | None = None,
        *,
        verbose: int = 0,
    ):
        distinct = sorted(dict.fromkeys(map(tuple, sentences)), key=len)
        ends = np.cumsum([len(sentence) for sentence in distinct], dtype=int)
        self._ends = dict(zip(distinct, ends.tolist()))
        n_tokens = int(ends[-1]) if distinct else 0
        embedder = Embedder(elmo, layers="all") if isinstance(elmo, Elmo) else elmo
        config = embedder.engine.config
        n_layers, dim = config.n_layers + 1, 2 * config.projection_dim
        with tempfile.TemporaryFile(dir=folder) as file:
            self._layers = np.memmap(  # (tokens, layers, dim); a file is never empty
                file, np.float32, "w+", shape=(max(1, n_tokens), n_layers, dim)
            )
        squares = np.zeros(n_layers)
        arrays = embedder.stream(distinct, progress=bool(verbose))
        for end, layers in zip(ends, arrays):
            self._layers[end - layers.shape[1] : end] = layers.swapaxes(0, 1)
            squares += np.square(layers).sum(axis=(1, 2))
        self.rms = np.sqrt(squares / max(1, n_tokens * dim))

    def __call__(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        _, n_layers, dim = self._layers.shape
        time = max(map(len, sentences), default=0)
        batch = np.zeros((len(sentences), n_layers, time, dim), np.float32)
        for row, sentence in zip(batch, sentences):
            n, end = len(sentence), self._ends[tuple(sentence)]
            row[:, :n] = self._layers[end - n : end].swapaxes(0, 1)
        return batch
