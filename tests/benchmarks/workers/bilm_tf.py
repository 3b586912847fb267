"""bilm-tf's side of the training benchmark.

    python bilm_tf.py FOLDER OPTIONS

Runs `simple_elmo.training.train` unchanged on `text.txt` and `vocab.txt` of FOLDER and
the published options.json, with two hooks: its loop gets batches when steps are
requested, and its session is timed. TensorFlow 1's behaviour is switched on, and
tf_keras provides the cells that Keras 3 no longer has.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf
from protocol import answer, hello
from simple_elmo.data import BidirectionalLMDataset
from simple_elmo.training import load_vocab, train


class TimedSession(tf.compat.v1.Session):
    """Records the seconds of each training step."""

    steps: list[float] = []

    def run(self, fetches, feed_dict=None):
        seconds = time.perf_counter()
        values = super().run(fetches, feed_dict)
        seconds = time.perf_counter() - seconds
        # Not the saver's fetches, nor the initial state's, which begin with a tensor.
        if isinstance(fetches, list) and isinstance(fetches[0], tf.Operation):
            self.steps.append(seconds)
        return values


class BatchesOnDemand:
    """Gives bilm-tf's batches to its training loop when steps are requested."""

    def __init__(self, data):
        self.data = data

    def iter_batches(self, batch_size: int, unroll_steps: int) -> Iterator[dict]:
        """Called by `train`; answers when its loop has used N batches."""
        batches = self.data.iter_batches(batch_size, unroll_steps)
        for line in sys.stdin:
            TimedSession.steps.clear()
            for _ in range(json.loads(line)[1]["number"]):
                yield next(batches)
            tokens = len(TimedSession.steps) * batch_size * unroll_steps
            answer({"seconds": sum(TimedSession.steps), "tokens": tokens})


def main(folder: Path, options: Path) -> None:
    tf.compat.v1.disable_v2_behavior()
    tf.compat.v1.Session = TimedSession
    tf.compat.v1.set_random_seed(0)
    random.seed(0)  # the order of the sentences
    options = json.loads(options.read_text())
    options["char_cnn"]["n_characters"] = 261  # bilm-tf's number in training
    max_characters = options["char_cnn"]["max_characters_per_token"]
    vocabulary = load_vocab(str(folder / "vocab.txt"), max_characters)
    text = str(folder / "text.txt")
    data = BidirectionalLMDataset(text, vocabulary, shuffle_on_load=True)
    saved = folder / "bilm_tf"
    saved.mkdir()
    answer(hello("simple-elmo", "tensorflow", "tf_keras"))
    train(options, BatchesOnDemand(data), 1, str(saved), str(saved))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
