"""bilm-tf's side of the training benchmark; `training.py` starts it.

    python training_bilm_tf.py FOLDER

Runs `simple_elmo.training.train` unchanged, with two hooks: when its loop asks for
batches, it waits for a line "step N" and gets N batches; and its session is timed.
"""

import itertools
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf
from embedding_worker import versions
from simple_elmo.data import BidirectionalLMDataset
from simple_elmo.training import load_vocab, train

PACKAGES = ("simple-elmo", "tensorflow", "tf_keras")


class TimedSession(tf.compat.v1.Session):
    """Records the seconds, processor seconds and loss of each training step."""

    steps: list[tuple[float, float, float]] = []

    def run(self, fetches, feed_dict=None):
        seconds, processor_seconds = time.perf_counter(), time.process_time()
        values = super().run(fetches, feed_dict)
        seconds = time.perf_counter() - seconds
        processor_seconds = time.process_time() - processor_seconds
        # Not the saver's fetches, nor the initial state's, which begin with a tensor.
        if isinstance(fetches, list) and isinstance(fetches[0], tf.Operation):
            loss = math.log(values[2])  # [train_op, summary_op, train_perplexity, …]
            self.steps.append((seconds, processor_seconds, loss))
        return values


class BatchesOnDemand:
    """Gives bilm-tf's batches to its training loop when steps are requested."""

    def __init__(self, data, answers):
        self.data, self.answers = data, answers

    def iter_batches(self, batch_size: int, unroll_steps: int) -> Iterator[dict]:
        """Called by `train`; answers when its loop has used N batches."""
        batches = self.data.iter_batches(batch_size, unroll_steps)
        for line in sys.stdin:
            TimedSession.steps.clear()
            yield from itertools.islice(batches, int(line.split()[1]))
            seconds, processor_seconds, losses = zip(*TimedSession.steps)
            answer = {
                "seconds": sum(seconds),
                "processor_seconds": sum(processor_seconds),
                "tokens": len(losses) * batch_size * unroll_steps,
                "loss": statistics.fmean(losses),
            }
            print(json.dumps(answer), file=self.answers, flush=True)


def main(folder: Path) -> None:
    """Trains on the files of the folder, until standard input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # `train` prints its variables
    tf.compat.v1.disable_v2_behavior()
    tf.compat.v1.Session = TimedSession
    tf.compat.v1.set_random_seed(0)
    random.seed(0)  # the order of the sentences
    options = json.loads((folder / "options.json").read_text())
    max_characters = options["char_cnn"]["max_characters_per_token"]
    vocabulary = load_vocab(str(folder / "vocab.txt"), max_characters)
    text = str(folder / "text.txt")
    data = BidirectionalLMDataset(text, vocabulary, shuffle_on_load=True)
    saved = folder / "bilm_tf"
    saved.mkdir()
    print(json.dumps(versions(PACKAGES)), file=answers, flush=True)
    train(options, BatchesOnDemand(data, answers), 1, str(saved), str(saved))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
