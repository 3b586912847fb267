"""Semantic search by mean vectors: the command `search`."""

import errno
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmo_keras.base.files import (
    OtherRun,
    check_same_run,
    file_stamp,
    naming_damage,
    replacing,
)
from elmo_keras.base.progress import Progress
from elmo_keras.commands.arguments import Count, OneLayer
from elmo_keras.commands.command import stopping
from elmo_keras.commands.outputs import check_apart, check_file
from elmo_keras.config import Arithmetic
from elmo_keras.embed.command import start_backend
from elmo_keras.embed.corpus import embed_corpus
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.engines.backend import choose_backend
from elmo_keras.embed.outputs import is_npy, is_parquet
from elmo_keras.embed.writers.npy import open_npy
from elmo_keras.formats.options import read_options
from elmo_keras.hub.catalogue import parts_of_model
from elmo_keras.text.files import lines_of

if TYPE_CHECKING:
    import faiss

ADVICE = "--overwrite makes it anew."
ROWS_AT_ONCE = 2**14
TRAINED_ON = 64  # vectors for each list of an IVF
LISTS = 1024  # an index without lists is trained as one with as many
SHARE_OF_LISTS, FEWEST_LISTS = 1 / 16, 16  # that a query searches
RESCORED = 4  # times as many sentences as a query wants


def search(
    file: Path,
    /,
    *query: str,
    model: str,
    arithmetic: Arithmetic | None = None,
    top: Count = 10,
    layers: OneLayer | None = None,
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

        elmo-keras search FILE --model MODEL "a query" --top 5
        elmo-keras search VECTORS.parquet --model MODEL "a query"

    Args:
        file: text, or vectors in Parquet
        query: a text or tokens
        model: a model directory, a zip, or a published model's name or address
        arithmetic: float32 if not given; int8 is by LiteRT, bfloat16 by TensorFlow
        top: number of sentences
        layers: of a text; mix if not given
        center: subtract the mean of all sentences, which they have in common
        vectors: file for those of a text; FILE.LAYERS.npy if not given
        index: make an index of faiss once and use it, such as Flat or IVF4096,SQfp16
        nprobe: lists of an index with IVF that a query searches; a sixteenth if not
            given
        overwrite: replace vectors and an index as soon as new ones are finished
    """
    in_parquet, outputs = is_parquet(file) or file.is_dir(), []
    if in_parquet and (vectors or layers is not None or (overwrite and not index)):
        raise ValueError(
            "--layers, --vectors, and --overwrite without --index, are for a text."
        )
    if nprobe is not None and index is None:
        raise ValueError("--nprobe is for --index.")
    layers = "mix" if layers is None else layers
    if in_parquet:
        vectors = file.absolute()
    else:
        vectors = vectors or file.with_name(f"{file.name}.{layers}.npy")
        outputs.append(vectors)
        if not is_npy(vectors):
            raise ValueError(f"--vectors should end in .npy. Received: {vectors}")
    if index is not None:
        import faiss  # noqa: F401, before the work: it may be missing

        name = re.sub(r"[^\w,()-]", "_", index)
        if center:
            name = f"centered.{name}"
        outputs.append(vectors.with_name(f"{vectors.name}.{name}.faiss"))
    for output in outputs:
        if overwrite or not output.is_file():  # else it is only read
            inputs = [file, *parts_of_model(model)]
            check_apart([output, metadata_file(output)], inputs)
            check_file(output)
    sentences = ParquetSentences(file) if in_parquet else TextSentences(file)
    if not len(sentences):
        raise ValueError(f"{file} holds no sentence.")
    name = str(sentences.metadata.get("layers", layers))
    chosen = int(name) if name.isdecimal() else name
    start_backend(choose_backend(model, arithmetic))
    embedder = Embedder(model, layers=chosen, pooling="mean", arithmetic=arithmetic)
    if index is not None:
        new_index(embedder.dim, index)
    sentences.prepare(embedder, vectors, overwrite=overwrite)
    if index is None:
        searched = ExactIndex(sentences.blocks(), center)
    else:
        make_index(sentences, outputs[-1], index, center=center, overwrite=overwrite)
        searched = FaissIndex(outputs[-1], sentences, nprobe)
    for tokens in _read_queries(query, embedder):
        print(f"Closest to: {' '.join(tokens)}")
        print(f" cosine {sentences.id_name:>8}  sentence")
        for row, cosine in zip(*searched.closest(embedder.encode([tokens])[0], top)):
            id, text = sentences.sentence(row)
            id = f"{id:,}" if isinstance(id, int) else id
            print(f"{cosine:7.3f} {id!s:>8}  {text}", flush=True)


def _read_queries(query, embedder):
    if not query:
        lines = lines_of(sys.stdin.buffer, "standard input")
        yield from filter(None, embedder.split(lines))
        return
    [tokens] = embedder.split(" ".join(query))
    if not tokens:
        raise ValueError("The query should have at least one token.")
    yield tokens


class TextSentences:
    """The lines of a text file, and the `.npy` file of their vectors, which `embed` makes."""

    id_name = "line"

    def __init__(self, path: Path):
        self._path = path
        with path.open("rb") as file:
            self._lines = list(lines_of(file, path))
        self.metadata = {"text": hashlib.sha256(b"".join(self._lines)).hexdigest()}

    def prepare(self, embedder: Embedder, vectors: Path, *, overwrite: bool) -> None:
        """Writes the vectors unless they exist; the same call resumes."""
        self.metadata |= embedder.metadata
        if overwrite or not vectors.exists():
            with stopping() as stop:
                summary = embed_corpus(
                    embedder,
                    self._path,
                    vectors,
                    overwrite=overwrite,
                    progress=True,
                    stop=stop.is_set,
                )
            if not summary.finished:
                raise KeyboardInterrupt
            write_metadata(vectors, self.metadata)
        check_metadata(vectors, self.metadata)
        self._vectors = open_npy(vectors)

    def __len__(self) -> int:
        return len(self._lines)

    def blocks(self) -> Iterator[np.ndarray]:
        """The vectors, block by block: `(rows, dim)`."""
        yield from np.array_split(self._vectors, 1 + len(self) // ROWS_AT_ONCE)

    def vectors(self, rows: Sequence[int]) -> np.ndarray:
        return self._vectors[rows]

    def sentence(self, row: int) -> tuple[Any, str]:
        """The number of a line, from 1, and the line."""
        return int(row) + 1, self._lines[row].decode().strip()


class ParquetSentences:
    """The rows of a file that `embed_corpus` writes with `pooling="mean"`, or of a folder."""

    id_name = "id"

    def __init__(self, path: Path):
        # pyarrow is imported only for Parquet.
        from elmo_keras.embed.writers.parquet import ParquetRows, schema_metadata

        self._paths = [path]
        if path.is_dir():  # but for temporary and hidden files
            files = path.glob("*.parquet")
            self._paths = sorted(file for file in files if file.name[0] not in "._")
        if not self._paths:
            raise FileNotFoundError(f"There are no .parquet files in {path}.")
        self._rows = ParquetRows(self._paths)
        self._metadata = list(map(schema_metadata, self._rows.schemas))
        stamps = list(map(file_stamp, self._paths))
        self.metadata = self._metadata[0] | {"files": stamps}
        for path, schema in zip(self._paths, self._rows.schemas):
            if missing := {"id", "text", "vector"} - {*schema.names}:
                raise ValueError(
                    f"{path} should have the columns of `embed --pooling mean`. Missing: "
                    f"{', '.join(sorted(missing))}"
                )

    def prepare(self, embedder: Embedder, *_, **__) -> None:
        """Refuses vectors that are not those of the embedder."""
        now = embedder.metadata | {"layers": str(embedder.engine.layers)}
        now = {name: now[name] for name in now if name not in ("dtype", "tokenizer")}
        for path, metadata in zip(self._paths, self._metadata):
            then = {name: metadata.get(name) for name in now}
            check_same_run(now, then, path, "Give the model that computed the vectors.")

    def __len__(self) -> int:
        return len(self._rows)

    def blocks(self) -> Iterator[np.ndarray]:
        first = 0
        while first < len(self):
            block, _ = self._read_block(first)
            yield block
            first += len(block)

    def vectors(self, rows: Sequence[int]) -> np.ndarray:
        blocks = map(self._read_block, rows)
        return np.stack([block[position] for block, position in blocks])

    def _read_block(self, row):
        """The vectors of the group that holds a row, and its position there."""
        group, position = self._rows.read_group(row, "vector")
        flat = group["vector"].flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(group), -1), position

    def sentence(self, row: int) -> tuple[Any, str]:
        """The id of a sentence, and its text."""
        group, position = self._rows.read_group(row, "id", "text")
        return group["id"][position].as_py(), group["text"][position].as_py()


def unit(vectors: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Vectors `(..., dim)` less the mean, divided by their lengths."""
    vectors = np.asarray(vectors, np.float32) - mean
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(norms, 1e-12)


def unit_blocks(
    blocks: Iterable[np.ndarray], mean: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The indices of rows that aren't 0, and their unit vectors, block by block."""
    first = 0
    for block in blocks:
        damaged = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(damaged):
            raise ValueError(
                f"The vector of row {first + damaged[0]:,}, counted from 0, is not finite. "
                "Embed the text again."
            )
        real = np.flatnonzero(block.any(axis=1))
        yield first + real, unit(block[real], mean)
        first += len(block)


def mean_vector(blocks: Iterable[np.ndarray]) -> np.ndarray:
    """The mean of the rows that aren't 0: `(dim,)`."""
    sums = ((b.sum(axis=0, dtype=np.float64), b.any(axis=1).sum()) for b in blocks)
    total, n_real = map(sum, zip(*sums))
    return np.asarray(total / max(1, n_real), np.float32)


class ExactIndex:
    """The vectors of sentences in memory; a query is compared with each.

    A sentence without tokens, whose vector is 0, is never a match. `center` subtracts the
    mean of all sentences: what they have in common brings all cosines near 1.
    """

    def __init__(self, blocks: Iterable[np.ndarray], center: bool = False):
        blocks = list(blocks)
        self._mean = center * mean_vector(blocks)
        parts = zip(*unit_blocks(blocks, self._mean))
        self._rows, self._unit = map(np.concatenate, parts)

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and cosines, the closest first."""
        cosines = self._unit @ unit(query, self._mean)
        order = np.argsort(-cosines, kind="stable")[:top]
        return self._rows[order], cosines[order]


class FaissIndex:
    """The vectors of sentences in a file that `make_index` made, mapped into memory.

    An index may hold vectors in fewer bits or dimensions: of the best ones the cosines are
    those of the stored vectors of `sentences`. faiss can crash on a file made to harm.
    """

    def __init__(
        self,
        path: Path,
        sentences: TextSentences | ParquetSentences,
        nprobe: int | None = None,
    ):
        import faiss

        self._sentences = sentences
        metadata = read_metadata(path)
        # faiss would crash on a mapped file that is cut short.
        if path.stat().st_size != metadata.get("bytes"):
            raise OtherRun(f"{path} is damaged. {ADVICE}")
        self._mean = np.array(metadata["mean"], np.float32)
        flags = faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY
        self.faiss = faiss.read_index(str(path), flags)
        if ivf := faiss.try_extract_index_ivf(self.faiss):
            default = max(FEWEST_LISTS, round(SHARE_OF_LISTS * ivf.nlist))
            ivf.nprobe = min(ivf.nlist, nprobe or default)

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and cosines, the closest first; fewer than `top` if the lists hold fewer."""
        n = min(RESCORED * top, self.faiss.ntotal)
        _, (rows,) = self.faiss.search(unit(query[None], self._mean), max(1, n))
        rows = rows[rows >= 0]
        if not len(rows):
            return rows, np.zeros(0, np.float32)
        vectors = unit(self._sentences.vectors(rows), self._mean)
        cosines = vectors @ unit(query, self._mean)
        order = np.argsort(-cosines, kind="stable")[:top]
        return rows[order], cosines[order]


def new_index(dim: int, description: str) -> "faiss.Index":
    """An index for cosines without vectors, such as "IVF1024,SQ8", which takes ids."""
    import faiss

    with naming_damage(
        f"--index should describe an index of faiss for {dim} numbers, such as "
        f"IVF1024,SQ8. Received: {description}."
    ):
        index = faiss.index_factory(dim, description, faiss.METRIC_INNER_PRODUCT)
        if isinstance(index, faiss.IndexIVF) and index.nlist < 1:
            raise ValueError("It has no lists.")
    takes_ids = isinstance(index, (faiss.IndexIVF, faiss.IndexIDMap))
    return index if takes_ids else faiss.IndexIDMap(index)


def make_index(
    sentences: TextSentences | ParquetSentences,
    path: Path,
    description: str,
    *,
    center: bool = False,
    overwrite: bool = False,
) -> None:
    """Makes the file of a `FaissIndex`, unless it exists."""
    rows, source = len(sentences), json.dumps(sentences.metadata).encode()
    digest = hashlib.sha256(source).hexdigest()
    metadata = {"vectors": digest, "rows": rows, "index": description, "center": center}
    if not overwrite and path.exists():
        check_metadata(path, metadata)
        return
    import faiss

    mean = center * mean_vector(sentences.blocks())
    index = new_index(len(mean), description)
    if not index.is_trained:
        ivf = faiss.try_extract_index_ivf(index)
        step = max(1, rows // (TRAINED_ON * (ivf.nlist if ivf else LISTS)))
        blocks = unit_blocks(sentences.blocks(), mean)
        sample = np.concatenate([vectors[::step] for _, vectors in blocks])
        few = f"{len(sample):,} sentences are too few to train this index."
        with naming_damage(few):
            index.train(sample)
    with Progress(total=rows, unit=" rows") as progress:
        for real, vectors in unit_blocks(sentences.blocks(), mean):
            index.add_with_ids(vectors, real)
            progress.update(len(real))
    with replacing(path) as temporary:
        try:
            faiss.write_index(index, str(temporary))
        except RuntimeError as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        metadata |= {"mean": mean.tolist(), "bytes": temporary.stat().st_size}
        path.unlink(missing_ok=True)  # an index never has the metadata of another
        write_metadata(path, metadata)


def metadata_file(file: Path) -> Path:
    """The file that says what vectors or an index were made from: FILE.json."""
    return file.with_name(f"{file.name}.json")


def write_metadata(file: Path, metadata: Mapping[str, Any]) -> None:
    with replacing(metadata_file(file)) as path:
        path.write_text(json.dumps(metadata))


def read_metadata(file: Path) -> dict[str, Any]:
    path = metadata_file(file)
    if not path.exists():
        raise OtherRun(f"{path}, which says what made {file}, is missing. {ADVICE}")
    return read_options(path)


def check_metadata(file: Path, now: Mapping[str, Any]) -> None:
    """Refuses a file that was made from something else than its metadata says."""
    then = read_metadata(file)
    check_same_run(now, {name: then.get(name) for name in now}, file, ADVICE)
