"""The part of a benchmark that runs in each system's process.

It says hello, and then answers lines of JSON, [NAME, ARGUMENTS]. Every system's script
imports this, in an environment of its own, so that it may import NumPy only.
"""

import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Sentences = list[list[str]]
ANSWERS, sys.stdout = sys.stdout, sys.stderr  # some systems print


def answer_requests(hello: object, requests: Mapping[str, Callable[..., Any]]) -> None:
    """Says hello, then answers until the input ends."""
    answer(hello)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        answer(requests[name](**arguments))


def hello(*packages: str, size: int = 0) -> dict[str, Any]:
    """The versions of the process, and the size of its model in bytes."""
    names = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    on = ", ".join([*names, f"Python {platform.python_version()}"])
    return {"on": on, "megabytes": size / 1e6}


def folder_size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def answer(value: object) -> None:
    print(json.dumps(value), file=ANSWERS, flush=True)


def read(path: Path) -> Sentences:
    """The sentences of a file, one a line, tokens separated by one space."""
    return [line.split(" ") for line in path.read_text("utf-8").split("\n")[:-1]]


def timed(sentences: Sentences, work: Callable[[], Any]) -> dict[str, float]:
    """The seconds of some work, and the tokens of its sentences."""
    tokens, start = sum(map(len, sentences)), time.perf_counter()
    work()
    return {"tokens": tokens, "seconds": time.perf_counter() - start}


def requests(
    embed: Callable[[Sentences], Any], forget: Callable[[], Any] = lambda: None
) -> dict[str, Callable[..., Any]]:
    """Requests for the vectors of batches of sentences, from lists of `str` on.

    `embed` returns vectors (sentences, layers, longest, dimensions), or a list of those of
    each sentence; `forget` resets the LSTM state before they are saved.
    """

    def run(batches):
        return timed(sum(batches, []), lambda: [check(embed(b)) for b in batches])

    def save(batches, path):
        """Saves the vectors of real tokens: (layers, tokens, dimensions)."""
        real = []
        for batch in batches:
            forget()
            for sentence, vectors in zip(batch, embed(batch)):
                real.append(vectors[:, : len(sentence)].astype(np.float32))
        np.save(path, np.concatenate(real, axis=1))

    return {"run": run, "save": save}


def feature_requests(
    features: Callable[[Sentences], list[np.ndarray]],
    embed: Callable[[Sentences], list[np.ndarray]] | None = None,
) -> dict[str, Callable[..., Any]]:
    """Requests for the vectors `(tokens, dim)` of each sentence: timed, or saved as float16.

    And for the cosines of pairs of sentences, by their means or what `embed` makes of them.
    """

    def run(sentences):
        return timed(sentences, lambda: features(sentences))

    def save(sentences, path):
        np.save(path, np.concatenate(features(sentences)).astype(np.float16))

    def cosines(pairs):
        columns = []
        for column in zip(*pairs):
            vectors = embed(column) if embed else [x.mean(0) for x in features(column)]
            x = np.array(vectors, np.float32)
            columns.append(x / np.linalg.norm(x, axis=1, keepdims=True).clip(1e-9))
        return np.multiply(*columns).sum(axis=1).tolist()

    return {"run": run, "save": save, "cosines": cosines}


def check(vectors: Any) -> None:
    """Refuses vectors that are still on their way to NumPy."""
    first = vectors[0] if isinstance(vectors, list) else vectors
    if not isinstance(first, np.ndarray):
        raise TypeError(f"The vectors should be in NumPy. Received: {type(first)}")
