"""The part of the benchmark of task training that runs in each system's process.

Every system's script imports this, in an environment of its own. It answers lines of
JSON: for {"batches": [[3, 5], [4]]} it makes a training step with each batch of
sentences, from lists of `str` to updated weights, and answers {"seconds": …,
"loss": …} with the loss of the last step.
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
        folder: holds the sentences, one a line.
        packages: packages whose versions are reported.
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
    """The tagger's targets: each word's number of bytes, modulo `N_TAGS`."""
    return [len(word.encode()) % N_TAGS for word in sentence]
