"""The command `search`."""

import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from elmo_keras.analyses.search.exact_index import ExactIndex
from elmo_keras.analyses.search.metadata import metadata_file
from elmo_keras.analyses.search.text_sentences import TextSentences, check_vectors
from elmo_keras.config import Arithmetic
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.outputs import is_parquet
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.text.files import lines_of
from elmo_keras.text.sentences import words_of_sentences
from elmo_keras.text.tokenizers import Tokenizer
from elmo_keras.util.arguments import Count, Index
from elmo_keras.util.command import import_tensorflow, stopping
from elmo_keras.util.outputs import check_apart, check_file


def search(
    file: Path,
    /,
    *query: str,
    model: str,
    arithmetic: Arithmetic | None = None,
    top: Count = 10,
    layers: Literal["mix", "average", "top"] | Index | None = None,
    center: bool = False,
    vectors: Path | None = None,
    index: str | None = None,
    nprobe: Count | None = None,
    overwrite: bool = False,
) -> None:
    """Finds the sentences of a file that are similar to a query.

    FILE holds one sentence a line, tokens separated by spaces. The query is split as the
    model's text was; without it, queries are read from standard input, one a line.
    Sentences are compared by the cosine of their mean vectors, computed once and kept next
    to FILE. Lines are numbered from 1; the rows of VECTORS have their ids, which `embed`
    counts from 0. After an interruption the same command resumes. VECTORS, a Parquet
    file or a folder of them, holds the sentences with their vectors, as
    `embed --pooling mean` writes them. For millions of sentences,
    `--index IVF4096,SQfp16` makes an index of faiss once and keeps it beside the
    vectors; it finds nearly all of the closest sentences.

    On SNLI and KorSTS the cosine of character trigrams ranks whole sentences better
    than that of these vectors.

        elmo-keras search FILE --model MODEL "a query" --top 5
        elmo-keras search VECTORS.parquet --model MODEL "a query"

    Args:
        file: text, or vectors in Parquet
        query: a text or tokens
        model: a model directory, a zip, or a published model's name or address
        arithmetic: float32 if not given; int8 is by LiteRT, on CPUs
        top: number of sentences
        layers: of a text; mix if not given
        center: subtract the mean of all sentences, which they have in common
        vectors: file for those of a text; FILE.LAYERS.npy if not given
        index: make an index of faiss once and use it, such as Flat or IVF4096,SQfp16
        nprobe: lists of an index with IVF that a query searches; a sixteenth if not
            given
        overwrite: replace vectors and an index as soon as new ones are finished
    """
    in_parquet = is_parquet(file) or file.is_dir()
    if in_parquet and (vectors or layers is not None or (overwrite and not index)):
        raise ValueError(
            "--layers, --vectors, and --overwrite without --index, are for a text."
        )
    if nprobe is not None and index is None:
        raise ValueError("--nprobe is for --index.")
    inputs = [file, *parts_of_model(model)]
    if in_parquet:
        vectors = file.resolve() if file.name in ("", "..") else file
    else:
        of_vectors = "mix" if layers is None else layers
        vectors = vectors or file.with_name(f"{file.name}.{of_vectors}.npy")
        check_vectors(vectors, inputs, overwrite=overwrite)
    if index is not None:
        check_index(index_file(vectors, index, center), inputs, overwrite=overwrite)
    if in_parquet:
        # pyarrow is imported only for Parquet.
        from elmo_keras.analyses.search.parquet_sentences import ParquetSentences

        sentences = ParquetSentences(file)
        of_vectors = sentences.layers
    else:
        sentences = TextSentences(file, vectors)
    with sentences:
        if arithmetic != "int8":
            import_tensorflow()
        embedder = Embedder(
            model, layers=of_vectors, pooling="mean", arithmetic=arithmetic
        )
        if index is not None:  # faiss is imported only where it is needed
            from elmo_keras.analyses.search import faiss_index

            faiss_index.new_index(embedder.dim, index)
        with stopping() as stop:
            rows = sentences.embed(embedder, overwrite=overwrite, stop=stop.is_set)
        if rows is None:
            raise KeyboardInterrupt
        if index is None:
            searched = ExactIndex(rows[:], center)
        else:
            path = index_file(vectors, index, center)
            fingerprint = sentences.fingerprint()
            faiss_index.make_index(
                rows, path, index, fingerprint, center=center, overwrite=overwrite
            )
            searched = faiss_index.FaissIndex(path, nprobe)
        for tokens in read_queries(query, embedder.tokenizer):
            print(f"Closest to: {' '.join(tokens)}")
            print(f" cosine {sentences.id_name:>8}  sentence")
            closest = searched.closest(embedder.encode([tokens])[0], top)
            for row, cosine in zip(*closest):
                id, text = sentences.sentence(row)
                id = f"{id:,}" if isinstance(id, int) else id
                print(f"{cosine:7.3f} {id!s:>8}  {text}", flush=True)


def index_file(vectors: Path, index: str, center: bool) -> Path:
    name = re.sub(r"[^\w,()-]", "_", index)
    return vectors.with_name(f"{vectors.name}{'.centered' * center}.{name}.faiss")


def check_index(file: Path, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Checks before the work whether an index can be made, or is there already."""
    if importlib.util.find_spec("faiss") is None:
        raise ImportError("--index needs faiss: pip install 'elmo-keras[index]'")
    if overwrite or not file.is_file():
        check_apart([file, metadata_file(file)], inputs)
        check_file(file)


def read_queries(
    query: Sequence[str], tokenizer: str | Tokenizer
) -> Iterator[list[str]]:
    """The tokens of a query, or of each line of standard input where none is given."""
    if not query:
        lines = lines_of(sys.stdin.buffer, "standard input")
        yield from filter(None, words_of_sentences(lines, tokenizer))
        return
    [tokens] = words_of_sentences(" ".join(query), tokenizer)
    if not tokens:
        raise ValueError("The query should have at least one token.")
    yield tokens
