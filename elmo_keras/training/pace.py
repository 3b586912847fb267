"""The speed of the last steps of training, and the time left."""

import collections
import time
from typing import NamedTuple

RECENT_STEPS = 100


class _Read(NamedTuple):
    steps: int
    tokens: int
    seconds: float
    waited: float


class Pace:
    """Means over the last `RECENT_STEPS` steps of this process."""

    def __init__(self):
        self._reads: collections.deque[_Read] = collections.deque()
        self._start: tuple[float, int] | None = None

    def add(self, steps: int, tokens: int, *, seconds: float, waited: float) -> None:
        """Adds steps that were done since the previous call.

        Args:
            steps, tokens: how many.
            seconds: the time they took.
            waited: the part of it that was spent waiting for data.
        """
        self._reads.append(_Read(steps, tokens, seconds, waited))
        total = sum(read.steps for read in self._reads)
        while total - self._reads[0].steps >= RECENT_STEPS:
            total -= self._reads.popleft().steps

    @property
    def is_known(self) -> bool:
        """Whether steps were added."""
        return bool(self._reads)

    @property
    def tokens_per_second(self) -> float:
        """Tokens in each direction a second."""
        return self._sum("tokens") / max(self._sum("seconds"), 1e-9)

    @property
    def waiting(self) -> float:
        """Share of the time that was spent waiting for data."""
        return self._sum("waited") / max(self._sum("seconds"), 1e-9)

    def scalars(self) -> dict[str, float]:
        """Name → mean, for TensorBoard."""
        if not self.is_known:
            return {}
        return {
            "tokens/s": self.tokens_per_second,
            "waiting for data": self.waiting,
        }

    def _sum(self, name):
        return sum(getattr(read, name) for read in self._reads)

    def start(self, step: int) -> None:
        """Starts the clock for `seconds_left` after a step; later calls do nothing."""
        self._start = self._start or (time.perf_counter(), step)

    def seconds_left(self, step: int, total: int) -> float | None:
        """Time until the last step, evaluations and checkpoints included.

        Args:
            step: number of steps done.
            total: number of steps until training ends.

        Returns:
            The time left at the mean speed since `start`; None if no step was done
            since then.
        """
        if self._start is None or step <= self._start[1]:
            return None
        began, first = self._start
        return (time.perf_counter() - began) / (step - first) * (total - step)
