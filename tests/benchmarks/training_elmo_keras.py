"""elmo-keras' side of the training benchmark; `training.py` starts it.

    python training_elmo_keras.py FOLDER

Waits for lines "step N", makes N training steps, and answers with a line of JSON.
"""

import dataclasses
import itertools
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import keras
import tensorflow as tf
from embedding_worker import versions

from elmo_keras import BidirectionalLanguageModel, ElmoConfig, Vocabulary
from elmo_keras.published_options import read_options
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.files import read_sentences
from elmo_keras.training.optimizers import make_optimizer
from elmo_keras.training.options import TrainingOptions
from elmo_keras.training.run import TrainingRun, batches, compiled_step
from elmo_keras.training.streams import Streams

PACKAGES = ("tensorflow", "keras")


def training_steps(folder: Path) -> Iterator[tuple[float, float, int, float]]:
    """Makes a step on request: seconds, processor seconds, tokens, loss."""
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
    bilm = BidirectionalLanguageModel(config, len(vocabulary), options.dropout)
    bilm.build()
    optimizer = make_optimizer("adagrad", options.learning_rate)
    optimizer.build(bilm.trainable_weights)
    run = TrainingRun(tf.distribute.get_strategy(), bilm, optimizer, streams, options)
    run.reset_state()
    dataset = batches(run)
    step = compiled_step(run, dataset.element_spec)
    for batch in dataset:
        seconds, processor_seconds = time.perf_counter(), time.process_time()
        loss, tokens, run.state = step(batch, run.state)
        loss, tokens = float(loss), int(tokens)
        seconds = time.perf_counter() - seconds
        yield seconds, time.process_time() - processor_seconds, tokens, loss


def main(folder: Path) -> None:
    """Trains on the files of the folder, until standard input ends."""
    keras.utils.set_random_seed(0)
    print(json.dumps(versions(PACKAGES)), flush=True)
    steps = training_steps(folder)
    for line in sys.stdin:
        taken = itertools.islice(steps, int(line.split()[1]))
        seconds, processor_seconds, tokens, losses = zip(*taken)
        answer = {
            "seconds": sum(seconds),
            "processor_seconds": sum(processor_seconds),
            "tokens": sum(tokens),
            "loss": statistics.fmean(losses),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
