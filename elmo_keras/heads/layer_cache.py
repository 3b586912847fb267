"""All layers of many sentences, in a file for all epochs."""

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts
from elmo_keras.elmo import Elmo
from elmo_keras.embed.embedder import Embedder
from elmo_keras.heads.batches import generated
from elmo_keras.text.length_batches import padded_arrays, shuffled_batches
from elmo_keras.text.sentences import Sentence, plain


class LayerCache:
    """All layers of sentences, in one file that is mapped into memory.

    Each distinct sentence is computed once. The file has no name, so that nothing is left
    over however the process ends; its size is 4 bytes · tokens · `(num_layers + 1)` · 2 ·
    `projection_dim`.

    Args:
        embedder: computes the layers, with `layers="all"`.
        sentences: lists of tokens; none of the tokens is `""`.
        folder, progress: see `precompute_layers`.

    Output: for a batch of these sentences, a float32 array `(batch, num_layers + 1, time,
    2 · projection_dim)`, 0 at padding, as `Elmo.all_layers` returns it.

    >>> from elmo_keras import ElmoConfig
    >>> elmo = Elmo(ElmoConfig(7, 5, [(1, 2), (2, 3)]))
    >>> embedder = Embedder(elmo, layers="all")
    >>> cache = LayerCache(embedder, [["A", "b"], ["c"]])
    >>> cache([["c"], ["A", "b"]]).shape
    (2, 3, 2, 10)
    """

    def __init__(
        self,
        embedder: Embedder,
        sentences: Sequence[Sequence[str]],
        folder: str | Path | None = None,
        *,
        progress: bool = False,
    ):
        distinct = sorted(dict.fromkeys(map(tuple, sentences)), key=len)
        ends = np.cumsum([len(sentence) for sentence in distinct], dtype=int)
        self._ends = dict(zip(distinct, ends.tolist()))
        n_tokens = int(ends[-1]) if distinct else 0
        n_layers, dim = embedder.engine.config.n_layers + 1, embedder.dim
        shape = max(1, n_tokens), n_layers, dim  # an empty file can't be mapped
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # else a full disk is a signal
                os.posix_fallocate(file.fileno(), 0, 4 * math.prod(shape))
            self._layers = np.memmap(file, np.float32, "w+", shape=shape)
        arrays = embedder.stream(distinct, progress=progress)
        for end, layers in zip(ends, arrays):
            self._layers[end - layers.shape[1] : end] = layers.swapaxes(0, 1)

    def __call__(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        _, n_layers, dim = self._layers.shape
        time = max([min(1, len(sentences)), *map(len, sentences)])
        batch = np.zeros((len(sentences), n_layers, time, dim), np.float32)
        for row, sentence in zip(batch, sentences):
            n, end = len(sentence), self._ends[tuple(sentence)]
            row[:, :n] = self._layers[end - n : end].swapaxes(0, 1)
        return batch


def precompute_layers(
    model: "str | Path | Elmo | Embedder",
    sentences: Iterable[Sentence],
    labels: Any = None,
    *,
    batch_size: int = 32,
    shuffle: bool = False,
    seed: int | None = None,
    arithmetic: str | None = "int8",
    tokenizer: str | Callable[[str], Sequence[str]] | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> tf.data.Dataset:
    """All layers of sentences, computed once, as batches for `fit` of a model with `Elmo`.

    `Elmo` and `layers.ScalarMix` take layers in place of tokens and mix them, so that the
    mix is learned while the frozen biLM never runs again. For their file see `LayerCache`.

    Args:
        model: any model that `Embedder` reads, an `Elmo` layer, or an `Embedder` of all
            layers, which has the next arguments already.
        sentences: texts or lists of tokens, as in `Embedder.encode`.
        labels: a label for each sentence, or an array: with one for each token, which is
            padded with −1, or of one length for all; None for a dataset without labels.
        batch_size: sentences in a batch.
        shuffle: whether each epoch has another order, in batches of similar lengths;
            otherwise the order is that of the sentences, as `evaluate` and `predict` need it.
        seed: decides the order; None for another order each time.
        arithmetic, tokenizer: see `Embedder`.
        folder: where the layers' file is; None for the system's temporary folder.
        progress: whether to show progress on standard error.

    Returns:
        A dataset of float32 layers `(batch, num_layers + 1, time, 2 · projection_dim)`, 0
        at padding; with labels, of pairs of layers and labels.

    Raises:
        ValueError: there are no sentences, or the labels are not as above.
        OSError: the disk is full.

    >>> from elmo_keras import ElmoConfig
    >>> elmo = Elmo(ElmoConfig(7, 5, [(1, 2), (2, 3)]))
    >>> data = precompute_layers(elmo, ["A film .", "No"], [1, 0])
    >>> [(layers.shape, labels.shape) for layers, labels in data]
    [(TensorShape([2, 3, 3, 10]), TensorShape([2]))]
    """
    check_counts(batch_size=batch_size)
    if not isinstance(model, Embedder):
        arithmetic = None if isinstance(model, Elmo) else arithmetic
        model = Embedder(
            model, layers="all", arithmetic=arithmetic, tokenizer=tokenizer
        )
    tokens = list(model.split(sentences))
    lengths = np.array([len(sentence) for sentence in tokens])
    targets = None if labels is None else _targets(labels, lengths)
    if not tokens:
        raise ValueError("`sentences` should hold sentences. Received: none")
    cache = LayerCache(model, tokens, folder, progress=progress)
    rng = np.random.default_rng(seed)

    def batch(rows):
        layers = cache([tokens[i] for i in rows])
        if targets is None:
            return layers
        return layers, padded_arrays([targets[i] for i in rows], -1)

    def epoch():
        rows = np.arange(len(tokens))
        batches = [rows[i : i + batch_size] for i in rows[::batch_size]]
        if shuffle:
            batches = shuffled_batches(lengths, rng, max_sentences=batch_size)
        return map(batch, batches)

    _, n_layers, _, dim = cache([tokens[0]]).shape
    spec = tf.TensorSpec((None, n_layers, None, dim), tf.float32)
    if targets is not None:
        shape = (None,) * (1 + targets[0].ndim)
        spec = spec, tf.TensorSpec(shape, targets[0].dtype)
    return generated(epoch, spec, -(-len(tokens) // batch_size))


def _targets(labels, lengths) -> list[np.ndarray]:
    """Labels as arrays of one dtype; those of different lengths are labels of tokens."""
    arrays = [np.asarray(label) for label in plain(labels)]
    dtype = np.result_type(*arrays) if arrays else np.dtype(np.float32)
    if len({array.ndim for array in arrays}) > 1 or dtype.kind == "O":
        raise ValueError("Labels should be numbers, or arrays of one rank.")
    if len(arrays) != len(lengths):
        raise ValueError(
            "There should be a label for each sentence. Received: "
            f"{len(lengths)} sentences and {len(arrays)} labels"
        )
    n_labels = np.array([len(array) if array.ndim else 0 for array in arrays])
    if len({*n_labels}) > 1 and (wrong := n_labels != lengths).any():
        i = int(np.argmax(wrong))
        raise ValueError(
            "Arrays of labels should have one for each token, or all the same length. "
            f"Received: sentence {i} with {lengths[i]} tokens and {n_labels[i]} labels"
        )
    return [array.astype(dtype) for array in arrays]
