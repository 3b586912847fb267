"""Writes the vectors of a text file to a file, by way of parts."""

import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from elmo_keras.embed.array_parts import (
    note_of,
    read_parts,
    sentence_to_index,
    write_part,
)
from elmo_keras.embed.checked_outputs import checked_output
from elmo_keras.embed.embedder import Batch, Embedder
from elmo_keras.embed.parts import Parts
from elmo_keras.embed.text_rows import TextRows
from elmo_keras.embed.vector_files import is_hdf5, is_npy, is_parquet, write_npy
from elmo_keras.text.length_batches import in_turn
from elmo_keras.util.progress import Progress

if TYPE_CHECKING:
    from elmo_keras.elmo import Elmo

T = TypeVar("T")


class Summary(NamedTuple):
    """The result of a call of `embed_corpus`, with the work of calls before it."""

    output: Path
    finished: bool  # False if `stop` ended the call; the same call resumes
    sentences: int
    tokens: int
    words: int  # computed by the character CNN, again if they had left the cache
    seconds: float  # since this call began to compute
    tokens_now: int  # that this call embedded
    texts_left_out: bool  # because there was too much text for `sentence_to_index`

    def __str__(self):
        share = 1 - self.words / max(self.tokens, 1)
        left_out = " Too much text for sentence_to_index: it is left out."
        return (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens, {self.words:,} "
            f"words computed ({max(share, 0):.1%} of the tokens from the cache), "
            f"{self.seconds:,.1f} s, {self.tokens_now / self.seconds:,.0f} tokens/s: "
            f"{self.output}{'.' + left_out if self.texts_left_out else ''}"
        )


def embed_corpus(
    elmo: "Elmo | str | Path",
    source: str | Path,
    output: str | Path,
    *,
    layers: str | int | Sequence[float] = "all",
    pooling: str | None = None,
    shard: tuple[int, int] = (1, 1),
    forget_sentences: bool = False,
    overwrite: bool = False,
    verbose: int = 0,
    stop: Callable[[], bool] = lambda: False,
    **settings: Any,
) -> Summary:
    """Writes the vectors of all sentences of a text file.

    Each batch is written as a part in the folder `OUTPUT.unfinished`, and the parts
    become the file when all are there; they take the disk space twice then. If a call
    is stopped or killed, the same call resumes with the parts that are missing or that
    the disk has damaged, and the result is the same byte for byte.

    Args:
        elmo: computes the vectors, an `Elmo` layer or any model that `Embedder` reads.
        source: text, plain or gzipped, one sentence a line, tokens separated by
            spaces. Sentence i is line i, from 0; an empty line has no tokens.
        output: an HDF5 file with the dataset `"i"` for sentence i, and
            `sentence_to_index`, JSON that maps each line to the name of its dataset
            (the last one for repeated lines); its name ends in `.hdf5` or `.h5`. If
            the name ends in `.parquet`, a row for each sentence, in their order, see
            `arrow_rows.Rows`; in `.npy`, one array with a vector of each sentence.
        layers: `"all"` `(layers, tokens, 2 · projection_dim)`; or, see `Embedder`,
            `(tokens, 2 · projection_dim)`.
        pooling: `"mean"` or `"max"` for one vector of each sentence, over its tokens,
            0 if it has none. HDF5 has no pooling, `.npy` always: `"mean"` by default.
        shard: `(i, n)` for every n-th line from the i-th on, i from 1; the output's
            name then has `.i-of-n` before its ending. `read_embeddings` reads the
            shards as one.
        forget_sentences: whether to leave out `sentence_to_index`, which is always
            left out for more than 256 MiB of text, or Parquet's column of texts.
        overwrite: whether to replace an existing output, which stays until the new
            one is finished, and what is unfinished of another text, model or call.
        verbose: 1 for a progress line on standard error.
        stop: called after every batch; the call ends when it returns True.
        **settings: further arguments of `Embedder`: `gamma`, `dtype`,
            `arithmetic`, `tokens_at_once`, `cache_bytes`, `threads`.

    Raises:
        ValueError: an argument is out of range, the text is not UTF-8, the output
            exists, is the text, can't be written or has another suffix, or an
            unfinished output is damaged or belongs to another text, model or call.
        OSError: a file can't be read or written; what was written is kept.
    """
    output = checked_output(
        Path(output), [Path(source)], shard=shard, pooling=pooling, overwrite=overwrite
    )
    pooling = pooling_of(output, pooling)
    return write_vectors(
        Embedder(elmo, layers=layers, pooling=pooling, **settings),
        Path(source),
        output,
        shard=shard,
        forget_sentences=forget_sentences,
        overwrite=overwrite,
        verbose=verbose,
        stop=stop,
    )


def pooling_of(output: Path, pooling: str | None) -> str | None:
    return "mean" if pooling is None and is_npy(output) else pooling


def write_vectors(
    embedder: Embedder,
    source: Path,
    output: Path,
    *,
    shard: tuple[int, int],
    forget_sentences: bool,
    overwrite: bool,
    verbose: int,
    stop: Callable[[], bool],
) -> Summary:
    vectors = embedder.vectors
    texts = not (forget_sentences or is_npy(output))
    about = embedder.about_file("{}/{}".format(*shard))
    if is_parquet(output):
        about |= embedder.about_rows(texts=texts)
    elif is_npy(output):  # HDF5 never pools
        about |= {"pooling": vectors.pooling}
    lines, parts = _Lines(source, shard), Parts(output, ".npy", note_of)
    sentences = tokens = tokens_now = words = n_parts = 0
    with (
        parts.only_writer(),
        Progress(disable=not verbose) as progress,
        ThreadPoolExecutor(1) as writer,
    ):
        parts.open(about, overwrite=overwrite)
        start, written = time.perf_counter(), writer.submit(int)
        for batch in _reading_ahead(embedder.batches(lines)):
            if stop():
                break
            note, n_tokens = lines.note(batch, texts=texts), int(batch.lengths.sum())
            found = parts.note(n_parts, note["digest"])
            if found is not None and found.items() >= note.items():
                progress.skip(n_tokens)
                start = time.perf_counter()
            else:
                arrays = embedder.vectors_of(batch)
                written.result()
                written = writer.submit(write_part, parts, n_parts, arrays, note)
                tokens_now += n_tokens
                progress.add(n_tokens, lines.share(sentences + len(batch.sentences)))
            sentences, tokens = sentences + len(batch.sentences), tokens + n_tokens
            words, n_parts = words + batch.n_new, n_parts + 1
        written.result()
        finished, left_out = not stop(), False
        if finished:
            parts.end(n_parts)
            paths = [parts.part(number) for number in range(n_parts)]
            index = sentence_to_index(paths) if texts and is_hdf5(output) else None
            left_out = texts and is_hdf5(output) and index is None

            def write(path):
                found = read_parts(paths, vectors.shape)
                batches = ((note["sentences"], arrays) for note, arrays in found)
                if is_hdf5(output):
                    # h5py and pyarrow are imported only for their files.
                    from elmo_keras.embed.hdf5_vectors import write_hdf5

                    write_hdf5(path, batches, about=about, sentence_to_index=index)
                elif is_npy(output):
                    shape, dtype = (sentences, *vectors.shape), vectors.dtype
                    write_npy(path, batches, shape=shape, dtype=dtype, step=shard[1])
                else:
                    _write_parquet(path, found, vectors, about, shard[1], texts=texts)

            parts.finish(write)
    return Summary(
        output=output,
        finished=finished,
        sentences=sentences,
        tokens=tokens,
        words=words,
        seconds=time.perf_counter() - start,
        tokens_now=tokens_now,
        texts_left_out=left_out,
    )


def _write_parquet(path, parts, vectors, about, step, *, texts):
    # pyarrow is imported only for Parquet.
    from elmo_keras.embed.arrow_rows import Row, Rows

    sentences = (
        (number // step, Row(array, number, text))
        for note, arrays in parts
        for number, array, text in zip(
            note["sentences"], arrays, note.get("texts", itertools.repeat(None))
        )
    )
    rows = Rows(vectors.shape, vectors.dtype, texts=texts, about=about)
    with path.open("wb") as file:
        rows.write(file, in_turn(sentences))
        file.flush()
        os.fsync(file.fileno())


class _Lines:
    def __init__(self, source: Path, shard: tuple[int, int]):
        self._rows = TextRows([source], only_lines=True)
        self._index, self._count = shard
        self._texts: dict[int, bytes] = {}

    def __iter__(self) -> Iterator[list[bytes]]:
        for number, (line, _) in enumerate(self._rows):
            sentence, other = divmod(number - self._index + 1, self._count)
            if not other:
                self._texts[sentence] = line
                yield line.split()

    def share(self, n_sentences: int) -> float | None:
        return self._rows.share(n_sentences * self._count)

    def note(self, batch: Batch, *, texts: bool) -> dict[str, Any]:
        """What the part of a batch says about itself, with the texts or without."""
        numbers = [self._index - 1 + i * self._count for i in batch.sentences]
        lines = [self._texts.pop(i) for i in batch.sentences]
        digest = hashlib.sha256(json.dumps(numbers).encode())
        digest.update(b"\n".join(lines))
        note = {"digest": digest.hexdigest(), "sentences": numbers}
        note |= {"lengths": batch.lengths.tolist()}
        return note | ({"texts": [line.decode() for line in lines]} if texts else {})


def _reading_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yields the items; a thread makes each while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item
