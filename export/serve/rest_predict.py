"""`:predict` of the REST API."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from tensorflow_serving.apis.model_pb2 import ModelSpec

from . import rest_answers, rest_tensors
from .batching import Request
from .joining import Arrays
from .rest_answers import Content
from .served_models import ServedModels

THREADS = 2  # that read and write JSON: it needs the interpreter most of the time


class Submitted(NamedTuple):
    """A request in the queue.

    Attributes:
        outputs: a future of its outputs.
        pieces: writes outputs in the form of the request.
    """

    outputs: Future[Arrays]
    pieces: Callable[[Arrays], Iterator[bytes]]


class RestPredict:
    """Puts requests into the queue of the models, and writes their answers.

    JSON is read and written in threads, so that the event loop answers others.

    Args:
        models: the served models.
        seconds: the time that clients wait.
    """

    def __init__(self, models: ServedModels, seconds: float):
        self._models, self._seconds = models, seconds
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="rest-json")

    async def submit(self, spec: ModelSpec, body: bytes) -> Submitted:
        """Reads a request and puts it into the queue.

        Raises:
            RequestError: the request or the queue does not allow it.
        """
        submitting = self._pool.submit(self._submit, spec, body)
        try:
            return await asyncio.wrap_future(submitting)
        except asyncio.CancelledError:
            submitting.add_done_callback(_drop)
            raise

    async def answer(self, submitted: Submitted) -> Content:
        """The answer, when the outputs are computed; cancelling drops the request.

        Raises:
            RequestError: the model refuses the request.
        """
        outputs = await asyncio.wrap_future(submitted.outputs)
        pieces = submitted.pieces(outputs)
        return await self._in_thread(rest_answers.content, pieces)

    async def more(self, content: Content) -> AsyncIterator[bytes]:
        """The parts of a large answer that are not written yet."""
        while content.more and (block := await self._in_thread(_next, content.more)):
            yield block

    def close(self) -> None:
        """Ends the threads; what nobody waits for is dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _in_thread(self, function, *arguments):
        return asyncio.wrap_future(self._pool.submit(function, *arguments))

    def _submit(self, spec, body):
        content = rest_tensors.parse(body)
        with contextlib.ExitStack() as leased:
            servable = leased.enter_context(self._models.lease(spec))
            signature = servable.signature(content.get("signature_name", ""))
            inputs = rest_tensors.decode(content, signature)
            keys = signature.chosen([])
            outputs = self._models.batcher.submit(
                Request(servable, signature, inputs, keys, seconds=self._seconds)
            )
            # The version is in use until the outputs are computed or given up.
            keep = leased.pop_all()
            outputs.add_done_callback(lambda _: keep.close())
        is_column = rest_tensors.COLUMNS in content
        form = rest_answers.column_pieces if is_column else rest_answers.row_pieces
        return Submitted(outputs, form)


def _next(blocks):
    return next(blocks, b"")


def _drop(submitting):
    """Gives up a request whose client left while it was read."""
    if not submitting.cancelled() and not submitting.exception():
        submitting.result().outputs.cancel()
