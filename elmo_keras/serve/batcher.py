"""Batches of concurrent requests."""

import collections
import contextlib
import dataclasses
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError

import numpy as np
from prometheus_client import Histogram

from elmo_keras.exported_elmo import LENGTHS
from elmo_keras.serve.config import Config
from elmo_keras.serve.errors import invalid, shutting_down, too_late, too_much
from elmo_keras.serve.servable import Servable
from elmo_keras.serve.signature import Arrays, Signature

# A token has at least one of these parts; with the rules "ewt", at least half of one.
_PARTS = re.compile(rb"[A-Za-z]+|[\xc0-\xff][\x80-\xbf]*|[^ \t\n\v\f\r]")


@dataclasses.dataclass(eq=False)
class Request:
    """Validated inputs that wait for their outputs."""

    servable: Servable
    signature: Signature
    inputs: Arrays
    keys: tuple[str, ...]
    seconds: float | None = None

    def __post_init__(self):
        self.future: Future[Arrays] = Future()
        self.arrived = time.monotonic()
        self.rows = len(next(iter(self.inputs.values())))
        self.width = longest(self.inputs, self.servable.tokenizer)
        self.is_long = False
        self.group = self.servable, id(self.signature), self.keys  # may share a batch

    def run(self) -> Arrays:
        left = None
        if self.seconds is not None:
            left = self.arrived + self.seconds - time.monotonic()
            if left <= 0:
                raise too_late("The deadline has passed.")
        return self.servable.run(
            self.signature, self.inputs, self.keys, seconds=left, is_long=self.is_long
        )

    def fail(self, error: Exception) -> None:
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


class Batcher:
    """A bounded queue of requests, and threads that answer them in batches.

    A long request has a thread of its own: others don't wait for its end. TensorFlow's
    own batching op computes the same outputs for all and can't cancel one.
    """

    def __init__(self, config: Config, rows: Histogram):
        self._config, self._rows = config, rows
        self._waiting: collections.deque[Request] = collections.deque()
        self._changed = threading.Condition()
        self._computed: set[Request] = set()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, args=(long,), daemon=True)
            for long in [*[False] * config.num_batch_threads, True]
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self):
        with self._changed:
            return len(self._waiting)

    def submit(self, request: Request) -> Future[Arrays]:
        """Puts a request into the queue, unless it is too large."""
        config = self._config
        tokens = request.rows * max(request.width, 1)
        if tokens > config.max_request_tokens:
            raise invalid(
                f"A request may have at most {config.max_request_tokens:,} tokens with "
                f"its padding (--max-request-tokens). This one has {tokens:,}. Send it "
                "in parts."
            )
        request.is_long = tokens > config.long_request_tokens
        maximum = config.max_enqueued_requests
        with self._changed:
            if self._closed:
                raise shutting_down()
            if len(self._waiting) >= maximum:
                alive = [r for r in self._waiting if not r.future.cancelled()]
                self._waiting = collections.deque(alive)
            if len(self._waiting) >= maximum:
                raise too_much(
                    f"The queue holds {maximum} requests, its maximum. Try again later."
                )
            self._waiting.append(request)
            self._changed.notify_all()
        return request.future

    def close(self, grace: float = threading.TIMEOUT_MAX) -> None:
        """Answers the requests that wait, and refuses those left after `grace` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.join(grace)
        with self._changed:
            left = [*self._waiting, *self._computed]
            self._waiting.clear()
        for request in left:
            request.fail(shutting_down())

    def join(self, seconds: float = threading.TIMEOUT_MAX) -> None:
        """Waits for the end of the threads, after `close`."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))

    def _work(self, long):
        while batch := self._next_batch(long):
            self._answer(batch)
            with self._changed:
                self._computed.difference_update(batch)

    def _next_batch(self, long):
        """The oldest request and those that fit it; empty once closed."""
        with self._changed:
            while not (first := self._take_first(long)):
                if self._closed:
                    return []
                self._changed.wait()
            self._computed.add(first)
            batch = [first]
            latest = first.arrived + self._config.batch_timeout_micros / 1e6
            while not (first.is_long or self._fill(batch) or self._closed):
                if (left := latest - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            self._computed.update(batch)
            return batch

    def _take_first(self, long):
        for request in [r for r in self._waiting if r.is_long == long]:
            self._waiting.remove(request)
            if request.future.set_running_or_notify_cancel():
                return request
        return None

    def _fill(self, batch):
        """Moves fitting requests into the batch; returns whether it is full."""
        first, config = batch[0], self._config
        rows = sum(request.rows for request in batch)
        width = max(request.width for request in batch)
        fitting = [r for r in self._waiting if r.group == first.group and not r.is_long]
        for request in fitting:
            more, wider = rows + request.rows, max(width, request.width)
            too_large = more * wider > config.max_batch_tokens
            if too_large or more > config.max_batch_size:
                return True
            self._waiting.remove(request)
            if request.future.set_running_or_notify_cancel():
                batch.append(request)
                rows, width = more, wider
        return rows >= config.max_batch_size

    def _answer(self, batch):
        """Computes a batch; if it fails, each request is computed alone."""
        alone = len(batch) == 1
        try:
            answers = [batch[0].run()] if alone else run_together(batch)
        except Exception as error:  # the thread answers the next requests
            if alone:
                batch[0].fail(error)
            else:
                for request in batch:
                    self._answer([request])
            return
        rows = sum(request.rows for request in batch)
        self._rows.labels(batch[0].servable.name).observe(rows)
        for request, answer in zip(batch, answers):
            with contextlib.suppress(InvalidStateError):  # the server was closed
                request.future.set_result(answer)


def longest(inputs: Arrays, tokenizer: str) -> int:
    """The number of tokens of the longest row; of a text, an upper bound."""
    texts = [x for x in inputs.values() if x.dtype == object and x.ndim == 1]
    words = _PARTS.findall if tokenizer not in ("spaces", "whitespace") else bytes.split
    most = 2 if tokenizer == "ewt" else 1  # can|not
    counts = [most * len(words(text)) for array in texts for text in array]
    return max([n_columns(inputs), *counts])


def n_columns(inputs: Arrays) -> int:
    tokens = [x for x in inputs.values() if x.dtype == object and x.ndim > 1]
    return max((array.shape[1] for array in tokens), default=0)


def run_together(requests: Sequence[Request]) -> list[Arrays]:
    """The answers to requests that fit each other, computed at once."""
    signature, keys = requests[0].signature, requests[0].keys
    fetches = keys
    has_time = any(signature.time_axis(key) is not None for key in keys)
    if has_time and LENGTHS in signature.outputs and LENGTHS not in signature.inputs:
        fetches = tuple(sorted({*keys, LENGTHS}))  # which cut answers to their tokens
    inputs = {
        key: concatenate([request.inputs[key] for request in requests])
        for key in requests[0].inputs
    }
    outputs = requests[0].servable.run(signature, inputs, fetches)
    answers, begin = [], 0
    for request in requests:
        end = begin + request.rows
        rows = {key: array[begin:end] for key, array in outputs.items()}
        answers.append(cut(rows, keys, signature, request.inputs))
        begin = end
    return answers


def concatenate(arrays: Sequence[np.ndarray]) -> np.ndarray:
    if arrays[0].ndim < 2:
        return np.concatenate(arrays)
    width = max(array.shape[1] for array in arrays)
    joined = np.full((sum(map(len, arrays)), width), b"", object)
    begin = 0
    for array in arrays:
        joined[begin : begin + len(array), : array.shape[1]] = array
        begin += len(array)
    return joined


def cut(
    rows: Arrays, keys: tuple[str, ...], signature: Signature, inputs: Arrays
) -> Arrays:
    """The outputs of a request without the padding for its neighbours."""
    time = int(rows[LENGTHS].max(initial=0)) if LENGTHS in rows else None
    if LENGTHS in signature.inputs:
        time = n_columns(inputs)
    answer = {}
    for key in keys:
        axis = signature.time_axis(key)
        answer[key] = rows[key]
        if axis is not None:
            answer[key] = rows[key][(slice(None),) * axis + (slice(time),)]
    return answer
