"""What a request holds while it is read, waits and is computed."""

import asyncio
import contextlib
import threading
import types

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis.model_pb2 import ModelSpec

from export.serve import wire
from export.serve.app import App
from export.serve.config import Config
from export.serve.models import Models
from tests.support.waiting import PATIENCE, wait_until

BODY = b'{"instances": ["a bb", "c"]}'


class OneVersion(Models):
    """A version that is leased, and a queue that nobody answers."""

    def __init__(self, servable):
        self.leases, self.waiting = 0, []
        self.batcher = types.SimpleNamespace(submit=self.waiting.append)
        self._servable = servable

    def __getitem__(self, name):
        return self

    @contextlib.contextmanager
    def lease(self, version):
        self.leases += 1
        try:
            yield self._servable
        finally:
            self.leases -= 1


@pytest.fixture
def models(servable):
    return OneVersion(servable)


@pytest.fixture
def predict(models):
    """The content of the answer to a request for `BODY`."""
    app = App(models, Config(rest_timeout=PATIENCE))

    async def predict():
        async def chunks():
            yield BODY

        content = types.SimpleNamespace(iter_any=chunks)
        request = types.SimpleNamespace(
            content=content, content_length=len(BODY), headers={}
        )
        return await app._predict(ModelSpec(), request)

    yield predict
    app.close()


async def until(condition):
    """`wait_until` in an event loop."""
    await asyncio.to_thread(wait_until, condition)


async def submitted(models):
    """Waits until a request is in the queue."""
    await until(lambda: models.waiting)
    return models.waiting[0].future


def test_the_version_is_in_use_until_the_outputs_are_computed(models, predict):
    async def ask():
        answering = asyncio.create_task(predict())
        future = await submitted(models)
        assert models.leases == 1
        future.set_result({"sequence_len": np.array([2, 1])})
        await until(lambda: models.leases == 0)
        return await answering

    assert asyncio.run(ask()).blocks == [b'{"predictions": [2,1]}']
    assert models.waiting[0].seconds == PATIENCE


def test_a_cancelled_request_leaves_queue_and_version(models, predict):
    async def leave():
        answering = asyncio.create_task(predict())
        future = await submitted(models)
        while not future.cancelled():
            answering.cancel()
            await asyncio.sleep(0.001)
        await asyncio.wait([answering])

    asyncio.run(leave())
    wait_until(lambda: models.leases == 0)


def test_a_request_that_is_cancelled_while_it_is_read_is_dropped(
    models, predict, monkeypatch
):
    reading, left = threading.Event(), threading.Event()
    decode = wire.decode

    def slow(*args, **kwargs):
        reading.set()
        assert left.wait(PATIENCE)
        return decode(*args, **kwargs)

    async def leave():
        answering = asyncio.create_task(predict())
        await asyncio.to_thread(reading.wait, PATIENCE)
        answering.cancel()
        await asyncio.wait([answering])
        assert answering.exception().code is grpc.StatusCode.CANCELLED

    monkeypatch.setattr(wire, "decode", slow)
    asyncio.run(leave())
    left.set()
    wait_until(lambda: models.waiting and models.waiting[0].future.cancelled())
    wait_until(lambda: models.leases == 0)


def test_an_error_of_the_model_is_raised(models, predict):
    async def ask():
        answering = asyncio.create_task(predict())
        future = await submitted(models)
        future.set_exception(MemoryError("too large"))
        await until(lambda: models.leases == 0)
        await answering

    with pytest.raises(MemoryError, match="too large"):
        asyncio.run(ask())
