"""elmo-keras' side of the embedding benchmark; `embedding.py` starts it.

    python embedding_elmo_keras.py FOLDER DTYPE|embedder

Calls `Elmo.layers` with lists of tokens, with DTYPE as Keras' dtype policy, and
`embed_corpus` for a whole file, which it writes as HDF5. It also answers
{"gemm": SIZE}: operations a second of a product of two matrices of SIZE rows and
columns in DTYPE. `embedder` runs an `Embedder` instead, from lists of tokens to
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


def run_layer(folder: Path, dtype: str) -> None:
    """Embeds with the layer, and files with `embed_corpus`."""
    elmo = Elmo.from_pretrained(folder, dtype=dtype)

    def embed(sentences: Sentences) -> np.ndarray:
        return elmo.layers(sentences).numpy()

    def embed_file(path: Path) -> Iterator[np.ndarray]:
        output = folder / "vectors.hdf5"
        embed_corpus(elmo, path, output, overwrite=True)
        with h5py.File(output) as file:
            yield file["0"][...]

    serve(
        folder,
        PACKAGES,
        embed,
        embed_file=embed_file,
        more=lambda request: product_speed(request["gemm"], dtype),
    )


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
