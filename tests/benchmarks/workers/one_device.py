"""Training and embedding on one device, by names that earlier versions have too.

    python one_device.py FOLDER PRESET [replicas] [compiled]

FOLDER holds a model and `sentences.txt`. PYTHONPATH names the checkout. `replicas`: two
on the device. `compiled`: the vectors are compiled where there is no GPU, too.
"""

import functools
import gc
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
BATCH, SINGLE, COMPARED = 128, 8, 4  # sentences


def main(folder, preset, *more) -> None:
    path = Path(folder) / "sentences.txt"
    sentences, gpus = protocol.read(path), tf.config.list_physical_devices("GPU")
    strategy = tf.distribute.get_strategy()
    if "replicas" in more:
        strategy = ek.MirroredStrategy(divided_device())
    if "compiled" in more:
        from elmo_keras.embed.engines import tensorflow

        tensorflow.engine_of_devices = lambda: tensorflow.CompiledEngine

    def with_peak(work, *arguments):
        def run(**options):
            gc.collect()
            if gpus:
                tf.config.experimental.reset_memory_stats("GPU:0")
            row = work(*arguments, **options)
            if gpus:
                memory = tf.config.experimental.get_memory_info("GPU:0")
                row["peak MB"] = memory["peak"] / 1e6
            return row

        return run

    streams = functools.cache(functools.partial(make_streams, sentences, preset))
    requests = {
        "training": with_peak(training, streams, strategy),
        "one": with_peak(embedding, folder, [[s] for s in sentences[:SINGLE]]),
        "batches": with_peak(embedding, folder, [sentences[:BATCH]]),
        "file": with_peak(file, folder, path, sum(map(len, sentences))),
    }
    protocol.answer_requests(protocol.hello("tensorflow", "keras"), requests)


def make_streams(sentences, preset, n_rows):
    n_words = 60 if preset == "tiny" else WORDS
    words = ek.Vocabulary.count(sentences).words[:n_words]
    made_up = [f"made-up-{i}" for i in range(n_words - len(words))]
    n_sentences = max(1, n_rows * UNROLLED * (WARM_UP + STEPS + 2) // 5)
    text = (sentences * (n_sentences // len(sentences) + 1))[:n_sentences]
    return ek.Streams(
        ek.Corpus.from_sentences(text),
        ek.Vocabulary([*words, *made_up]),
        ek.ElmoConfig.preset(preset),
        n_rows=n_rows,
        unroll_steps=UNROLLED,
        n_negatives=min(NEGATIVES, n_words // 2),
    )


class Clock(keras.callbacks.Callback):
    """The losses and ends of steps, and the steps that XLA compiled something for."""

    def __init__(self, n_steps):
        super().__init__()
        self.n_steps, self.losses, self.ends, self.compiled = n_steps, [], [], []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(next(iter((logs or {}).values()))))  # waits
        self.ends.append(time.perf_counter())
        steps = steps_of(self.model)
        sizes = getattr(steps, "compiled_sizes", getattr(steps, "_compiled", ()))
        self.compiled.append(len(sizes))
        if len(self.ends) == self.n_steps:
            self.model.stop_training = True


def steps_of(model):
    """The traced steps; earlier versions have them in the run, or nowhere."""
    run = getattr(model, "run", None)
    steps = getattr(run, "steps", None)
    return run if isinstance(steps, dict) else steps


def training(
    streams_of, strategy, n_rows=128, arithmetic="float32", jit=False, n_steps=STEPS
):
    streams, n_words = streams_of(n_rows), len(streams_of(n_rows).vocabulary)
    keras.utils.set_random_seed(0)
    begin = time.perf_counter()
    with strategy.scope():
        bilm = ek.BidirectionalLanguageModel(
            streams.config, vocabulary_size=n_words, dtype=arithmetic
        )
        model, clock = ek.TrainableLanguageModel(bilm), Clock(WARM_UP + n_steps)
        model.compile("adagrad", jit_compile=jit)
    built = time.perf_counter()
    model.fit(streams, epochs=99, verbose=0, callbacks=[clock])
    seconds = np.diff([built, *clock.ends])
    compiles = np.diff([0, *clock.compiled]) > 0
    timed = seconds[WARM_UP:]
    return {
        "tokens/s": n_rows * UNROLLED / float(np.median(timed)),
        "seconds": timed.tolist(),
        "build s": built - begin,
        "first s": float(seconds[0]),
        "compiled shapes": clock.compiled[-1],
        "compiling steps' s": float(seconds[compiles].sum()),
        "compiled": jit and steps_of(model).jit_compile,
        "values": clock.losses[: WARM_UP + 1],
    }


def embedding(folder, batches, arithmetic="float32", n_passes=STEPS):
    """All layers of the batches, one after another, in passes."""
    begin = time.perf_counter()
    embedder = ek.Embedder(folder, arithmetic=arithmetic, layers="all")
    built = time.perf_counter()
    arrays = [array for batch in batches for array in embedder.encode(batch)]
    first = time.perf_counter() - built

    def one_pass():
        for batch in batches:
            embedder.encode(batch)

    passes = [protocol.timed(sum(batches, []), one_pass) for _ in range(n_passes)]
    return rate(passes) | {
        "build s": built - begin,
        "first s": first,
        **shapes(embedder),
        "values": np.concatenate(arrays[:COMPARED], axis=1).astype(float).tolist(),
    }


def file(folder, path, n_tokens, arithmetic="float32"):
    """The mixes of a file's sentences, read twice; then its words are known."""
    embedder, passes = ek.Embedder(folder, arithmetic=arithmetic), []
    for _ in range(2):
        begin = time.perf_counter()
        with path.open(encoding="utf-8") as lines:
            for _ in embedder.stream(line.rstrip("\n") for line in lines):
                pass
        seconds = time.perf_counter() - begin
        passes.append({"tokens": n_tokens, "seconds": seconds})
    first = rate(passes[:1])["tokens/s"]
    return rate(passes[1:]) | {"first pass: tokens/s": first} | shapes(embedder)


def rate(passes):
    rates = [p["tokens"] / p["seconds"] for p in passes]
    return {
        "tokens/s": float(np.median(rates)),
        "seconds": [p["seconds"] for p in passes],
    }


def shapes(embedder):
    """The numbers of shapes that XLA compiled; an earlier version compiles none."""
    caches = {
        f"compiled shapes of {name}": getattr(
            embedder.engine, f"_{name}_of_shape", None
        )
        for name in ("words", "layers")
    }
    return {k: cache and cache.cache_info().currsize for k, cache in caches.items()}


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


if __name__ == "__main__":
    main(*sys.argv[1:])
