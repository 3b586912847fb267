"""The systems take turns with the same text; their times are recorded."""

import itertools
import json
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_keras.config import ElmoConfig
from tests.benchmarks.arithmetic import n_tokens, needed
from tests.benchmarks.embedding_systems import OURS
from tests.benchmarks.workers import Worker

MIN_ROUNDS, MIN_SENTENCES = 3, 8


class Text(NamedTuple):
    """Sentences, and the file that holds them, one a line."""

    path: Path
    sentences: list[list[str]]


def sample(sentences: list[list[str]], number: int) -> list[list[str]]:
    """N of the sentences in random order, the same ones each time.

    Raises:
        ValueError: there are fewer sentences.
    """
    if number > len(sentences):
        raise ValueError(
            f"{number:,} sentences are needed, and the text has {len(sentences):,}."
        )
    return random.Random(0).sample(sentences, number)


class Measured:
    """The results of a system's turns.

    Attributes:
        label: name of the system, and how it was used.
        rates: tokens a second, one for each turn.
        speeds: needed operations a second, one for each turn.
        memory: the process's peak so far, in GB.
    """

    def __init__(self, worker: Worker, label: str):
        self.worker, self.label = worker, label
        self.rates, self.speeds, self.memory = [], [], 0.0

    def turn(self, request: str, tokens: int, operations: float) -> None:
        """Lets the system embed, and records its speed."""
        seconds = self.worker.ask(request)["seconds"]
        self.rates.append(tokens / seconds)
        self.speeds.append(operations / seconds)
        self.memory = self.worker.peak_memory()

    @property
    def rate(self) -> float:
        """The median of tokens a second."""
        return statistics.median(self.rates)


class Turns:
    """Lets systems embed the same text, one after another, round after round.

    Args:
        systems: in the order of their turns.
        config: the model's configuration, for its arithmetic.
        seconds: rounds start for this long; there are at least three.
    """

    def __init__(self, systems: Sequence[Worker], config: ElmoConfig, seconds: float):
        self.systems, self.config, self.seconds = systems, config, seconds

    def of_batches(self, text: Text, size: int) -> list[Measured]:
        """Embeds batches of `size` sentences as they come, new ones in each round."""
        measured = [Measured(worker, worker.name) for worker in self.systems]
        per_turn = max(1, MIN_SENTENCES // size)
        places = itertools.cycle(range(len(text.sentences)))

        def a_round():
            batches = [list(itertools.islice(places, size)) for _ in range(per_turn)]
            texts = [[text.sentences[i] for i in batch] for batch in batches]
            operations = sum(needed(self.config, batch) for batch in texts)
            for system in measured:
                system.turn(in_batches(batches), sum(map(n_tokens, texts)), operations)

        self._rounds(a_round, done=0)
        return measured

    def of_file(self, text: Text, batch_sizes: Sequence[int]) -> list[Measured]:
        """Embeds all sentences: once in each way of a system, then in its fastest."""
        work = n_tokens(text.sentences), needed(self.config, text.sentences)
        best = []
        for worker in self.systems:
            ways = []
            for label, request in file_requests(worker.name, text, batch_sizes):
                ways.append((Measured(worker, label), request))
                ways[-1][0].turn(request, *work)
            best.append(max(ways, key=lambda way: way[0].rate))

        def a_round():
            for system, request in best:
                system.turn(request, *work)

        self._rounds(a_round, done=1)
        return [system for system, _ in best]

    def _rounds(self, a_round, done):
        end = time.monotonic() + self.seconds
        while done < MIN_ROUNDS or time.monotonic() < end:
            a_round()
            done += 1


def file_requests(
    name: str, text: Text, batch_sizes: Sequence[int]
) -> list[tuple[str, str]]:
    """Ways in which a system embeds a file: labels, and requests to the worker."""
    if name in OURS:
        return [(name, json.dumps({"file": str(text.path)}))]
    places = range(len(text.sentences))
    places = sorted(places, key=lambda i: len(text.sentences[i]))
    return [
        (
            f"{name}, sorted, {size}",
            in_batches([places[i : i + size] for i in range(0, len(places), size)]),
        )
        for size in batch_sizes
    ]


def in_batches(batches: list[list[int]]) -> str:
    """The request for a worker to embed these sentences."""
    return json.dumps({"batches": batches})
