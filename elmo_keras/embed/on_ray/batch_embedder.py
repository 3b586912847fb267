"""A callable for `map_batches` of Ray Data."""

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from elmo_keras.embed.arrow_rows import Rows
from elmo_keras.embed.embedder import Embedder, by_litert
from elmo_keras.embed.text_rows import missing, sentence_of
from elmo_keras.text.sentences import plain

Batch = TypeVar("Batch", pa.Table, dict[str, np.ndarray])


class BatchEmbedder:
    """Adds ELMo vectors to batches of a Ray dataset.

    Give the class, not an instance, to `Dataset.map_batches`, so that each worker
    reads the model once and uses the processors and GPUs that Ray assigns to it. A
    batch of any size is a call of `Embedder`.

    With `pooling` the new column is `vector`, one vector a sentence; without it is
    `vectors`, one vector a token. For all layers there is a column for each of
    them, `layer_0`, `layer_1`, … In Arrow tables their types are those of
    `arrow_rows.Rows`; in a dictionary of arrays they are `(rows, dim)`, or `(rows,)`
    with an array `(tokens, dim)` in each place.

    Args:
        model: the path of a model, the same on all workers, or its published name.
        text_column: the column of sentences, each a string or a list of tokens.
        **settings: further arguments of `Embedder`.

    Raises:
        FileNotFoundError, ValueError: as `Embedder`.
    """

    def __init__(self, model: str | Path, text_column: str = "text", **settings: Any):
        self._embedder = embedder_of_worker(model, **settings)
        self._text_column = text_column
        vectors = self._embedder.vectors
        self._rows = Rows(vectors.shape, vectors.dtype, texts=False, about={})

    def __call__(self, batch: Batch) -> Batch:
        """The batch, a table or a dictionary of arrays, with columns of vectors."""
        if isinstance(batch, pa.Table):
            return self._with_columns(batch)
        if isinstance(batch, Mapping):
            return dict(batch) | self._arrays(batch)
        raise TypeError(
            'A batch should be a table or a dictionary: batch_format="pyarrow" or '
            f'"numpy". Received: {type(batch).__name__}'
        )

    def _with_columns(self, table):
        sentences = self._sentences(table.column_names, table)
        fields = [self._rows.schema.field(name) for name in self._rows.names]
        columns = [pa.array([], field.type) for field in fields]
        if sentences:
            columns = self._rows.columns(list(self._embedder.stream(sentences)))
        for field, column in zip(fields, columns):
            table = table.append_column(field, column)
        return table

    def _arrays(self, batch):
        vectors = self._embedder.encode(self._sentences(batch, batch))
        names, columns = self._rows.names, {}
        for n, name in enumerate(names):
            column = [layers[n] for layers in vectors] if len(names) > 1 else vectors
            if self._rows.of_tokens:  # an array of arrays of different shapes
                columns[name] = np.empty(len(column), object)
                columns[name][:] = column
            else:
                columns[name] = np.asarray(column)
        return columns

    def _sentences(self, names, columns):
        column = self._text_column
        if column not in names:
            raise ValueError(missing(column, "The batch", names))
        for name in self._rows.names:
            if name in names:
                raise ValueError(f"The batch already has a column `{name}`.")
        return [
            sentence_of(plain(value), column, f"row {number} of the batch")
            for number, value in enumerate(plain(columns[column]))
        ]


def embedder_of_worker(model: str | Path, **settings: Any) -> Embedder:
    """An `Embedder` with the processors and GPUs that Ray assigned to this worker."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return Embedder(model, **settings)
    context = ray.get_runtime_context()
    if context.worker.mode != ray.WORKER_MODE:
        return Embedder(model, **settings)
    assigned = context.get_assigned_resources()
    n_threads = max(1, int(assigned.get("CPU", 1)))
    if by_litert(model, settings.get("arithmetic")):
        return Embedder(model, **{"threads": min(2, n_threads)} | settings)
    import tensorflow as tf  # LiteRT does without it

    with contextlib.suppress(RuntimeError):  # TensorFlow has begun to compute
        tf.config.threading.set_intra_op_parallelism_threads(n_threads)
        tf.config.threading.set_inter_op_parallelism_threads(n_threads)
        if not assigned.get("GPU"):
            tf.config.set_visible_devices([], "GPU")
        for gpu in tf.config.get_visible_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    return Embedder(model, **settings)
