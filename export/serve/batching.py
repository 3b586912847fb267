"""Batches of concurrent requests."""

import collections
import concurrent.futures
import dataclasses
import os
import threading
import time
from collections.abc import Callable

import grpc

from .joining import Arrays, join, outputs_to_fetch, split
from .lanes import Lane
from .request_error import RequestError
from .request_size import SizeLimits
from .waiting_request import Request


def batches_at_once() -> int:
    """The default of `num_batch_threads`: 2, and 1 with fewer than four processors.

    A batch keeps two processors busy, one for each direction of the LSTMs. With no
    more of them, a large batch takes less time than two small ones side by side.
    """
    has_affinity = hasattr(os, "sched_getaffinity")  # Linux
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    return max(1, min(2, (processors or 1) // 2))


@dataclasses.dataclass(frozen=True)
class BatchingOptions:
    """Limits of batches and queue, named as in TensorFlow Serving's file.

    Args:
        max_batch_size: maximum number of rows in a batch; a larger request is a
            batch by itself.
        max_batch_tokens: maximum number of positions in a batch, including padding,
            so that one long sentence doesn't pad many short ones to its length.
        batch_timeout_micros: how long a request may wait for others while a thread
            is free. With 0, batches form only while all threads are busy.
        max_enqueued_requests: maximum number of waiting requests; further ones are
            refused.
        num_batch_threads: number of batches computed at the same time, see
            `batches_at_once`.
    """

    max_batch_size: int = 32
    max_batch_tokens: int = 4096
    long_request_tokens: int = 2048
    batch_timeout_micros: int = 0
    max_enqueued_requests: int = 128
    num_batch_threads: int = dataclasses.field(default_factory=batches_at_once)


class Batcher:
    """A bounded queue of requests, and threads that answer them in batches.

    TensorFlow's own batching op (`tf.nondifferentiable_batch_function`) computes the
    same outputs for all requests and can't cancel one: `output_filter`, deadlines and
    clients that hang up need a queue in front of the graph.

    Args:
        options: limits of batches and queue.
        limits: limits of a request; None for the defaults.
        observe: called with the number of rows of each batch and the name of its
            model; must not raise.
    """

    def __init__(
        self,
        options: BatchingOptions,
        limits: SizeLimits | None = None,
        observe: Callable[[int, str], None] = lambda rows, model: None,
    ):
        self.options, self.limits = options, limits or SizeLimits()
        self._observe = observe
        self._waiting: collections.deque[Request] = collections.deque()
        self._changed = threading.Condition()
        self._computed: set[Request] = set()
        self._closed = False
        lanes = [*[Lane.SHORT] * options.num_batch_threads, Lane.LONG]
        self._threads = [
            threading.Thread(
                target=self._work, args=(lane,), name=f"batch-{i}", daemon=True
            )
            for i, lane in enumerate(lanes)
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self):
        with self._changed:
            return len(self._waiting)

    def submit(self, request: Request) -> concurrent.futures.Future[Arrays]:
        """Puts a request into the queue.

        Returns:
            A future of its outputs or error. Cancelling it removes the request,
            unless it is already being computed.

        Raises:
            RequestError: the request is too large, or the queue is full or closed.
        """
        request.measure(self.limits, self.options.long_request_tokens)
        with self._changed:
            if self._closed:
                raise shutting_down()
            if len(self._waiting) >= self.options.max_enqueued_requests:
                self._drop_cancelled()
            if len(self._waiting) >= self.options.max_enqueued_requests:
                raise RequestError(
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                    f"The queue holds {len(self._waiting)} requests, its maximum. Try "
                    "again later.",
                )
            self._waiting.append(request)
            self._changed.notify_all()
        return request.future

    def close(self, grace: float | None = None) -> None:
        """Refuses new requests, and answers waiting ones for up to `grace` seconds.

        Those that have no answer then fail with UNAVAILABLE.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        end = time.monotonic() + (grace or 0)
        for thread in self._threads:
            thread.join(None if grace is None else max(end - time.monotonic(), 0))
        with self._changed:
            left = [*self._waiting, *self._computed]
            self._waiting.clear()
        for request in left:
            request.fail(shutting_down())

    def _drop_cancelled(self):
        alive = [r for r in self._waiting if not r.future.cancelled()]
        self._waiting = collections.deque(alive)

    def _work(self, lane):
        while batch := self._next_batch(lane):
            self._answer(batch)
            with self._changed:
                self._computed.difference_update(batch)

    def _next_batch(self, lane):
        """The oldest request of a lane and those that fit it; empty once closed."""
        with self._changed:
            while not (first := self._take_first(lane)):
                if self._closed:
                    return []
                self._changed.wait()
            self._computed.add(first)
            batch = [first]
            latest = first.arrived + self.options.batch_timeout_micros / 1e6
            while not self._fill(batch) and not self._closed:
                if (left := latest - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            self._computed.update(batch)
            return batch

    def _take_first(self, lane):
        for request in [r for r in self._waiting if r.lane is lane]:
            self._waiting.remove(request)
            if request.future.set_running_or_notify_cancel():
                return request
        return None

    def _fill(self, batch):
        """Moves fitting requests into the batch; returns whether it is full."""
        rows = sum(request.rows for request in batch)
        widest = max(request.width for request in batch)
        full = not batch[0].joinable or rows >= self.options.max_batch_size
        passed_over = collections.deque()
        while self._waiting and not full:
            request = self._waiting.popleft()
            wider = max(widest, request.width)
            if not batch[0].fits(request):
                passed_over.append(request)
            elif self._too_large(rows + request.rows, wider):
                passed_over.append(request)
                full = True
            elif request.future.set_running_or_notify_cancel():
                batch.append(request)
                rows, widest = rows + request.rows, wider
        self._waiting.extendleft(reversed(passed_over))
        return full or rows >= self.options.max_batch_size

    def _too_large(self, rows, width):
        options = self.options
        return rows > options.max_batch_size or rows * width > options.max_batch_tokens

    def _answer(self, batch):
        """Computes a batch; if it fails, each request is computed alone."""
        try:
            answers = _compute(batch)
        except Exception as error:
            if len(batch) == 1:
                batch[0].fail(error)
            else:
                for request in batch:
                    self._answer([request])
            return
        rows = sum(request.rows for request in batch)
        self._observe(rows, batch[0].servable.name)
        for request, answer in zip(batch, answers):
            request.finish(answer)


def shutting_down() -> RequestError:
    """The error of requests that a closing server doesn't answer."""
    return RequestError(grpc.StatusCode.UNAVAILABLE, "The server is shutting down.")


def _compute(batch):
    first = batch[0]
    servable, signature, keys = first.servable, first.signature, first.keys
    alone = len(batch) == 1
    outputs = servable.run(
        signature,
        join([request.inputs for request in batch]),
        keys if alone else outputs_to_fetch(keys, signature),
        lane=first.lane,
        seconds=first.left() if alone else None,
    )
    requests = [request.inputs for request in batch]
    return split(outputs, keys, signature, requests=requests)
