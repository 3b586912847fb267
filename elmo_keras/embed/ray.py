"""ELMo vectors by workers of Ray; needs `pip install 'elmo-keras[ray]'`."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import contextlib
import functools
import itertools
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray.exceptions import RayError, RayTaskError

from elmo_keras.embed.corpus import Summary, WrittenPart, count_parts
from elmo_keras.embed.embedder import Embedder, uses_litert
from elmo_keras.embed.outputs import check_output_folder
from elmo_keras.embed.parts import Parts
from elmo_keras.embed.text_rows import (
    ID_TYPES,
    PIECE_BYTES,
    Piece,
    TextRows,
    check_sentence,
    missing_column,
    split_pieces,
)
from elmo_keras.embed.writers.parquet import Row, Rows
from elmo_keras.hub.local_files import absolute, local_files
from elmo_keras.text.files import text_files
from elmo_keras.text.sentences import plain
from elmo_keras.util.command import CommandFailed
from elmo_keras.util.progress import Progress

SUFFIX = ".parquet"
PIECE = b"elmo_keras_piece"  # key of a part's metadata
BETWEEN_CHECKS = 0.5  # seconds
MAX_RETRIES = 5  # of a part whose process ended
LOCAL = "local"  # the address of a new cluster
OBJECT_STORE_BYTES = 2**27  # for pieces of text; vectors go to files
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}

Batch = TypeVar("Batch", pa.Table, dict[str, np.ndarray])


class BatchEmbedder:
    """Adds ELMo vectors to batches of a Ray dataset.

    Give the class, not an instance, to `Dataset.map_batches`, so that each worker
    reads the model once and uses the processors and GPUs that Ray assigns to it.

    The new columns are those of `writers.parquet.Rows`: `vector`, `vectors`, or
    `layer_0`, `layer_1`, …. In a dictionary of arrays they are `(rows, dim)`, or
    `(rows,)` with an array `(tokens, dim)` in each place.

    Args:
        model: the path of a model, the same on all workers, or its published name.
        text_column: the column of sentences, each a string or a list of tokens.
        **settings: further arguments of `Embedder`.

    Raises:
        FileNotFoundError, ValueError: as `Embedder`.
    """

    def __init__(self, model: str | Path, text_column: str = "text", **settings: Any):
        self._embedder = worker_embedder(model, **settings)
        self._text_column = text_column
        engine = self._embedder.engine
        self._rows = Rows(engine.shape, engine.dtype, texts=False, metadata={})

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
        columns = self._rows.columns(list(self._embedder.stream(sentences)))
        for name, column in zip(self._rows.names, columns):
            table = table.append_column(self._rows.schema.field(name), column)
        return table

    def _arrays(self, batch):
        vectors = self._embedder.encode(self._sentences(batch, batch))
        names, columns = self._rows.names, {}
        for layer, name in enumerate(names):
            column = [h[layer] for h in vectors] if len(names) > 1 else vectors
            if self._rows.of_tokens:  # an array of arrays of different shapes
                columns[name] = np.empty(len(column), object)
                columns[name][:] = column
            else:
                columns[name] = np.asarray(column)
        return columns

    def _sentences(self, names, columns):
        column = self._text_column
        if column not in names:
            raise ValueError(missing_column(column, "The batch", names))
        for name in self._rows.names:
            if name in names:
                raise ValueError(f"The batch already has a column `{name}`.")
        return [
            check_sentence(plain(value), column, f"row {row} of the batch")
            for row, value in enumerate(plain(columns[column]))
        ]


def worker_embedder(model: str | Path, **settings: Any) -> Embedder:
    """An `Embedder` with the processors and GPUs that Ray assigned to this process."""
    context = ray.get_runtime_context()
    if context.worker.mode != ray.WORKER_MODE:
        return Embedder(model, **settings)
    assigned = context.get_assigned_resources()
    n_threads = max(1, int(assigned.get("CPU", 1)))
    if uses_litert(model, settings.get("arithmetic")):
        settings.setdefault("threads", min(2, n_threads))
        return Embedder(model, **settings)
    import tensorflow as tf  # LiteRT does without it

    with contextlib.suppress(RuntimeError):  # TensorFlow computes already
        tf.config.threading.set_intra_op_parallelism_threads(n_threads)
        tf.config.threading.set_inter_op_parallelism_threads(n_threads)
        if not assigned.get("GPU"):
            tf.config.set_visible_devices([], "GPU")
        for gpu in tf.config.get_visible_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    return Embedder(model, **settings)


def embed_on_ray(
    model: str | Path,
    inputs: str | Path | Iterable[str | Path],
    output: str | Path,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    forget_sentences: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    address: str | None = None,
    part_bytes: int = PIECE_BYTES,
    progress: bool = False,
    stop: Callable[[], bool] = lambda: False,
    **settings: Any,
) -> Summary:
    """Writes the vectors of all sentences of many files, by workers of a Ray cluster.

    The corpus is divided into parts, `part-NNNNNNN.parquet`, with the columns of
    `writers.parquet.Rows`; files and rows are in the order of the corpus. Each part is a
    task of Ray, which runs again if its process ends. The parts grow in the folder
    `OUTPUT.unfinished`, which becomes OUTPUT when all are there. If a call is stopped or
    killed, the same call resumes with the parts that are missing.

    This process reads the inputs; the workers read the model, and write. All need
    the folder of the output under the same path.

    Args:
        model: a model that `Embedder` reads, under the same path for all workers. A
            published one is downloaded to this machine.
        inputs: files or patterns of files: text or Parquet, see `text_rows.TextRows`.
        output: a folder, which may be missing or empty.
        text_column, id_column: see `text_rows.TextRows`. With an `id_column`, `id`
            holds its values, and the column `number` the indices of the sentences.
        forget_sentences: whether to leave out the column of texts.
        overwrite, progress: as in `embed_corpus`.
        workers: how many parts are computed at a time; None for one on each GPU of the
            cluster, or on each processor if there are no GPUs.
        address: of the cluster: `auto`, `HOST:PORT` or what else `ray.init` takes; None
            for `RAY_ADDRESS`, or else for a cluster on this machine alone.
        part_bytes: size of a part in bytes of text, see `text_rows.split_pieces`.
        stop: asked from time to time; the call ends soon after it returns True.
        **settings: further arguments of `Embedder`: `weights`, `layers`, `pooling`, …

    Raises:
        ValueError: an argument, an input or a model is not what it should be; the
            output exists or can't be written; or an unfinished one is of another call.
        OSError: a file can't be read or written.
        CommandFailed: the processes of a part end again and again.
    """
    output = Path(output)
    inputs = [inputs] if isinstance(inputs, (str, Path)) else inputs
    paths = text_files([str(path) for path in inputs])
    check_output_folder(output, paths, overwrite=overwrite)
    model, weights = local_files(model, settings.pop("weights", None))
    weights = weights and absolute(weights)
    settings |= {"model": absolute(model), "weights": weights}
    if settings.get("mix") is not None:
        settings["mix"] = tuple(settings["mix"])  # hashable, for `_cached_embedder`
    rows = TextRows(paths, text_column, id_column)
    job = {"text_column": rows.text_column, "id_column": id_column}
    parts = Parts(output, SUFFIX, read_piece_metadata)
    with (
        parts.only_writer(),
        Progress(disable=not progress) as bar,
        connected(address),
    ):
        n_workers, num_cpus, num_gpus = divide_cluster(workers)
        remote = ray.remote(
            num_cpus=num_cpus,
            num_gpus=num_gpus,
            max_calls=0,  # a process keeps its model, also on a GPU
            max_retries=MAX_RETRIES,
        )
        settings |= {"texts": not forget_sentences}
        task, done = remote(describe_vectors).remote(**settings), []
        while not done:
            if stop():
                return Summary(output)
            done, _ = ray.wait([task], timeout=BETWEEN_CHECKS)
        metadata = _result(task)
        parts.open(metadata | job | {"piece_bytes": part_bytes}, overwrite=overwrite)
        write = functools.partial(
            remote(write_part).remote, output=output.absolute(), **settings
        )
        pieces = split_pieces(rows, part_bytes)
        written = _write_parts(parts, pieces, write, n_workers, stop)
        summary = count_parts(parts, written, bar, rows.share, stop)
        if summary.finished:
            parts.finish(parts.folder)
    return summary


def _write_parts(
    parts: Parts,
    pieces: Iterator[Piece],
    write: Callable[..., ray.ObjectRef],
    n_workers: int,
    stop: Callable[[], bool],
) -> Iterator[WrittenPart]:
    tasks = []
    while not stop():
        following = list(itertools.islice(pieces, n_workers - len(tasks)))
        for piece in following:
            metadata = parts.metadata(piece.index, piece.fingerprint)
            if metadata is None:
                tasks.append(write(piece))
            else:
                yield WrittenPart(False, metadata["sentences"], metadata["tokens"])
        if tasks:
            done, tasks = ray.wait(tasks, timeout=BETWEEN_CHECKS)
            for metadata in map(_result, done):
                yield WrittenPart(True, metadata["sentences"], metadata["tokens"])
        elif not following:
            return


def _result(task):
    try:
        return ray.get(task)
    except RayTaskError as error:
        raise _cause(error) from error
    except RayError as error:
        raise CommandFailed(
            f"A part was begun {MAX_RETRIES + 1} times, and its process ended each "
            f"time. Is there enough memory for all workers? {error!s:.500}"
        ) from error


def _cause(error):
    """The error of a task, with its machine."""
    cause, machine = error.cause, ""
    if len(ray.nodes()) > 1:
        machine = f" (on the machine {error.ip})"
    if isinstance(cause, OSError) and cause.errno:
        return type(cause)(cause.errno, f"{cause.strerror}{machine}", cause.filename)
    for expected in FileNotFoundError, ValueError, ImportError:
        if isinstance(cause, expected):
            return expected(f"{cause}{machine}")
    return CommandFailed(f"{cause or error}{machine}")


_cached_embedder = functools.lru_cache(maxsize=1)(worker_embedder)


def describe_vectors(*, texts: bool, **settings: Any) -> dict[str, Any]:
    """Everything that the vectors of a job depend on."""
    return _cached_embedder(**settings).parquet_metadata(texts=texts)


def write_part(
    piece: Piece, *, output: Path, texts: bool, **settings: Any
) -> dict[str, Any]:
    """Embeds a piece, writes it as a part of the job, and returns the part's metadata."""
    parts = Parts(output, SUFFIX, read_piece_metadata)
    job = describe_vectors(texts=texts, **settings)
    parts.check_open(job)
    embedder = _cached_embedder(**settings)
    rows = Rows(
        embedder.engine.shape,
        embedder.engine.dtype,
        texts=texts,
        metadata=job,
        ids=ID_TYPES[type(piece.ids[0])] if piece.ids else None,
    )
    sentences = zip(
        embedder.stream(piece.sentences),
        itertools.count(piece.first),
        piece.texts,
        piece.ids or itertools.repeat(None),
    )
    metadata = {
        "number": piece.index,
        "digest": piece.fingerprint,
        "sentences": len(piece.sentences),
        "tokens": sum(len(text.split()) for text in piece.texts),
    }
    with parts.writing(piece.index) as file:
        rows.write(
            file,
            itertools.starmap(Row, sentences),
            {PIECE: json.dumps(metadata).encode()},
        )
        parts.check_open(job)
    return metadata


def read_piece_metadata(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
        return {"digest": None} | json.loads(pq.read_metadata(path).metadata[PIECE])
    return None


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connects to a cluster, or starts one on this machine, unless there is a connection."""
    if ray.is_initialized():
        yield
        return
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        # There Ray prints each end of a process, after which it runs the task again.
        _connect(address or os.environ.get("RAY_ADDRESS") or LOCAL)
        try:
            yield
        finally:
            ray.shutdown()


def _connect(address):
    local = {}
    if address == LOCAL:
        affinity = getattr(
            os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1)
        )
        local = {
            "num_cpus": len(affinity(0)),
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE_BYTES,
        }
    handler = signal.getsignal(signal.SIGTERM)
    try:
        # `HOST:PORT` at which nobody listens is refused; Ray itself tries for minutes.
        host, _, port = address.rpartition(":")
        if port.isdecimal() and "/" not in host:
            socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()
        ray.init(address, logging_level="ERROR", log_to_driver=False, **local)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"There should be a Ray cluster at {address}. {error}"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray has put its own in place


def divide_cluster(workers: int | None) -> tuple[int, int, float]:
    """How many parts are computed at a time, and the processors and GPUs of each."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    cpus = [int(machine.get("CPU", 0)) for machine in machines]
    n_gpus = int(sum(machine.get("GPU", 0) for machine in machines))
    if not any(cpus):
        raise ValueError("The Ray cluster has no processors for workers.")
    workers = workers or n_gpus or sum(cpus)
    if n_gpus:
        return workers, 1, min(1.0, n_gpus / workers)
    return workers, max(1, min(sum(cpus) // workers, max(cpus))), 0
