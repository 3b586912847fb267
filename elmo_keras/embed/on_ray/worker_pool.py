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

from elmo_keras.embed.text_rows import Piece
from elmo_keras.util.command import CommandFailed

MAX_LOSSES = 6  # of workers with the same piece, or while they read the model
BETWEEN_CHECKS = 0.5  # seconds
PATIENCE = 120  # seconds without any worker
WAITING = (
    "Waiting for the first of {} workers: the cluster may be busy. Ctrl-C ends the job."
)


def results(
    start: Callable[[], Any],
    n_workers: int,
    pieces_of: Callable[[dict[str, Any]], Iterator[Piece]],
    stop: Callable[[], bool],
) -> Iterator[Any]:
    """Yields the result of each piece, in the order in which they are finished.

    If a worker ends, or its machine does, another one is started in its place, and its
    piece is given to the next one that is free. (Ray's own retries would wait for a
    place on a lost machine.) After an error no more pieces are given; it is raised when
    those in work are finished.
    """
    tasks: dict[ray.ObjectRef, tuple[Any, Piece | None]] = {}  # None: reads the model
    free, again, losses = [], [], collections.Counter()
    pieces, are_left, error = None, True, None
    patient_until = time.monotonic() + PATIENCE

    def load():
        worker = start()
        tasks[worker.identity.remote()] = worker, None

    def following():
        nonlocal are_left, error
        if again:
            return again.pop(0)
        try:
            piece = next(pieces, None)
        except Exception as raised:  # of the inputs
            piece, error = None, raised
        are_left = piece is not None
        return piece

    try:
        for _ in range(n_workers):
            load()
        while not stop():
            while free and error is None and (piece := following()):
                worker = free.pop()
                tasks[worker.write.remote(piece)] = worker, piece
            in_work = any(piece for _, piece in tasks.values())
            if not in_work and (error is not None or not (are_left or again)):
                break
            if pieces is None and time.monotonic() > patient_until:
                patient_until = math.inf
                print(WAITING.format(n_workers), file=sys.stderr, flush=True)
            done, _ = ray.wait(list(tasks), timeout=BETWEEN_CHECKS)
            for task in done:
                worker, piece = tasks.pop(task)
                number = piece and piece.number
                try:
                    result = ray.get(task)
                except RayError as ended:
                    _end(worker)
                    losses[number] += 1
                    if isinstance(ended, RayTaskError):
                        error = error or cause_of(ended)
                    elif losses[number] == MAX_LOSSES:
                        error = error or CommandFailed(_lost(piece, ended))
                    else:
                        again += [piece] if piece else []
                        load()
                    continue
                losses[number] = 0
                free.append(worker)
                if piece:
                    yield result
                elif pieces is None:
                    pieces = pieces_of(result)
        if error is not None and not stop():
            raise error
    finally:
        for worker, _ in tasks.values():
            _end(worker)


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


def _lost(piece, error):
    while_ = "read the model"
    if piece is not None:
        last = piece.first + len(piece.sentences) - 1
        while_ = f"embedded the sentences {piece.first:,} to {last:,}"
    return (
        f"{MAX_LOSSES} workers ended while they {while_}. Is there enough memory for "
        f"all of them? {error!s:.500}"
    )
