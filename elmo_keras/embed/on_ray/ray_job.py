"""Writes the vectors of a corpus to a folder of Parquet files, by workers of Ray."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ray

from elmo_keras.embed.on_ray.cluster import connected, divided
from elmo_keras.embed.on_ray.job_folder import checked_folder
from elmo_keras.embed.on_ray.job_pieces import opened_job
from elmo_keras.embed.on_ray.job_summary import JobSummary
from elmo_keras.embed.on_ray.piece_worker import PieceWorker
from elmo_keras.embed.on_ray.pieces import PIECE_BYTES
from elmo_keras.embed.on_ray.text_rows import TextRows
from elmo_keras.embed.on_ray.worker_pool import WorkerPool
from elmo_keras.models.local_files import absolute, local_files
from elmo_keras.text.files import text_files


def embed_on_ray(
    model: str | Path,
    inputs: str | Path | Iterable[str | Path],
    output: str | Path,
    *,
    text_column: str = "text",
    id_column: str | None = None,
    forget_sentences: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    address: str | None = None,
    piece_bytes: int = PIECE_BYTES,
    verbose: int = 0,
    stop: Callable[[], bool] = lambda: False,
    **settings: Any,
) -> JobSummary:
    """Writes the vectors of all sentences of many files, by workers of a Ray cluster.

    The corpus is divided into pieces; each becomes a file `part-NNNNNNN.parquet`, see
    `arrow_rows.Rows` for its columns. Files and rows are in the order of the corpus.
    The parts grow in the folder `OUTPUT.unfinished`, which becomes OUTPUT when all are
    there. If a call is stopped or killed, the same call resumes with the parts that
    are missing. A worker that ends is replaced, and its piece is computed again.

    This process reads the inputs; the workers read the model, and write. All need
    the folder of the output under the same path.

    Args:
        model: a model that `Elmo.from_pretrained` reads. A published one is downloaded
            to this machine. The workers read it from the same path.
        inputs: files or patterns of files: text, JSON lines, Parquet, see
            `text_rows.TextRows`.
        output: a folder, which may be missing or empty.
        text_column, id_column: see `text_rows.TextRows`. With an `id_column`, `id`
            holds its values, and the column `number` the numbers of the sentences.
        forget_sentences: whether to leave out the column of texts.
        overwrite: whether to replace an existing output, which stays until the new
            one is finished, and to discard an unfinished one of another call.
        workers: how many processes compute; None for one on each GPU of the cluster,
            or on each processor if there are no GPUs.
        address: of the cluster, see `cluster.connected`.
        piece_bytes: size of a piece in bytes of text, see `pieces.pieces_of`.
        verbose: 1 for a progress line on standard error.
        stop: asked from time to time; the call ends soon after it returns True.
        **settings: further arguments of `Embedder`: `weights`, `layers`, `pooling`, …

    Raises:
        ValueError: an argument, an input or a model is not what it should be; the
            output exists or can't be written; or an unfinished one belongs to another
            call. Pieces that are finished are kept.
        OSError: a file can't be read or written; pieces that are finished are kept.
        CommandFailed: workers end again and again.
    """
    output, settings = Path(output), _local(model, settings)
    paths = _checked_paths(inputs, output, overwrite)
    rows = TextRows(paths, text_column, id_column)
    columns = {"text_column": text_column, "id_column": id_column}
    shown = {"overwrite": overwrite, "verbose": verbose}
    with (
        opened_job(output, rows, piece_bytes=piece_bytes, **shown) as pieces,
        connected(address),
    ):
        pool = _pool(output, settings, workers, texts=not forget_sentences)
        for written in pool.results(lambda about: pieces.left(about | columns), stop):
            pieces.finished(written)
        return pieces.finish(complete=not stop())


def _checked_paths(inputs, output, overwrite):
    inputs = [inputs] if isinstance(inputs, (str, Path)) else inputs
    paths = text_files(map(str, inputs))
    checked_folder(output, paths, overwrite=overwrite)
    return paths


def _local(model, settings):
    """The arguments of `Embedder` on a worker."""
    sizes = {"tokens_at_once": 2**13, "cache_bytes": 2**28}
    model, weights = local_files(model, settings.get("weights"))
    weights = weights and absolute(weights)
    return sizes | settings | {"model": absolute(model), "weights": weights}


def _pool(output, settings, workers, *, texts):
    number, num_cpus, num_gpus = divided(workers)
    actor = ray.remote(num_cpus=num_cpus, num_gpus=num_gpus)(PieceWorker)
    output = output.absolute()
    return WorkerPool(lambda: actor.remote(output, settings, texts=texts), number)
