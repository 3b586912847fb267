"""elmo-keras' side of the embedding benchmark; `embedding.py` starts it.

    python embedding_elmo_keras.py FOLDER DTYPE|eager|embedder

Runs `Elmo.layers` in a `tf.function`, with DTYPE as Keras' dtype policy, and
`embed_corpus` for a whole file, which it writes as HDF5. It also answers
{"gemm": SIZE}: operations a second of a product of two matrices of SIZE rows and
columns in DTYPE. `eager` calls `Elmo.layers` with lists of tokens, outside of any
graph, in float32. `embedder` runs an `Embedder` instead, from lists of tokens to
arrays, also for a whole file.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import tensorflow as tf
from embedding_worker import Sentences, read, serve

from elmo_keras import Elmo, Embedder
from elmo_keras.embed import embed_corpus

PACKAGES = "tensorflow", "keras"
REPEATS = 5


def main(folder: Path, way: str) -> None:
    """Embeds the requested sentences until standard input ends."""
    if way == "embedder":
        run_embedder(folder)
    elif way == "eager":
        run_eager(folder)
    else:
        run_layer(folder, way)


def run_embedder(folder: Path) -> None:
    """Embeds with an `Embedder`."""
    embedder = Embedder(folder, layers="all")
    serve(
        folder,
        PACKAGES,
        embedder.encode,
        # Without words that it knows already.
        embed_file=lambda path: Embedder(embedder.elmo, layers="all").stream(
            read(path)
        ),
    )


def run_eager(folder: Path) -> None:
    """Embeds with the layer, called outside of any graph."""
    elmo = Elmo.from_pretrained(folder)
    serve(
        folder,
        PACKAGES,
        lambda sentences: elmo.layers(sentences).numpy(),
        embed_file=lambda path: embedded(elmo, folder, path),
    )


def run_layer(folder: Path, dtype: str) -> None:
    """Embeds with the layer, and files with `embed_corpus`."""
    elmo = Elmo.from_pretrained(folder, dtype=dtype)
    tokens = tf.RaggedTensorSpec((None, None), tf.string, ragged_rank=1)
    layers = tf.function(elmo.layers, input_signature=[tokens])

    def embed(sentences: Sentences) -> np.ndarray:
        words = tf.constant([word for sentence in sentences for word in sentence])
        lengths = [len(sentence) for sentence in sentences]
        return layers(tf.RaggedTensor.from_row_lengths(words, lengths)).numpy()

    serve(
        folder,
        PACKAGES,
        embed,
        embed_file=lambda path: embedded(elmo, folder, path),
        more=lambda request: product_speed(request["gemm"], dtype),
    )


def embedded(elmo: Elmo, folder: Path, path: Path) -> Iterator[np.ndarray]:
    """Embeds a file; yields the first vectors of the output."""
    output = folder / "vectors.hdf5"
    embed_corpus(elmo, path, output, overwrite=True)
    with h5py.File(output) as file:
        yield file["0"][...]


def product_speed(size: int, dtype: str) -> float:
    """Floating-point operations a second, the best of `REPEATS`."""
    x = tf.cast(tf.random.normal((size, size)), dtype)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        tf.matmul(x, x)[0, 0].numpy()
        times.append(time.perf_counter() - start)
    return 2 * size**3 / min(times)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
