"""Writes the vectors of a text file to a file, part by part."""

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmo_keras.base.files import on_disk
from elmo_keras.base.progress import Progress
from elmo_keras.embed.embedder import Batch, Embedder
from elmo_keras.embed.outputs import check_output, is_hdf5, is_npy, is_parquet
from elmo_keras.embed.text_rows import TextRows
from elmo_keras.embed.writers.npy import write_npy
from elmo_keras.jobs.parts import Parts, Summary, make_part
from elmo_keras.text.length_batches import in_turn, read_ahead

if TYPE_CHECKING:
    from elmo_keras.elmo import Elmo

MAX_TEXT_BYTES = 2**28  # all sentences in `sentence_to_index`


def embed_corpus(
    model: "str | Path | Elmo | Embedder",
    source: str | Path,
    output: str | Path,
    *,
    shard: tuple[int, int] = (1, 1),
    made_from: dict[str, Any] | None = None,
    forget_sentences: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Summary:
    """Writes the vectors of all sentences of a text file.

    Each batch is written as a part in the folder `OUTPUT.unfinished`, and the parts
    become the file when all are there; they take the disk space twice then. After a stop
    or a kill the same call resumes, and the result is the same byte for byte.

    Args:
        model: an `Embedder`, or any model that it reads, for the default vectors.
        source: text, plain or gzipped, one sentence a line, tokens separated by
            spaces. Sentence i is line i, from 0; an empty line has no tokens.
        output: an HDF5 file with the dataset `"i"` for sentence i, and
            `sentence_to_index`, JSON that maps each line to the name of its dataset
            (the last one for repeated lines); its name ends in `.hdf5` or `.h5`. If
            the name ends in `.parquet`, a row for each sentence, in their order, see
            `writers.parquet.Rows`; in `.npy`, one array with a vector of each sentence,
            by default the mean over its tokens.
        shard: `(i, n)` for every n-th line from the i-th on, i from 1; the output's
            name then has `.i-of-n` before its ending. `read_embeddings` reads the
            shards as one.
        made_from: JSON values that are written after the numbers of `.npy`, as
            `elmo_keras.jobs.parts.check_part` reads them.
        forget_sentences: whether to leave out `sentence_to_index`, which is always
            left out for more than 256 MiB of text, or Parquet's column of texts.
        overwrite: whether to replace an existing output, which stays until the new
            one is finished, and what is unfinished of another text, model or call.
        progress: whether to show progress on standard error.
        stop: called after every batch; the call ends when it returns True.

    Raises:
        ValueError: an argument is out of range, the text is not UTF-8, the output
            exists, is the text, can't be written or has another suffix, or an
            unfinished output is damaged or belongs to another text, model or call.
        OSError: a file can't be read or written; what was written is kept.
    """
    source, output = Path(source), Path(output)
    pooling = model.pooling if isinstance(model, Embedder) else None
    output = check_output(
        output, [source], shard=shard, pooling=pooling, overwrite=overwrite
    )
    if isinstance(model, Embedder):
        embedder = model
    else:
        embedder = Embedder(model, pooling="mean" if is_npy(output) else None)
    if is_npy(output) and embedder.pooling is None:
        raise ValueError("For .npy an `Embedder` should have `pooling`.")
    if made_from is not None and not is_npy(output):
        raise ValueError(f"`made_from` is for .npy. Received: {output}")
    texts = not (forget_sentences or is_npy(output))
    name = f"{shard[0]}/{shard[1]}"
    metadata = embedder.file_metadata(name)
    if is_parquet(output):
        metadata = embedder.parquet_metadata(name, texts=texts)
    job = metadata | {"pooling": embedder.pooling}
    lines, parts = _Lines(source, shard), Parts(output)
    with parts.only_writer(), Progress(disable=not progress) as bar:
        parts.open(job, overwrite=overwrite)
        written = _write_parts(embedder, lines, parts, texts, stop)
        summary = parts.count(written, bar, lines.share, stop)
        if summary.finished:
            engine, step = embedder.engine, shard[1]
            _join_parts(parts, summary.sentences, engine, metadata, texts, step)
            if made_from is not None:
                make_part(parts.whole, made_from)
            parts.finish(parts.whole)
    return summary


def _write_parts(embedder, lines, parts, texts, stop):
    """Computes the parts that are missing; yields as `Parts.count` takes them."""
    pending, batches = None, embedder.batches(lines, embedder.new_words())
    with ThreadPoolExecutor(1) as writer:
        for index, batch in enumerate(read_ahead(batches)):
            if stop():
                break
            metadata = lines.describe(batch, texts, embedder.engine.n_boundaries)
            written = parts.metadata(index, metadata["digest"])
            is_new = written is None or not written.items() >= metadata.items()
            if is_new:
                arrays = embedder.embed_batch(batch)
                if pending is not None:
                    pending.result()
                values = [np.ascontiguousarray(array).data for array in arrays]
                pending = writer.submit(parts.write, index, values, metadata)
            yield is_new, len(batch.sentences), int(batch.lengths.sum())
        if pending is not None:
            pending.result()


def _join_parts(parts, n_sentences, engine, metadata, texts, step):
    contents = read_arrays(parts, engine.shape, engine.dtype)
    batches = ((part["sentences"], arrays) for part, arrays in contents)
    if is_hdf5(parts.output):
        # h5py and pyarrow are imported only for their files.
        from elmo_keras.embed.writers.hdf5 import write_hdf5

        index = sentence_to_index(parts) if texts else None
        write_hdf5(parts.whole, batches, metadata=metadata, sentence_to_index=index)
    elif is_npy(parts.output):
        shape = n_sentences, *(n or 0 for n in engine.shape)
        write_npy(parts.whole, batches, shape=shape, dtype=engine.dtype, step=step)
    else:
        from elmo_keras.embed.writers.parquet import Row, Rows

        sentences = (
            (index // step, Row(array, index, text))
            for part, arrays in contents
            for index, array, text in zip(
                part["sentences"], arrays, part.get("texts", itertools.repeat(None))
            )
        )
        rows = Rows(engine.shape, engine.dtype, texts=texts, metadata=metadata)
        with on_disk(parts.whole) as file:
            rows.write(file, in_turn(sentences))


def read_arrays(
    parts: Parts, shape: Sequence[int | None], dtype: str
) -> Iterator[tuple[dict[str, Any], list[np.ndarray]]]:
    """Yields the metadata of each part, and its arrays; None in `shape` is a length."""
    for metadata, content in parts.read():
        values = np.frombuffer(content, dtype)
        shapes = [[n if d is None else d for d in shape] for n in metadata["lengths"]]
        ends = list(itertools.accumulate(map(math.prod, shapes)))
        arrays = zip(shapes, [0, *ends], ends)
        yield metadata, [values[start:end].reshape(s) for s, start, end in arrays]


def sentence_to_index(parts: Parts) -> dict[str, str] | None:
    """The last index of each text; None if there is too much text."""
    last, left = {}, MAX_TEXT_BYTES
    for metadata, _ in parts.read(check=False):
        for text, index in zip(metadata["texts"], metadata["sentences"]):
            left -= 0 if text in last else len(text.encode())
            if left < 0:
                return None
            last[text] = max(index, last.get(text, 0))
    ordered = sorted(last.items(), key=lambda item: item[1])
    return {text: str(index) for text, index in ordered}


class _Lines:
    """The sentences of a shard, whose texts are kept until their batch is described."""

    def __init__(self, source: Path, shard: tuple[int, int]):
        self._rows = TextRows([source], only_lines=True)
        self._first, self._step = shard[0] - 1, shard[1]
        self._texts: dict[int, bytes] = {}

    def __iter__(self) -> Iterator[list[bytes]]:
        for i, (line, _) in enumerate(self._rows):
            sentence, remainder = divmod(i - self._first, self._step)
            if not remainder:
                self._texts[sentence] = line  # pyright: ignore[reportArgumentType]
                yield line.split()  # pyright: ignore[reportAttributeAccessIssue]

    def share(self, n_sentences: int) -> float | None:
        return self._rows.share(n_sentences * self._step)

    def describe(self, batch: Batch, texts: bool, n_boundaries: int) -> dict[str, Any]:
        """The metadata of the part of a batch, with the texts or without."""
        indices = [self._first + i * self._step for i in batch.sentences]
        lines = [self._texts.pop(i) for i in batch.sentences]
        digest = hashlib.sha256(json.dumps(indices).encode())
        digest.update(b"\n".join(lines))
        metadata = {
            "digest": digest.hexdigest(),
            "sentences": indices,
            "lengths": (batch.lengths + n_boundaries).tolist(),
        }
        if texts:
            metadata["texts"] = [line.decode() for line in lines]
        return metadata
