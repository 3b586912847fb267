"""Clients that send requests without a pause and check every answer."""

import collections
import contextlib
import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator

import grpc
import numpy as np
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from elmo_keras.serve.client.remote import to_array
from tests.support.serving_requests import text_request
from tests.support.waiting import PATIENCE, wait_until

# By default, all gRPC clients of a process share one connection.
OWN_CONNECTION = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
]

PAUSE = 0.05  # seconds after a refusal

# A sentence → the version that answered, and the vectors `elmo`.
Predict = Callable[[list[str]], tuple[int, np.ndarray]]


class Refused(Exception):
    """A request that got no vectors: a `grpc.StatusCode`, an HTTP status or an error."""


@contextlib.contextmanager
def grpc_client(port: int) -> Iterator[Predict]:
    """A client of gRPC's Predict with a connection of its own."""
    with grpc.insecure_channel(f"localhost:{port}", OWN_CONNECTION) as channel:
        stub = PredictionServiceStub(channel)

        def predict(sentence):
            try:
                request = text_request([" ".join(sentence)], "elmo")
                response = stub.Predict(request, timeout=PATIENCE)
            except grpc.RpcError as error:
                raise Refused(error.code()) from None
            version = response.model_spec.version.value
            return version, to_array(response.outputs["elmo"])[0]

        yield predict


@contextlib.contextmanager
def rest_client(port: int) -> Iterator[Predict]:
    """A client of REST's predict, which answers with all outputs, of version 0."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def predict(sentence):
        body = json.dumps({"instances": [" ".join(sentence)]})
        try:
            connection.request("POST", "/v1/models/elmo:predict", body)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Refused(type(error).__name__) from None
        if response.status != 200:
            raise Refused(response.status)
        return 0, np.float32(json.loads(content)["predictions"][0]["elmo"])

    with contextlib.closing(connection):
        yield predict


class Load:
    """Clients in threads, each with its own sentences, until they are stopped.

    A right answer differs by `tolerance` at most from the vectors `elmo` expected.
    """

    def __init__(
        self,
        port: int,
        sentences: Callable[[int], Iterator[list[str]]],  # of a client, by its number
        expected: Callable[[list[str], int], np.ndarray],  # of a sentence and version
        *,
        clients=8,
        tolerance=0.0,
        until_refused=False,  # whether a client ends then
        client=grpc_client,
    ):
        # The right answers by version, requests refused by code, wrong (version,
        # sentence), the largest difference, and the seconds of right answers.
        self.answers, self.refusals = collections.Counter(), collections.Counter()
        self.wrong, self.largest, self.seconds = [], 0.0, []
        self._port, self._expected, self._tolerance = port, expected, tolerance
        self._until_refused, self._client = until_refused, client
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
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def wait_for(self, n: int) -> None:
        n += self.answers.total()
        wait_until(lambda: self.answers.total() >= n)

    def _ask(self, sentences):
        with self._client(self._port) as predict:
            going = itertools.takewhile(lambda _: not self._stop.is_set(), sentences)
            for sentence in going:
                begin = time.perf_counter()
                try:
                    version, actual = predict(sentence)
                except Refused as error:
                    with self._lock:
                        self.refusals[error.args[0]] += 1
                    if self._until_refused:
                        return
                    time.sleep(PAUSE)
                    continue
                seconds = time.perf_counter() - begin
                expected = self._expected(sentence, version)
                off = np.inf
                if actual.shape == expected.shape:
                    off = float(np.abs(actual - expected).max(initial=0.0))
                with self._lock:
                    self.largest = max(self.largest, off)
                    if off <= self._tolerance:
                        self.answers[version] += 1
                        self.seconds.append(seconds)
                    else:
                        self.wrong.append((version, sentence))
