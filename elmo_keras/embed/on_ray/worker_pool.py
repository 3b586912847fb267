"""Workers that take pieces until none is left, also if some of them end early."""

import collections
import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from elmo_keras.cli.command import CommandFailed
from elmo_keras.embed.on_ray.piece_worker import Written
from elmo_keras.embed.on_ray.pieces import Piece

MAX_LOSSES = 6  # of workers with the same piece, or while they read the model
BETWEEN_CHECKS = 0.5  # seconds
PATIENCE = 120  # seconds without any worker


class WorkerPool:
    """Actors of `PieceWorker`, each with one piece at a time.

    If an actor ends, or its machine does, another one is started in its place, and
    its piece is given to the next one that is free. After an error no more pieces are
    given; it is raised when those in work are finished.

    Args:
        start: starts an actor.
        n_workers: how many there are.
    """

    def __init__(self, start: Callable[[], Any], n_workers: int):
        self._start, self._n_workers = start, n_workers
        # A worker without a piece is reading the model.
        self._tasks: dict[ray.ObjectRef, tuple[Any, Piece | None]] = {}
        self._free: list[Any] = []
        self._again: collections.deque[Piece] = collections.deque()
        self._losses: collections.Counter[int | None] = collections.Counter()
        self._identity: dict[str, Any] | None = None
        self._pieces: Iterator[Piece] = iter(())
        self._left, self._error = True, None
        self._patient_until = time.monotonic() + PATIENCE

    def results(
        self,
        pieces_of: Callable[[dict[str, Any]], Iterator[Piece]],
        stop: Callable[[], bool],
    ) -> Iterator[Written]:
        """Yields the result of each piece, in the order in which they are finished.

        Args:
            pieces_of: takes the identity of the first worker that has read the model;
                returns the pieces, which are read as workers become free.
            stop: asked from time to time; if it returns True, this ends.

        Raises:
            CommandFailed: workers end again and again.
            ValueError, OSError, …: a worker or `pieces_of` raised it, or two workers
                have read different models.
        """
        try:
            for _ in range(self._n_workers):
                self._load()
            while self._in_work() and not stop():
                self._say_if_waiting()
                done, _ = ray.wait(list(self._tasks), timeout=BETWEEN_CHECKS)
                for task in done:
                    yield from self._finished(task, pieces_of)
                self._give()
            if self._error is not None and not stop():
                raise self._error
        finally:
            for worker, _ in self._tasks.values():
                _end(worker)

    def _say_if_waiting(self):
        """Says once that no worker has been ready for long."""
        if self._identity is None and time.monotonic() > self._patient_until:
            self._patient_until = math.inf
            print(
                f"Waiting for the first of {self._n_workers} workers: the cluster may be "
                "busy. Ctrl-C ends the job.",
                file=sys.stderr,
                flush=True,
            )

    def _in_work(self):
        """Whether something is to be waited for: not for models, once no piece is left."""
        has_piece = any(piece is not None for _, piece in self._tasks.values())
        return has_piece or (self._error is None and bool(self._left or self._again))

    def _load(self):
        worker = self._start()
        self._tasks[worker.identity.remote()] = worker, None

    def _give(self):
        while self._free and self._error is None:
            try:
                piece = self._again.popleft() if self._again else next(self._pieces)
            except StopIteration:
                self._left = self._identity is None
                return
            except Exception as error:
                self._error = error
                return
            worker = self._free.pop()
            self._tasks[worker.write.remote(piece)] = worker, piece

    def _finished(self, task, pieces_of):
        """The result of a task, if it is one of a piece."""
        worker, piece = self._tasks.pop(task)
        try:
            result = ray.get(task)
        except RayTaskError as error:
            self._error = self._error or cause_of(error)
            _end(worker)
            return
        except RayError as error:
            self._replace(worker, piece, error)
            return
        self._free.append(worker)
        self._losses[_number(piece)] = 0
        if piece is not None:
            yield result
        elif self._identity is None:
            self._identity, self._pieces = result, pieces_of(result)
        elif self._identity != result:
            self._error = ValueError(_different(self._identity, result))

    def _replace(self, worker, piece, error):
        _end(worker)
        self._losses[_number(piece)] += 1
        if self._losses[_number(piece)] == MAX_LOSSES:
            self._error = self._error or CommandFailed(_lost(piece, error))
            return
        if piece is not None:
            self._again.append(piece)
        self._load()


def cause_of(error: RayTaskError) -> Exception:
    """The error of a worker, as a command reports it, with the worker's machine."""
    cause, place = error.cause, ""
    if len(ray.nodes()) > 1:
        place = f" (on the worker at {error.ip})"
    if isinstance(cause, OSError) and cause.errno:
        return type(cause)(cause.errno, f"{cause.strerror}{place}", cause.filename)
    known = FileNotFoundError, ValueError, ImportError
    kind = next((kind for kind in known if isinstance(cause, kind)), CommandFailed)
    return kind(f"{cause or error}{place}")


def _end(worker):
    with contextlib.suppress(RayError):
        ray.kill(worker)


def _number(piece):
    return None if piece is None else piece.number


def _different(one, other):
    differ = [key for key in one if one[key] != other.get(key)]
    return (
        "All workers should read the same model with the same elmo-keras. Two of them "
        f"differ in: {', '.join(differ)}."
    )


def _lost(piece, error):
    while_ = "read the model"
    if piece is not None:
        last = piece.first + len(piece.sentences) - 1
        while_ = f"embedded the sentences {piece.first:,} to {last:,}"
    return (
        f"{MAX_LOSSES} workers ended while they {while_}. Is there enough memory for "
        f"all of them? {error!s:.500}"
    )
