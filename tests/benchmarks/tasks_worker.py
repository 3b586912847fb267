"""The side of the benchmark of task training that each system's process has.

Every system's script imports this, in an environment of its own. It answers lines of
JSON: {"batches": [[3, 5], [4]]} makes a training step with each batch of sentences,
from lists of `str` to updated weights, and tells {"seconds": …, "loss": …}, the loss
being that of the last step.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from embedding_worker import read, versions

FINE_TUNING = "fine-tuning"
N_TAGS = 17
LEARNING_RATE = 0.1


def serve(
    folder: Path, packages: Sequence[str], step: Callable[[list[list[str]]], float]
) -> None:
    """Answers until standard input ends.

    Args:
        folder: has the sentences, one a line.
        packages: whose versions are told.
        step: makes a step with a batch and returns its loss.
    """
    sentences = read(folder / "sentences.txt")
    print(json.dumps(versions(packages)), flush=True)
    for line in sys.stdin:
        places = json.loads(line)["batches"]
        batches = [[sentences[i] for i in batch] for batch in places]
        start = time.perf_counter()
        losses = [step(batch) for batch in batches]
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "loss": losses[-1]}), flush=True)


def tags(sentence: list[str]) -> list[int]:
    """What the tagger learns: a word's number of bytes, counted in a circle."""
    return [len(word.encode()) % N_TAGS for word in sentence]
