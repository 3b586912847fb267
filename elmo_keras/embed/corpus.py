"""Writes the vectors of a text file to a file, by way of parts."""

import dataclasses
import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from elmo_keras.embed.embedder import Batch, Embedder
from elmo_keras.embed.engines.engine import Engine
from elmo_keras.embed.outputs import check_output, is_hdf5, is_npy, is_parquet
from elmo_keras.embed.parts import (
    Parts,
    read_metadata,
    read_parts,
    sentence_to_index,
    write_part,
)
from elmo_keras.embed.text_rows import TextRows
from elmo_keras.embed.writers.npy import write_npy
from elmo_keras.text.length_batches import in_turn
from elmo_keras.util.progress import Progress

if TYPE_CHECKING:
    from elmo_keras.elmo import Elmo

T = TypeVar("T")


@dataclasses.dataclass
class Summary:
    """The result of a call of `embed_corpus`, with the work of calls before it."""

    output: Path
    finished: bool = False  # False if `stop` ended the call; the same call resumes
    sentences: int = 0
    tokens: int = 0
    words: int = 0  # computed by the character CNN, again if they had left the cache
    seconds: float = 0.0  # since this call began to compute
    tokens_now: int = 0  # that this call embedded
    texts_left_out: bool = False  # too much text for `sentence_to_index`

    def __str__(self):
        words = left_out = ""
        if self.words:
            share = max(1 - self.words / max(self.tokens, 1), 0)
            words = f"{self.words:,} words computed ({share:.1%} of the tokens from the cache), "
        if self.texts_left_out:
            left_out = ". Too much text for sentence_to_index: it is left out."
        rate = self.tokens_now / max(self.seconds, 1e-9)
        return (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens, {words}"
            f"{self.seconds:,.1f} s, {rate:,.0f} tokens/s: {self.output}{left_out}"
        )


class WrittenPart(NamedTuple):
    """The counts of a part that is on the disk."""

    is_new: bool  # and not of an earlier call
    sentences: int
    tokens: int
    words: int = 0


def count_parts(
    parts: Parts,
    written: Iterable[WrittenPart],
    bar: Progress,
    share: Callable[[int], float | None],
    stop: Callable[[], bool],
) -> Summary:
    """Counts the parts as they are written, and removes those of a longer run."""
    summary, n_parts, start = Summary(parts.output), 0, time.perf_counter()
    for part in written:
        n_parts += 1
        summary.sentences += part.sentences
        summary.tokens += part.tokens
        summary.words += part.words
        if part.is_new:
            summary.tokens_now += part.tokens
            bar.add(part.tokens, share(summary.sentences))
        else:
            bar.skip(part.tokens)
            start = time.perf_counter()
    if not stop():
        parts.end(n_parts)
        summary.finished = True
    summary.seconds = time.perf_counter() - start
    return summary


def embed_corpus(
    model: "str | Path | Elmo | Embedder",
    source: str | Path,
    output: str | Path,
    *,
    pooling: str | None = None,
    shard: tuple[int, int] = (1, 1),
    forget_sentences: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    stop: Callable[[], bool] = lambda: False,
    **settings: Any,
) -> Summary:
    """Writes the vectors of all sentences of a text file.

    Each batch is written as a part in the folder `OUTPUT.unfinished`, and the parts
    become the file when all are there; they take the disk space twice then. If a call
    is stopped or killed, the same call resumes with the parts that are missing or that
    the disk has damaged, and the result is the same byte for byte.

    Args:
        model: computes the vectors: an `Embedder`, or any model that it reads.
        source: text, plain or gzipped, one sentence a line, tokens separated by
            spaces. Sentence i is line i, from 0; an empty line has no tokens.
        output: an HDF5 file with the dataset `"i"` for sentence i, and
            `sentence_to_index`, JSON that maps each line to the name of its dataset
            (the last one for repeated lines); its name ends in `.hdf5` or `.h5`. If
            the name ends in `.parquet`, a row for each sentence, in their order, see
            `writers.parquet.Rows`; in `.npy`, one array with a vector of each sentence.
        pooling: `"mean"` or `"max"` for one vector of each sentence, over its tokens,
            0 if it has none. HDF5 has no pooling, `.npy` always: `"mean"` by default.
        shard: `(i, n)` for every n-th line from the i-th on, i from 1; the output's
            name then has `.i-of-n` before its ending. `read_embeddings` reads the
            shards as one.
        forget_sentences: whether to leave out `sentence_to_index`, which is always
            left out for more than 256 MiB of text, or Parquet's column of texts.
        overwrite: whether to replace an existing output, which stays until the new
            one is finished, and what is unfinished of another text, model or call.
        progress: whether to show progress on standard error.
        stop: called after every batch; the call ends when it returns True.
        **settings: further arguments of `Embedder`: `layers`, `mix`, `gamma`,
            `weights`, `dtype`, `arithmetic`, `tokens_at_once`, `cache_bytes`,
            `threads`.

    Raises:
        ValueError: an argument is out of range, the text is not UTF-8, the output
            exists, is the text, can't be written or has another suffix, or an
            unfinished output is damaged or belongs to another text, model or call.
        OSError: a file can't be read or written; what was written is kept.
    """
    source, output = Path(source), Path(output)
    if isinstance(model, Embedder):
        if settings or pooling:
            raise ValueError(
                "An `Embedder` has its settings. Leave out: "
                f"{', '.join(settings) or 'pooling'}"
            )
        pooling = model.engine.pooling
    output = check_output(
        output, [source], shard=shard, pooling=pooling, overwrite=overwrite
    )
    if not isinstance(model, Embedder):
        if is_npy(output):
            pooling = pooling or "mean"
        model = Embedder(model, pooling=pooling, **settings)
    elif is_npy(output) and pooling is None:
        raise ValueError("For .npy an `Embedder` should have `pooling`.")
    texts = not (forget_sentences or is_npy(output))
    name = f"{shard[0]}/{shard[1]}"
    if is_parquet(output):
        metadata = model.parquet_metadata(name, texts=texts)
    else:
        metadata = model.file_metadata(name)
    if is_npy(output):
        metadata |= {"pooling": pooling}
    lines, parts = _Lines(source, shard), Parts(output, ".npy", read_metadata)
    with parts.only_writer(), Progress(disable=not progress) as bar:
        parts.open(metadata, overwrite=overwrite)
        written = _write_parts(model, lines, parts, texts, stop)
        summary = count_parts(parts, written, bar, lines.share, stop)
        if summary.finished:
            start = time.perf_counter()
            _join_parts(parts, summary, model.engine, metadata, texts, shard[1])
            summary.seconds += time.perf_counter() - start
    return summary


def _write_parts(
    embedder: Embedder,
    lines: "_Lines",
    parts: Parts,
    texts: bool,
    stop: Callable[[], bool],
) -> Iterator[WrittenPart]:
    """Computes the parts that are missing."""
    pending, batches = None, embedder.batches(lines, embedder.new_words())
    with ThreadPoolExecutor(1) as writer:
        for index, batch in enumerate(_read_ahead(batches)):
            if stop():
                break
            metadata, n_tokens = lines.describe(batch, texts), int(batch.lengths.sum())
            written = parts.metadata(index, metadata["digest"])
            is_new = written is None or not written.items() >= metadata.items()
            if is_new:
                arrays = embedder.embed_batch(batch)
                if pending is not None:
                    pending.result()
                pending = writer.submit(write_part, parts, index, arrays, metadata)
            yield WrittenPart(is_new, len(batch.sentences), n_tokens, batch.n_new)
        if pending is not None:
            pending.result()


def _join_parts(
    parts: Parts,
    summary: Summary,
    engine: Engine,
    metadata: dict[str, Any],
    texts: bool,
    step: int,
) -> None:
    paths = parts.parts_from(0)
    contents = read_parts(paths, engine.shape)
    batches = ((part["sentences"], arrays) for part, arrays in contents)
    if is_hdf5(parts.output):
        # h5py and pyarrow are imported only for their files.
        from elmo_keras.embed.writers.hdf5 import write_hdf5

        index = sentence_to_index(paths) if texts else None
        summary.texts_left_out = texts and index is None
        write_hdf5(parts.whole, batches, metadata=metadata, sentence_to_index=index)
    elif is_npy(parts.output):
        shape = summary.sentences, *(n or 0 for n in engine.shape)
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
        with parts.whole.open("wb") as file:
            rows.write(file, in_turn(sentences))
            file.flush()
            os.fsync(file.fileno())
    parts.finish(parts.whole)


class _Lines:
    def __init__(self, source: Path, shard: tuple[int, int]):
        self._rows = TextRows([source], only_lines=True)
        self._first, self._step = shard[0] - 1, shard[1]
        self._texts: dict[int, bytes] = {}

    def __iter__(self) -> Iterator[list[bytes]]:
        for i, (line, _) in enumerate(self._rows):
            sentence, other = divmod(i - self._first, self._step)
            if not other:
                self._texts[sentence] = line  # pyright: ignore[reportArgumentType]
                yield line.split()  # pyright: ignore[reportAttributeAccessIssue]

    def share(self, n_sentences: int) -> float | None:
        return self._rows.share(n_sentences * self._step)

    def describe(self, batch: Batch, texts: bool) -> dict[str, Any]:
        """The metadata of the part of a batch, with the texts or without."""
        indices = [self._first + i * self._step for i in batch.sentences]
        lines = [self._texts.pop(i) for i in batch.sentences]
        digest = hashlib.sha256(json.dumps(indices).encode())
        digest.update(b"\n".join(lines))
        metadata = {
            "digest": digest.hexdigest(),
            "sentences": indices,
            "lengths": batch.lengths.tolist(),
        }
        if texts:
            metadata["texts"] = [line.decode() for line in lines]
        return metadata


def _read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes each while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item
