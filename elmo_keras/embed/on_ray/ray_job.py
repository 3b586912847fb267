"""Writes the vectors of a corpus to a folder of Parquet files, by workers of Ray."""

import functools
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import ray

from elmo_keras.embed.checked_outputs import checked_folder
from elmo_keras.embed.on_ray.cluster import connected, divided
from elmo_keras.embed.on_ray.piece_worker import SUFFIX, PieceWorker, note_of
from elmo_keras.embed.on_ray.worker_pool import results
from elmo_keras.embed.parts import Parts
from elmo_keras.embed.text_rows import PIECE_BYTES, TextRows, pieces_of
from elmo_keras.hub.local_files import absolute, local_files
from elmo_keras.text.files import text_files
from elmo_keras.util.progress import Progress


class JobSummary(NamedTuple):
    """The result of a call of `embed_on_ray`, with the work of calls before it."""

    output: Path
    finished: bool  # False if `stop` ended the call; the same call resumes
    parts: int
    sentences: int
    tokens: int
    seconds: float  # since the first worker was ready
    tokens_now: int  # that this call embedded
    parts_again: int  # of this call, which a process that ended had begun
    tokens_again: int

    def __str__(self):
        rate = self.tokens_now / max(self.seconds, 1e-9)
        text = (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens in {self.parts:,} "
            f"parts, {self.seconds:,.1f} s, {rate:,.0f} tokens/s: {self.output}"
        )
        if self.parts_again:
            text += ". Computed again, because a process had ended before they were "
            text += (
                f"written: {self.parts_again:,} parts, {self.tokens_again:,} tokens."
            )
        return text


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
        overwrite, verbose: as in `embed_corpus`.
        workers: how many processes compute; None for one on each GPU of the cluster,
            or on each processor if there are no GPUs.
        address: of the cluster, see `cluster.connected`.
        piece_bytes: size of a piece in bytes of text, see `text_rows.pieces_of`.
        stop: asked from time to time; the call ends soon after it returns True.
        **settings: further arguments of `Embedder`: `weights`, `layers`, `pooling`, …

    Raises:
        ValueError: an argument, an input or a model is not what it should be; the
            output exists or can't be written; or an unfinished one is of another call.
        OSError: a file can't be read or written.
        CommandFailed: workers end again and again. Finished pieces are kept always.
    """
    output = Path(output)
    inputs = [inputs] if isinstance(inputs, (str, Path)) else inputs
    paths = text_files(map(str, inputs))
    checked_folder(output, paths, overwrite=overwrite)
    model, weights = local_files(model, settings.pop("weights", None))
    weights = weights and absolute(weights)
    settings |= {"model": absolute(model), "weights": weights}
    rows = TextRows(paths, text_column, id_column)
    columns = {"text_column": text_column, "id_column": id_column}
    parts, start = Parts(output, SUFFIX, note_of), time.perf_counter()
    counts = dict.fromkeys(JobSummary._fields[2:], 0)

    def count(note, *, now):
        again = now and note["again"]
        counts["parts"] += 1
        counts["sentences"] += note["sentences"]
        counts["tokens"] += note["tokens"]
        counts["tokens_now"] += now * note["tokens"]
        counts["parts_again"] += again
        counts["tokens_again"] += again * note["tokens"]

    def pieces_left(identity):
        nonlocal start
        about = identity | columns | {"piece_bytes": piece_bytes}
        parts.open(about, overwrite=overwrite)
        start = time.perf_counter()
        for piece in pieces_of(rows, piece_bytes):
            note = parts.note(piece.number, piece.digest)
            if note is None:
                yield piece
            else:
                count(note, now=False)
                progress.skip(note["tokens"])
        parts.end(piece.number + 1)

    with (
        parts.only_writer(),
        Progress(disable=not verbose) as progress,
        connected(address),
    ):
        number, num_cpus, num_gpus = divided(workers)
        actor = ray.remote(num_cpus=num_cpus, num_gpus=num_gpus)(PieceWorker)
        kinds = {"output": output.absolute(), "texts": not forget_sentences}
        start_one = functools.partial(actor.remote, settings=settings, **kinds)
        for note in results(start_one, number, pieces_left, stop):
            count(note, now=True)
            progress.add(note["tokens"], rows.share(counts["sentences"]))
        finished = not stop()
        counts["seconds"] = time.perf_counter() - start
        if finished:
            parts.finish()
    return JobSummary(output, finished, **counts)
