"""The systems take turns with the same text, and what they did is noted."""

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

FEWEST_ROUNDS, FEWEST_SENTENCES = 3, 8


class Text(NamedTuple):
    """The sentences, and the file that has them, one a line."""

    path: Path
    sentences: list[list[str]]


def sample(sentences: list[list[str]], number: int) -> list[list[str]]:
    """So many of the sentences, the same ones each time, in random order.

    Raises:
        ValueError: there are fewer.
    """
    if number > len(sentences):
        raise ValueError(
            f"{number:,} sentences are needed, and the text has {len(sentences):,}."
        )
    return random.Random(0).sample(sentences, number)


class Measured:
    """What a system did in its turns.

    Attributes:
        label: name of the system, and how it was used.
        rates: tokens a second, one for each turn.
        speeds: needed operations a second.
        memory: peak of the process until then, in GB.
    """

    def __init__(self, worker: Worker, label: str):
        self.worker, self.label = worker, label
        self.rates, self.speeds, self.memory = [], [], 0.0

    def turn(self, request: str, tokens: int, operations: float) -> None:
        """Lets the system embed, and notes how fast it was."""
        seconds = self.worker.ask(request)["seconds"]
        self.rates.append(tokens / seconds)
        self.speeds.append(operations / seconds)
        self.memory = self.worker.peak_memory()

    @property
    def rate(self) -> float:
        """The median of tokens a second."""
        return statistics.median(self.rates)


class Turns:
    """Has systems embed the same, one after another, round after round.

    Args:
        systems: they keep their order.
        config: of the model; tells the arithmetic.
        seconds: rounds begin until these are over, but there are three at least.
    """

    def __init__(self, systems: Sequence[Worker], config: ElmoConfig, seconds: float):
        self.systems, self.config, self.seconds = systems, config, seconds

    def of_batches(self, text: Text, size: int) -> list[Measured]:
        """With batches of so many sentences as they come, new ones each round."""
        measured = [Measured(worker, worker.name) for worker in self.systems]
        per_turn = max(1, FEWEST_SENTENCES // size)
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
        """With all sentences: each way of a system once, then its fastest one."""
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
        while done < FEWEST_ROUNDS or time.monotonic() < end:
            a_round()
            done += 1


def file_requests(
    name: str, text: Text, batch_sizes: Sequence[int]
) -> list[tuple[str, str]]:
    """The ways in which a system embeds a file: labels and lines for the worker."""
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
    """The line that has a worker embed these sentences."""
    return json.dumps({"batches": batches})
