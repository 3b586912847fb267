"""The command `search`."""

import dataclasses
import re
import sys
from pathlib import Path

from elmo_keras.base.messages import printable, say
from elmo_keras.commands.arguments import Count, Words
from elmo_keras.commands.outputs import check_file
from elmo_keras.embed.options import EmbedderOptions
from elmo_keras.embed.outputs import is_npy, is_parquet
from elmo_keras.search.find import ExactIndex
from elmo_keras.search.sentences import ParquetSentences, TextSentences
from elmo_keras.text.files import lines_of

DEFAULTS = EmbedderOptions()


def search(
    file: Path,
    /,
    *query: Words,
    options: EmbedderOptions = DEFAULTS,
    top: Count = 10,
    center: bool = False,
    vectors: Path | None = None,
    index: str | None = None,
    nprobe: Count | None = None,
    overwrite: bool = False,
) -> None:
    """Finds the sentences of a file that are similar to a query.

    FILE holds one sentence a line, tokens separated by spaces; their mean vectors are
    computed once and kept next to it, and the same command resumes. VECTORS, a Parquet
    file or a folder of them, holds sentences with their vectors, as `embed --pooling mean`
    writes them. The query is split as the model's text was; without it, queries are read
    from standard input, one a line. For millions of sentences, `--index IVF4096,SQfp16`
    makes an index of faiss once and keeps it beside the vectors; it finds nearly all of the
    closest sentences. Lines are numbered from 1; rows have the ids that `embed` counts
    from 0.

    On SNLI and KorSTS the cosine of character trigrams ranks whole sentences better
    than that of these vectors.

        elmo-keras search FILE "a query" --top 5
        elmo-keras search VECTORS.parquet --model MODEL "a query"

    Args:
        file: text, or vectors in Parquet
        query: a text or tokens
        top: number of sentences
        center: subtract the mean of all sentences, which they have in common
        vectors: file for those of a text; FILE.LAYERS.npy if not given
        index: make an index of faiss once and use it, such as Flat or IVF4096,SQfp16
        nprobe: lists of an index with IVF that a query searches; a sixteenth if not
            given
        overwrite: replace vectors and an index as soon as new ones are finished
    """
    if nprobe is not None and index is None:
        raise ValueError("--nprobe is for --index.")
    in_parquet = is_parquet(file) or file.is_dir()
    if not in_parquet:
        options = options.for_text(file)
    inputs = [file, *options.inputs()]
    if not in_parquet:
        vectors = _vectors_of_text(file, vectors, options.layers)
        written = [vectors]
    elif vectors or options.layers is not None or (overwrite and not index):
        raise ValueError(
            "--layers, --vectors, and --overwrite without --index, are for a text."
        )
    else:
        vectors, written = file.absolute(), []
    if index is not None:
        from elmo_keras.search.faiss_index import FaissIndex, new_index

        name = re.sub(r"[^\w,()-]", "_", index)
        name = f"centered.{name}" if center else name
        written.append(vectors.with_name(f"{vectors.name}.{name}.faiss"))
    for path in written:
        if overwrite or not path.is_file():  # else the file is only read
            check_file(path, inputs)
    sentences = ParquetSentences(file) if in_parquet else TextSentences(file)
    if not len(sentences):
        raise ValueError(f"{file} holds no sentence.")
    if name := str(sentences.metadata.get("layers", "")):
        chosen = int(name) if name.isdecimal() else name
        options = dataclasses.replace(options, layers=chosen)
    embedder = options.embedder(pooling="mean")
    if index is not None:
        new_index(embedder.dim, index)
    sentences.prepare(embedder, vectors, overwrite=overwrite)
    if index is None:
        index_of_all = ExactIndex(sentences.blocks(), center)
    else:
        index_of_all = FaissIndex(
            written[-1],
            sentences,
            index,
            center=center,
            nprobe=nprobe,
            overwrite=overwrite,
        )
    for tokens in _read_queries(query, embedder):
        print(f"Closest to: {' '.join(tokens)}")
        print(f" cosine {sentences.id_name:>8}  sentence")
        vector = embedder.encode([tokens])[0]
        for row, cosine in zip(*index_of_all.closest(vector, top)):
            id, text = sentences.sentence(row)
            id = f"{id:,}" if isinstance(id, int) else printable(str(id))
            print(f"{cosine:7.3f} {id:>8}  {printable(text)}", flush=True)


def _vectors_of_text(file, vectors, layers):
    """The file of a text's vectors, `.npy` with one layer or mix."""
    layers = "mix" if layers is None else layers
    vectors = vectors or file.with_name(f"{file.name}.{layers}.npy")
    if not is_npy(vectors) or layers == "all":
        raise ValueError(
            "--vectors should end in .npy, and --layers name one. Received: "
            f"{vectors}, {layers}"
        )
    return vectors


def _read_queries(query, embedder):
    if not query:
        if sys.stdin.isatty():
            say("Type queries, one a line. Ctrl-D ends.")
        lines = lines_of(sys.stdin.buffer, "standard input")
        yield from filter(None, embedder.split(lines))
        return
    [tokens] = embedder.split(" ".join(query))
    if not tokens:
        raise ValueError("The query should have at least one token.")
    yield tokens
