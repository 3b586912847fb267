"""The sentences that are searched, and their vectors."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.base.files import check_same_run, file_stamp
from elmo_keras.commands.command import stopping
from elmo_keras.embed.corpus import embed_corpus
from elmo_keras.embed.embedder import SWITCHES, Embedder
from elmo_keras.embed.writers.npy import open_npy
from elmo_keras.jobs.parts import check_part
from elmo_keras.search.find import ROWS_AT_ONCE
from elmo_keras.text.files import lines_of

ADVICE = "--overwrite makes it anew."
NO_SWITCHES = dict.fromkeys(SWITCHES)  # metadata only have switches that are on


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
                    made_from=self.metadata,
                    overwrite=overwrite,
                    progress=True,
                    stop=stop.is_set,
                )
                if not summary.finished:
                    raise KeyboardInterrupt
        check_part(vectors, NO_SWITCHES | self.metadata, ADVICE)
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
        if path.is_dir():  # temporary and hidden files are left out
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
        now = NO_SWITCHES | embedder.metadata | {"layers": str(embedder.engine.layers)}
        now = {name: now[name] for name in now if name not in ("dtype", "tokenizer")}
        advice = "Give the model and the options that computed the vectors."
        for path, metadata in zip(self._paths, self._metadata):
            then = {name: metadata.get(name) for name in now}
            check_same_run(now, then, path, advice)

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


Sentences = TextSentences | ParquetSentences
