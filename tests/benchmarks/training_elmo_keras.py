"""elmo-keras' side of the training benchmark; `training.py` starts it.

    python training_elmo_keras.py FOLDER [POLICY]

Waits for lines "step N", makes N training steps, and answers with a line of JSON. The
line "gemm SIZE" is answered with the operations a second of a product of two matrices of
SIZE rows and columns. POLICY is Keras' dtype policy, "float32" unless given.
"""

import dataclasses
import itertools
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from embedding_elmo_keras import product_speed
from embedding_worker import versions

from elmo_keras import BidirectionalLanguageModel, ElmoConfig, Vocabulary
from elmo_keras.published_options import read_options
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.files import read_sentences
from elmo_keras.training.optimizers import make_optimizer
from elmo_keras.training.options import RunSettings, TrainingOptions
from elmo_keras.training.run import TrainingRun, batches, compiled_step
from elmo_keras.training.streams import Streams
from tests.benchmarks.arithmetic import of_training_step

PACKAGES = ("tensorflow", "keras")
PADDING = 261  # the id of a character


def training_run(folder: Path, policy: str) -> TrainingRun:
    """A run on the files of the folder."""
    published = read_options(folder / "options.json")
    names = [field.name for field in dataclasses.fields(TrainingOptions)]
    options = TrainingOptions(**{name: published[name] for name in names})
    config = ElmoConfig.from_options(published)
    vocabulary = Vocabulary.load(folder / "vocab.txt")
    corpus = Corpus.of(read_sentences([str(folder / "text.txt")]))
    streams = Streams(
        corpus,
        vocabulary,
        config,
        n_rows=options.batch_size,
        unroll_steps=options.unroll_steps,
        n_negatives=options.n_negatives(len(vocabulary)),
    )
    bilm = BidirectionalLanguageModel(
        config, len(vocabulary), options.dropout, dtype=policy
    )
    bilm.build()
    optimizer = make_optimizer("adagrad", options.learning_rate)
    optimizer.build(bilm.trainable_weights)
    settings, strategy = RunSettings(options), tf.distribute.get_strategy()
    return TrainingRun(strategy, bilm, optimizer, streams, settings)


def training_steps(run: TrainingRun) -> Iterator[tuple[float, float, int, float, int]]:
    """Makes a step on request: seconds, processor seconds, tokens, loss, operations."""
    run.reset_state()
    dataset = batches(run)
    step = compiled_step(run, dataset.element_spec)
    for batch in dataset:
        seconds, processor_seconds = time.perf_counter(), time.process_time()
        loss, tokens, run.state = step(batch, run.state)
        loss, tokens = float(loss), int(tokens)
        seconds = time.perf_counter() - seconds
        processor_seconds = time.process_time() - processor_seconds
        needed = operations(batch, run.streams)
        yield seconds, processor_seconds, tokens, loss, needed


def operations(parts: Sequence[dict[str, tf.Tensor]], streams: Streams) -> int:
    """The operations that a batch needs."""
    (batch,) = parts
    lengths = np.count_nonzero(batch["characters"] != PADDING, axis=1)
    return of_training_step(
        streams.config,
        lengths.tolist(),
        positions=streams.n_rows * streams.unroll_steps,
        scored=streams.n_negatives or streams.vocabulary_size,
    )


def main(folder: Path, policy: str = "float32") -> None:
    """Trains on the files of the folder, until standard input ends."""
    keras.utils.set_random_seed(0)
    print(json.dumps(versions(PACKAGES)), flush=True)
    steps = training_steps(training_run(folder, policy))
    for line in sys.stdin:
        request, number = line.split()
        if request == "gemm":
            dtype = keras.DTypePolicy(policy).compute_dtype
            print(json.dumps(product_speed(int(number), dtype)), flush=True)
            continue
        taken = itertools.islice(steps, int(number))
        seconds, processor_seconds, tokens, losses, needed = zip(*taken)
        answer = {
            "seconds": sum(seconds),
            "processor_seconds": sum(processor_seconds),
            "tokens": sum(tokens),
            "loss": statistics.fmean(losses),
            "operations": sum(needed),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
