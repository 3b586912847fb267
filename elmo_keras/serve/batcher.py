"""Batches of concurrent requests."""

import collections
import contextlib
import dataclasses
import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError

from elmo_keras.serve.config import Config
from elmo_keras.serve.errors import shutting_down, too_late, too_much
from elmo_keras.serve.joining import is_joinable, join, outputs_to_fetch, split
from elmo_keras.serve.lanes import Lane
from elmo_keras.serve.request_size import check_answer, checked_size
from elmo_keras.serve.servable import Servable
from elmo_keras.serve.signature import Arrays, Signature


@dataclasses.dataclass(eq=False)
class Request:
    """Validated inputs that wait for their outputs."""

    servable: Servable
    signature: Signature
    inputs: Arrays
    keys: tuple[str, ...]
    seconds: float | None = None
    as_columns: bool = False  # the form of the answer over REST

    def __post_init__(self):
        self.future: Future[Arrays] = Future()
        self.arrived = time.monotonic()
        self.rows = self.width = 0
        self.joinable = is_joinable(self.inputs)
        self.lane = Lane.SHORT

    def fits(self, other: "Request") -> bool:
        return (
            self.joinable
            and other.joinable
            and self.servable is other.servable
            and self.signature is other.signature
            and self.keys == other.keys
        )

    def left(self) -> float | None:
        if self.seconds is None:
            return None
        left = self.arrived + self.seconds - time.monotonic()
        if left <= 0:
            raise too_late("The deadline has passed.")
        return left

    def fail(self, error: Exception) -> None:
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


class Batcher:
    """A bounded queue of requests, and threads that answer them in batches.

    TensorFlow's own batching op computes the same outputs for all and can't cancel one.
    """

    def __init__(
        self,
        config: Config,
        observe: Callable[[int, str], None] = lambda rows, model: None,
    ):
        self._config, self._observe = config, observe
        self._waiting: collections.deque[Request] = collections.deque()
        self._changed = threading.Condition()
        self._computed: set[Request] = set()
        self._closed = False
        lanes = [*[Lane.SHORT] * config.num_batch_threads, Lane.LONG]
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

    def submit(self, request: Request) -> Future[Arrays]:
        """Puts a request into the queue, unless it or its answer is too large."""
        tokenizer, config = request.servable.tokenizer, self._config
        rows, tokens, width = checked_size(request.inputs, tokenizer, config)
        check_answer(rows, width, request.signature, request.keys, config)
        request.rows, request.width = rows, width
        if tokens > config.long_request_tokens:
            request.lane, request.joinable = Lane.LONG, False
        maximum = config.max_enqueued_requests
        with self._changed:
            if self._closed:
                raise shutting_down()
            if len(self._waiting) >= maximum:
                alive = [r for r in self._waiting if not r.future.cancelled()]
                self._waiting = collections.deque(alive)
            if len(self._waiting) >= maximum:
                raise too_much(
                    f"The queue holds {len(self._waiting)} requests, its maximum. Try "
                    "again later."
                )
            self._waiting.append(request)
            self._changed.notify_all()
        return request.future

    def close(self, grace: float = threading.TIMEOUT_MAX) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        end = time.monotonic() + grace
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
        with self._changed:
            left = [*self._waiting, *self._computed]
            self._waiting.clear()
        for request in left:
            request.fail(shutting_down())

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
            latest = first.arrived + self._config.batch_timeout_micros / 1e6
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
        first, config = batch[0], self._config
        rows = sum(request.rows for request in batch)
        widest = max(request.width for request in batch)
        for request in [r for r in self._waiting if first.fits(r)]:
            more, wider = rows + request.rows, max(widest, request.width)
            too_large = more * wider > config.max_batch_tokens
            if too_large or more > config.max_batch_size:
                return True
            self._waiting.remove(request)
            if request.future.set_running_or_notify_cancel():
                batch.append(request)
                rows, widest = more, wider
        return not first.joinable or rows >= config.max_batch_size

    def _answer(self, batch):
        """Computes a batch; if it fails, each request is computed alone."""
        first, inputs = batch[0], [request.inputs for request in batch]
        servable, signature, keys = first.servable, first.signature, first.keys
        run = functools.partial(servable.run, signature, lane=first.lane)
        try:
            if len(batch) == 1:
                answers = [run(*inputs, keys, seconds=first.left())]
            else:
                fetched = outputs_to_fetch(keys, signature)
                outputs = run(join(inputs), fetched, seconds=None)
                answers = split(outputs, keys, signature, requests=inputs)
        except Exception as error:
            if len(batch) == 1:
                first.fail(error)
            else:
                for request in batch:
                    self._answer([request])
            return
        self._observe(sum(request.rows for request in batch), servable.name)
        for request, answer in zip(batch, answers):
            with contextlib.suppress(InvalidStateError):  # the server was closed
                request.future.set_result(answer)
