"""The part of the embedding benchmark that runs in each system's process.

It reports the packages it runs on, and then answers lines of JSON. Every system's
script imports this, in an environment of its own, so that it may import NumPy only.

    {"batches": [[3, 5], [4]]}     embed these sentences, batch by batch
    {"file": PATH}                 embed a file, one sentence a line
    {"batches": …, "save": PATH}   the same, and write the vectors of the real tokens,
                                   float32 (layers, tokens, dimensions)

The answer is {"seconds": …, "processor_seconds": …}, the time from lists of `str` to
all layers of all tokens in NumPy arrays.
"""

import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Sentences = list[list[str]]


def serve(
    folder: Path,
    packages: Sequence[str],
    embed: Callable[[Sentences], np.ndarray | list[np.ndarray]],
    *,
    forget: Callable[[], None] = lambda: None,
    embed_file: Callable[[Path], Iterable[np.ndarray]] | None = None,
    more: Callable[[dict], Any] | None = None,
) -> None:
    """Answers until standard input ends.

    Args:
        folder: holds the sentences, one a line.
        packages: packages whose versions are reported.
        embed: returns vectors (sentences, layers, longest, dimensions) of a batch, or
            a list of the vectors (layers, tokens, dimensions) of each sentence.
        forget: resets the LSTM state, if the system keeps one; called before a
            batch that is saved.
        embed_file: yields vectors of the sentences of a file, in any pieces.
        more: answers other requests.
    """
    answers, sys.stdout = sys.stdout, sys.stderr  # some systems print
    sentences = read(folder / "sentences.txt")
    embed(sentences[:1])
    print(json.dumps(versions(packages)), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "file" in request:
            answer = timed(embed_file(Path(request["file"])))
        elif "batches" in request:
            batches = [[sentences[i] for i in batch] for batch in request["batches"]]
            if "save" in request:
                np.save(request["save"], saved(batches, embed, forget))
            answer = timed(map(embed, batches))
        else:
            answer = more(request)
        print(json.dumps(answer), file=answers, flush=True)


def read(path: Path) -> Sentences:
    """The sentences of a file, one a line, tokens separated by one space."""
    return [line.split(" ") for line in path.read_text("utf-8").split("\n")[:-1]]


def versions(packages: Sequence[str]) -> str:
    """Names and versions of the packages that the process runs on."""
    found = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    return ", ".join([*found, f"Python {platform.python_version()}"])


def timed(arrays: Iterable[np.ndarray | list[np.ndarray]]) -> dict[str, float]:
    """The time until all arrays are there."""
    seconds, processor_seconds = time.perf_counter(), time.process_time()
    for array in arrays:
        first = array[0] if isinstance(array, list) else array
        if not isinstance(first, np.ndarray):
            raise TypeError(f"The vectors should be in NumPy. Received: {type(first)}")
    return {
        "seconds": time.perf_counter() - seconds,
        "processor_seconds": time.process_time() - processor_seconds,
    }


def saved(batches, embed, forget) -> np.ndarray:
    """The vectors of the real tokens: (layers, tokens, dimensions)."""
    real = []
    for batch in batches:
        forget()
        for sentence, vectors in zip(batch, embed(batch)):
            real.append(vectors[:, : len(sentence)].astype(np.float32))
    return np.concatenate(real, axis=1)
