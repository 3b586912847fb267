"""Clients that send requests without a pause and check every answer."""

import collections
import itertools
import threading
import time
from collections.abc import Callable, Iterator

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from tests.support.serving_requests import text_request
from tests.support.waiting import PATIENCE, wait_until

# By default, all gRPC clients of a process share one connection.
OWN_CONNECTION = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
]

PAUSE = 0.05  # seconds after a refusal


class Load:
    """Clients in threads, each with its own sentences, until they are stopped.

    Args:
        port: port of a server on this machine.
        sentences: number of a client → its sentences, lists of tokens.
        expected: (sentence, version) → the vectors `elmo` of the sentence.
        clients: number of clients.
        tolerance: largest difference of a right answer.
        until_refused: whether a client ends when a request is refused.

    Attributes:
        answers: version → number of right answers.
        refusals: status → number of refused requests.
        wrong: (version, sentence) of each wrong answer.
        largest: the largest difference.
        seconds: the duration of each request with a right answer.
        tokens: number of tokens with right answers.
    """

    def __init__(
        self,
        port: int,
        sentences: Callable[[int], Iterator[list[str]]],
        expected: Callable[[list[str], int], np.ndarray],
        *,
        clients: int = 8,
        tolerance: float = 0.0,
        until_refused: bool = False,
    ):
        self.answers, self.refusals = collections.Counter(), collections.Counter()
        self.wrong, self.seconds = [], []
        self.largest, self.tokens = 0.0, 0
        self._port, self._expected, self._tolerance = port, expected, tolerance
        self._until_refused = until_refused
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [
            threading.Thread(target=self._ask, args=(sentences(i),))
            for i in range(clients)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self.join()

    def join(self) -> None:
        """Waits until all clients have ended."""
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def wait_for(self, n: int) -> None:
        """Waits for `n` more right answers."""
        n += self.answers.total()
        wait_until(lambda: self.answers.total() >= n)

    def _ask(self, sentences):
        address = f"localhost:{self._port}"
        with grpc.insecure_channel(address, OWN_CONNECTION) as channel:
            predict = PredictionServiceStub(channel).Predict
            going = itertools.takewhile(lambda _: not self._stop.is_set(), sentences)
            for sentence in going:
                begin = time.perf_counter()
                request = text_request([" ".join(sentence)], "elmo")
                try:
                    response = predict(request, timeout=PATIENCE)
                except grpc.RpcError as error:
                    with self._lock:
                        self.refusals[error.code()] += 1
                    if self._until_refused:
                        return
                    time.sleep(PAUSE)
                else:
                    self._check(response, sentence, time.perf_counter() - begin)

    def _check(self, response, sentence, seconds):
        version = response.model_spec.version.value
        found = tf.make_ndarray(response.outputs["elmo"])[0]
        expected = self._expected(sentence, version)
        same_shape = found.shape == expected.shape
        off = np.abs(found - expected).max(initial=0.0) if same_shape else np.inf
        with self._lock:
            self.largest = max(self.largest, float(off))
            if not off <= self._tolerance:
                self.wrong.append((version, sentence))
                return
            self.answers[version] += 1
            self.seconds.append(seconds)
            self.tokens += len(sentence)
