"""ELMo vectors by workers of Ray; needs the extra `ray`."""

import contextlib
import dataclasses
import functools
import itertools
import json
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray.exceptions import RayError, RayTaskError

from elmo_keras.base.progress import Progress
from elmo_keras.commands.command import CommandFailed
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.engines.backend import LITERT, choose_backend
from elmo_keras.embed.outputs import check_output_folder
from elmo_keras.embed.text_rows import PIECE_BYTES, Piece, TextRows, split_pieces
from elmo_keras.embed.writers.parquet import Row, Rows
from elmo_keras.hub.local_files import local_files
from elmo_keras.jobs.parts import Parts, Summary
from elmo_keras.text.files import text_files
from elmo_keras.text.sentences import plain

PIECE = b"elmo_keras_piece"  # key of a part's metadata
BETWEEN_CHECKS = 0.5  # seconds
MAX_RETRIES = 5  # retries of a part whose process ended
OBJECT_STORE_BYTES = 2**27  # for pieces of text; vectors go to files
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}

Batch = pa.Table | dict[str, np.ndarray]


class BatchEmbedder:
    """Adds ELMo vectors to batches of a Ray dataset.

    Give the class, not an instance, to `Dataset.map_batches`, so that each worker
    reads the model once and uses the processors and GPUs that Ray assigns to it.

    The new columns are those of `writers.parquet.Rows`. In a dictionary of arrays they
    are `(rows, dim)`, or `(rows,)` with an array `(tokens, dim)` in each place.

    Args:
        model: an `Embedder`, such as a lazy one, or a model that it reads. A path is
            the same on all workers.
        text_column: the column of sentences, each a string or a list of tokens.
    """

    def __init__(self, model: str | Path | Embedder, text_column: str = "text"):
        self._embedder = on_this_worker(lazy_embedder(model))
        self._text_column = text_column
        engine = self._embedder.engine
        self._rows = Rows(engine.shape, engine.dtype, texts=False, metadata={})

    def __call__(self, batch: Batch) -> Batch:
        """The batch, a table or a dictionary of arrays, with columns of vectors."""
        names = self._rows.names
        if not isinstance(batch, (pa.Table, Mapping)):
            raise TypeError(
                'A batch should be a table or a dictionary: batch_format="pyarrow" or '
                f'"numpy". Received: {type(batch).__name__}'
            )
        present = batch.column_names if isinstance(batch, pa.Table) else batch
        if existing := [name for name in names if name in present]:
            raise ValueError(f"The batch already has a column `{existing[0]}`.")
        sentences = [plain(value) for value in plain(batch[self._text_column])]
        vectors = list(self._embedder.stream(sentences))
        if isinstance(batch, pa.Table):
            for name, column in zip(names, self._rows.columns(vectors)):
                batch = batch.append_column(self._rows.schema.field(name), column)
            return batch
        columns = {}
        for layer, name in enumerate(names):
            column = [h[layer] for h in vectors] if len(names) > 1 else vectors
            if self._rows.has_tokens:  # an array of arrays of different shapes
                columns[name] = np.empty(len(column), object)
                columns[name][:] = column
            else:
                columns[name] = np.reshape(column, (-1, self._rows.dim))
        return dict(batch) | columns


def lazy_embedder(model: str | Path | Embedder) -> Embedder:
    return model if isinstance(model, Embedder) else Embedder(model, lazy=True)


@functools.lru_cache(maxsize=1)
def on_this_worker(embedder: Embedder) -> Embedder:
    """The embedder of this process, with the processors and GPUs that Ray assigned to it."""
    context = ray.get_runtime_context()
    if context.worker.mode != ray.WORKER_MODE:
        return embedder
    assigned = context.get_assigned_resources()
    n_threads = max(1, int(assigned.get("CPU", 1)))
    chosen = choose_backend(
        embedder.model,
        embedder.arithmetic,
        embedder.backend,
        on_gpu=bool(assigned.get("GPU")),
    )
    if chosen == LITERT:
        n = embedder.threads or min(2, n_threads)
        return dataclasses.replace(embedder, backend=chosen, threads=n, lazy=True)
    import tensorflow as tf  # LiteRT does without it

    with contextlib.suppress(RuntimeError):  # TensorFlow computes already
        tf.config.threading.set_intra_op_parallelism_threads(n_threads)
        tf.config.threading.set_inter_op_parallelism_threads(n_threads)
        if not assigned.get("GPU"):
            tf.config.set_visible_devices([], "GPU")
        for gpu in tf.config.get_visible_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    return embedder


def embed_on_ray(
    model: str | Path | Embedder,
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
) -> Summary:
    """Writes the vectors of all sentences of many files, by workers of a Ray cluster.

    The parts, `part-NNNNNNN.parquet`, have the columns of `writers.parquet.Rows`; files and
    rows are in the order of the corpus. Each part is a task of Ray, which runs again if
    its process ends. As in `embed_corpus`, the same call resumes.

    This process reads the inputs; the workers read the model, and write. All need
    the folder of the output under the same path.

    Args:
        model: an `Embedder`, such as a lazy one, or a model that it reads, under the same
            path for all workers. A published one is downloaded to this machine.
        inputs: files or patterns of files: text or Parquet, see `text_rows.TextRows`.
        output: a folder, which may be missing or empty.
        text_column, id_column: see `text_rows.TextRows`. With an `id_column`, the column
            `number` holds the indices of the sentences.
        workers: how many parts are computed at a time; None for one on each GPU of the
            cluster, or on each processor if there are no GPUs.
        address: of the cluster, as `ray.init` takes it; None for `RAY_ADDRESS`, or else for
            a cluster on this machine alone.
        part_bytes: size of a part in bytes of text.
        forget_sentences, overwrite, progress, stop: as in `embed_corpus`.

    Raises:
        ValueError, OSError: as `embed_corpus`.
        CommandFailed: the processes of a part end again and again.
    """
    output = Path(output)
    inputs = [inputs] if isinstance(inputs, (str, Path)) else inputs
    paths = text_files([str(path) for path in inputs])
    check_output_folder(output, paths, overwrite=overwrite)
    embedder = lazy_embedder(model)
    model, weights = local_files(embedder.model, embedder.weights)
    embedder = dataclasses.replace(
        embedder,
        model=model,
        weights=weights,
        tokenizer=embedder.tokenizer or "spaces",  # as `embed_corpus` splits
        lazy=True,
    )
    texts = not forget_sentences
    rows = TextRows(paths, text_column, id_column)
    parts = Parts(output, ".parquet", read_piece_metadata)
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
        task, done = remote(describe_vectors).remote(embedder, texts), []
        while not done:
            if stop():
                return Summary(output)
            done, _ = ray.wait([task], timeout=BETWEEN_CHECKS)
        job = _result(task) | {"text_column": rows.text_column, "id_column": id_column}
        parts.open(job | {"piece_bytes": part_bytes}, overwrite=overwrite)
        write = remote(embed_piece)
        written = _write_parts(
            parts,
            split_pieces(rows, part_bytes),
            lambda piece: write.remote(piece, embedder, parts, texts),
            n_workers,
            stop,
        )
        summary = parts.count(written, bar, rows.share, stop)
        if summary.finished:
            parts.finish(parts.folder)
    return summary


def _write_parts(parts, pieces, write, n_workers, stop):
    """Starts a task for each part that is missing; yields as `Parts.count` takes them."""
    tasks: list[ray.ObjectRef[dict[str, Any]]] = []
    while not stop():
        following = list(itertools.islice(pieces, n_workers - len(tasks)))
        for piece in following:
            if metadata := parts.metadata(piece.index, piece.fingerprint):
                yield False, metadata["sentences"], metadata["tokens"]
            else:
                tasks.append(write(piece))
        if tasks:
            done, tasks = ray.wait(tasks, timeout=BETWEEN_CHECKS)
            for metadata in map(_result, done):
                yield True, metadata["sentences"], metadata["tokens"]
        elif not following:
            return


def _result(task: "ray.ObjectRef[dict[str, Any]]") -> dict[str, Any]:
    """The result of a task, or its error, with the machine if there are several."""
    try:
        return ray.get(task)
    except RayTaskError as error:
        cause = error.cause
        ip = re.search(r"\bip=([^\s,)]+)", str(error))
        machine = f" (on the machine {ip[1]})" if ip and len(ray.nodes()) > 1 else ""
        if isinstance(cause, OSError) and cause.errno:
            text = f"{cause.strerror}{machine}"
            raise type(cause)(cause.errno, text, cause.filename) from error
        for expected in FileNotFoundError, ValueError, ImportError:
            if isinstance(cause, expected):
                raise expected(f"{cause}{machine}") from error
        raise CommandFailed(f"{cause or error}{machine}") from error
    except RayError as error:
        raise CommandFailed(
            f"A part was started {MAX_RETRIES + 1} times, and its process ended each "
            f"time. Is there enough memory for all workers? {error!s:.500}"
        ) from error


def describe_vectors(embedder: Embedder, texts: bool) -> dict[str, Any]:
    return on_this_worker(embedder).parquet_metadata(texts=texts)


def embed_piece(
    piece: Piece, embedder: Embedder, parts: Parts, texts: bool
) -> dict[str, Any]:
    """Embeds a piece, writes it as a part of the job, and returns the part's metadata."""
    embedder = on_this_worker(embedder)
    job, engine = embedder.parquet_metadata(texts=texts), embedder.engine
    parts.check_open(job)
    ids = type(piece.ids[0]) if piece.ids else None
    rows = Rows(engine.shape, engine.dtype, texts=texts, metadata=job, ids=ids)
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
    more = {PIECE: json.dumps(metadata).encode()}
    with parts.writing(piece.index) as file:
        rows.write(file, itertools.starmap(Row, sentences), more)
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
        # Ray prints there that a process ended; it runs the task again.
        _connect(address or os.environ.get("RAY_ADDRESS") or "local")
        try:
            yield
        finally:
            ray.shutdown()


def _connect(address):
    local = {}
    if address == "local":
        cpus = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
        local = {
            "num_cpus": len(cpus(0)),
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE_BYTES,
        }
    handler = signal.getsignal(signal.SIGTERM)
    try:
        # `HOST:PORT` without a server is refused; Ray itself tries for minutes.
        host, _, port = address.rpartition(":")
        if port.isdecimal() and "/" not in host:
            socket.create_connection((host.strip("[]"), int(port)), timeout=20).close()
        ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **local)
    except Exception as error:  # Ray raises some plain ones
        raise ConnectionError(
            f"There should be a Ray cluster at {address}. {error}"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray replaced it


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
