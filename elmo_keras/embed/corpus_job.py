"""Writes the vectors of a text file to a file."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from elmo_keras.cli.progress_line import Progress
from elmo_keras.elmo import Elmo
from elmo_keras.embed.batch_vectors import SentenceVectors, words_within
from elmo_keras.embed.corpus_loop import Loop, Summary
from elmo_keras.embed.corpus_output import checked_output, checked_pooling
from elmo_keras.embed.file_identity import file_identity, rows_identity
from elmo_keras.embed.numbered_batches import Shard, read_batches
from elmo_keras.embed.unfinished import (
    OtherRun,
    OtherText,
    Unfinished,
    folder_of,
    only_run,
    remove_unfinished,
)
from elmo_keras.embed.vector_files import is_npy, is_parquet
from elmo_keras.text.characters import boundary_tokens


def embed_corpus(
    elmo: Elmo,
    source: str | Path,
    output: str | Path,
    *,
    layers: str | int = "all",
    pooling: str | None = None,
    dtype: str = "float32",
    shard: tuple[int, int] = (1, 1),
    tokens_at_once: int = 2**13,
    cache_bytes: int = 2**28,
    forget_sentences: bool = False,
    overwrite: bool = False,
    verbose: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> Summary:
    """Writes the vectors of all sentences of a text file.

    The file grows in the folder `OUTPUT.unfinished`. If a call is stopped or killed,
    the same call resumes after the last batch that was written, and the result is
    the same byte for byte.

    Args:
        elmo: computes the vectors.
        source: text, plain or gzipped, one sentence a line, tokens separated by
            spaces. Sentence i is line i, from 0; an empty line has no tokens.
        output: an HDF5 file with the dataset `"i"` for sentence i, and
            `sentence_to_index`, JSON that maps each line to the name of its dataset
            (the last one for repeated lines); its name ends in `.hdf5` or `.h5`. If
            the name ends in `.parquet`, a row for each sentence, in their order, see
            `arrow_rows.Rows`; in `.npy`, one array with a vector of each sentence.
        layers: `"all"` `(layers, tokens, 2 · projection_dim)`; or `"average"`,
            `"top"`, `"mix"` (the first mix of `elmo`) or the index of a layer,
            `(tokens, 2 · projection_dim)`.
        pooling: `"mean"` or `"max"` for one vector of each sentence, over its tokens,
            0 if it has none; None for all tokens, or for the mean in `.npy`.
        dtype: dtype of the file, `"float32"` or `"float16"`. The arithmetic uses
            the layer's.
        shard: `(i, n)` for every n-th line from the i-th on, i from 1; the output's
            name then has `.i-of-n` before its ending. `read_embeddings` reads the
            shards as one.
        tokens_at_once: about how many tokens go through the LSTMs together.
        cache_bytes: about how much memory is used to keep the vectors of words.
        forget_sentences: whether to leave out `sentence_to_index`, which is always
            left out for more than 256 MiB of text, or Parquet's column of texts.
        overwrite: whether to replace an existing output, which stays until the new
            one is finished, and to discard an unfinished one of another text, model
            or call.
        verbose: 1 for a progress line on standard error.
        stop: called after every batch; the call ends when it returns True.

    Raises:
        ValueError: an argument is out of range, the text is not UTF-8, the output
            exists, is the text, can't be written or has another suffix, or an
            unfinished output belongs to another text, model or call.
        OSError: a file can't be read or written; what was written is kept.
    """
    source, shard = Path(source), _checked_shard(shard)
    output = checked_output(Path(output), shard, [source], overwrite=overwrite)
    pooling = checked_pooling(pooling, output)
    vectors = SentenceVectors(elmo, layers, dtype=dtype, pooling=pooling)
    identity = file_identity(
        vectors, shard=shard, tokens_at_once=tokens_at_once, cache_bytes=cache_bytes
    )
    # HDF5 never pools, and `.npy` had no other pooling in earlier versions.
    if is_parquet(output):
        identity |= rows_identity(vectors, texts=not forget_sentences)
    elif is_npy(output) and pooling != "mean":
        identity |= {"pooling": pooling}

    def run():
        batches = read_batches(
            source,
            shard,
            boundaries=boundary_tokens(elmo.config),
            tokens_at_once=tokens_at_once,
            max_words=words_within(cache_bytes, elmo),
        )
        work = Unfinished(output, identity)
        with contextlib.closing(work), Progress(bool(verbose)) as progress:
            loop = Loop(
                work, elmo, vectors, shard=shard, forget_sentences=forget_sentences
            )
            return loop.embed(batches, progress, stop)

    with source.open("rb"), only_run(output):
        try:
            return run()
        except OtherRun as error:
            if not overwrite:
                raise
            _discard(output, source, error)
            return run()


def _discard(output, source, error):
    """Removes the unfinished file of another run, so that this one can begin."""
    remove_unfinished(output)
    if isinstance(error, OtherText) and not source.is_file():
        raise ValueError(
            f"{folder_of(output)} belonged to a run over another text, and is removed. "
            f"{source} can be read only once: give the same command again."
        ) from error


def _checked_shard(shard):
    index, count = shard
    if not 1 <= index <= count:
        raise ValueError(
            f"`shard` should be (i, n) with i from 1 to n. Received: {shard!r}"
        )
    return Shard(index, count)
