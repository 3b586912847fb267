"""A plain function over a SavedModel: `plain_server.py VERSION FILE`.

The function of one sentence calls the signature `default` and returns `elmo`. Answers
requests for `calls` with the seconds of each call of some threads, and saves the vectors
of the sentences of FILE.
"""

import itertools
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tensorflow as tf
from protocol import answer_requests, read

STRIDE = 7  # between the first sentences of two threads


def main(version: Path, file: Path) -> None:
    sentences = [" ".join(tokens) for tokens in read(file)]
    loaded = tf.saved_model.load(version)
    signature = loaded.signatures["default"]
    function = tf.function(
        lambda sentences: signature(sentences=sentences)["elmo"],
        input_signature=[tf.TensorSpec((1,), tf.string)],
    )

    def calls(threads: int, seconds: float) -> list[float]:
        times, end = [], time.perf_counter() + seconds

        def work(place):
            for sentence in itertools.islice(itertools.cycle(sentences), place, None):
                if (begin := time.perf_counter()) >= end:
                    return
                function(tf.constant([sentence])).numpy()
                times.append(time.perf_counter() - begin)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(0, STRIDE * threads, STRIDE)))
        return times

    def save(path: str) -> None:
        np.savez(path, *(function(tf.constant([s])).numpy()[0] for s in sentences))

    answer_requests("ready", {"calls": calls, "save": save})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
