"""Training or embedding on one device, by names that earlier versions have too.

    python one_device.py FOLDER training|embedding PRESET ROWS ARITHMETIC [jit] [replicas]

FOLDER holds a model and `sentences.txt`. PYTHONPATH names the checkout.
"""

import sys
import time
from pathlib import Path

import keras
import numpy as np
import protocol
import tensorflow as tf

import elmo_keras as ek

UNROLLED, NEGATIVES, WORDS = 20, 8192, 50_000
WARM_UP, STEPS = 3, 10
BATCH, COMPARED = 128, 16


def main(folder, job, preset, n_rows, arithmetic, *more) -> None:
    sentences = protocol.read(Path(folder) / "sentences.txt")
    if job == "training":
        work = training(sentences, preset, int(n_rows), arithmetic, more)
    else:
        work = embedding(sentences, Path(folder), arithmetic)
    protocol.answer_requests(job, {"run": lambda: work() | {"peak MB": peak()}})


def training(sentences, preset, n_rows, arithmetic, more):
    strategy = tf.distribute.get_strategy()
    if "replicas" in more:
        strategy = ek.MirroredStrategy(divided_device())
    n_words = 60 if preset == "test" else WORDS
    words = ek.Vocabulary.count(sentences).words[:n_words]
    made_up = [f"made-up-{i}" for i in range(n_words - len(words))]
    vocabulary = ek.Vocabulary([*words, *made_up])
    config = ek.ElmoConfig.preset(preset)
    n_sentences = max(1, n_rows * UNROLLED * (WARM_UP + STEPS + 2) // 5)
    text = (sentences * (n_sentences // len(sentences) + 1))[:n_sentences]
    streams = ek.Streams(
        ek.Corpus.from_sentences(text),
        vocabulary,
        config,
        n_rows=n_rows,
        unroll_steps=UNROLLED,
        n_negatives=min(NEGATIVES, n_words // 2),
    )

    class Clock(keras.callbacks.Callback):
        """The losses, and the seconds of steps after those that warm up."""

        def __init__(self):
            super().__init__()
            self.losses, self.ends = [], []

        def on_train_batch_end(self, batch, logs=None):
            self.losses.append(float(next(iter((logs or {}).values()))))  # waits
            self.ends.append(time.perf_counter())
            if len(self.ends) == WARM_UP + STEPS:
                self.model.stop_training = True

    def run():
        keras.utils.set_random_seed(0)
        begin = time.perf_counter()
        with strategy.scope():
            bilm = ek.BidirectionalLanguageModel(
                config, vocabulary_size=len(vocabulary), dtype=arithmetic
            )
            model, clock = ek.TrainableLanguageModel(bilm), Clock()
            model.compile("adagrad", jit_compile="jit" in more)
        built = time.perf_counter()
        model.fit(streams, epochs=99, verbose=0, callbacks=[clock])
        seconds = np.diff(clock.ends)[WARM_UP - 1 :].tolist()
        return {
            "build s": built - begin,
            "first s": clock.ends[0] - built,
            "seconds": seconds,
            "tokens/s": n_rows * UNROLLED / float(np.median(seconds)),
            "compiled": "jit" in more and model.run.jit_compile,
            "values": clock.losses,
        }

    return run


def embedding(sentences, folder, arithmetic):
    batch, lines = sentences[:BATCH], [" ".join(s) for s in sentences]

    def rate(embedder, some):
        embedder.encode(some)
        passes = [
            protocol.timed(some, lambda: embedder.encode(some)) for _ in range(STEPS)
        ]
        return float(np.median([p["tokens"] / p["seconds"] for p in passes]))

    def run():
        begin = time.perf_counter()
        embedder = ek.Embedder(folder, arithmetic=arithmetic, layers="all")
        built = time.perf_counter()
        vectors = embedder.encode(batch)
        first = time.perf_counter()
        new = ek.Embedder(folder, arithmetic=arithmetic)
        whole = protocol.timed(sentences, lambda: [None for _ in new.stream(lines)])
        vectors = np.concatenate(vectors[:COMPARED], axis=1).astype(float)
        return {
            "build s": built - begin,
            "first s": first - built,
            "one sentence: tokens/s": rate(embedder, batch[:1]),
            "batches: tokens/s": rate(embedder, batch),
            "new sentences: tokens/s": whole["tokens"] / whole["seconds"],
            "values": vectors.tolist(),
        }

    return run


def divided_device():
    """Two logical devices of the first GPU, or of the CPU."""
    gpus = tf.config.list_physical_devices("GPU")
    limit = 2**14 if gpus else None  # MB
    part = tf.config.LogicalDeviceConfiguration(memory_limit=limit)
    devices = gpus or tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(devices[0], [part, part])
    return [
        device.name for device in tf.config.list_logical_devices(devices[0].device_type)
    ]


def peak():
    if not tf.config.list_physical_devices("GPU"):
        return None
    return tf.config.experimental.get_memory_info("GPU:0")["peak"] / 1e6


if __name__ == "__main__":
    main(*sys.argv[1:])
