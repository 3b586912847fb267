"""Sentences and their vectors in Parquet files."""

import bisect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from elmo_keras.analyses.search.parquet_vectors import ParquetVectors
from elmo_keras.elmo import Elmo
from elmo_keras.embed.arrow_rows import ID, TEXT, about_of
from elmo_keras.embed.model_digest import model_digest

SAME = "model", "layers", "pooling"  # in all files of a folder


class Sentence(NamedTuple):
    """The id and the text of a row."""

    id: Any
    text: str


class ParquetSentences(Sequence):
    """The rows of a Parquet file, or of all `.parquet` files of a folder.

    `len(sentences)`, `sentences[i]`: a `Sentence`, read when it is used. A `with`
    block closes the files.

    Args:
        path: the file or folder, in which names that begin with `.` or `_` are
            skipped. Each file has the columns `id`, `text` and `vector`,
            as `embed_corpus` writes them with `pooling`.

    Attributes:
        about: what the first file says about its vectors, see `arrow_rows.about_of`.

    Raises:
        FileNotFoundError: there is no such file, or none in the folder.
        ValueError: a file is no Parquet file with these columns, or the files hold
            vectors of different models or sizes.
    """

    def __init__(self, path: Path):
        self._path, self._paths = path, _paths(path)
        self._files = [_opened(path) for path in self._paths]
        self.about = about_of(self._files[0].schema_arrow)
        self._check()
        groups = [(file, i) for file in self._files for i in range(file.num_row_groups)]
        lengths = [file.metadata.row_group(i).num_rows for file, i in groups]
        self._groups, self._ends = groups, np.cumsum([0, *lengths]).tolist()
        self._read = -1, None

    def _check(self):
        first = self._files[0].schema_arrow.field("vector").type
        for path, file in zip(self._paths, self._files):
            schema, about = file.schema_arrow, about_of(file.schema_arrow)
            same = all(about.get(key) == self.about.get(key) for key in SAME)
            if schema.field("vector").type != first or not same:
                raise ValueError(
                    f"{path} has vectors of another model, layer, pooling or size than "
                    f"{self._paths[0]}."
                )

    def vectors(self) -> ParquetVectors:
        """The vectors of all rows, `(sentences, dim)`, read when they are used."""
        kind = self._files[0].schema_arrow.field("vector").type
        return ParquetVectors(self._groups, kind)

    def stamps(self) -> list[list[Any]]:
        """Name, size and time of change of each file: equal if nothing was written."""
        states = [path.stat() for path in self._paths]
        return [
            [path.name, state.st_size, state.st_mtime_ns]
            for path, state in zip(self._paths, states)
        ]

    def layers_of(self, elmo: Elmo) -> str | int:
        """The layers whose means the vectors are.

        Args:
            elmo: the model that should have computed them.

        Raises:
            ValueError: another model computed them, or they are no such means.
        """
        if self.about.get("model") != model_digest(elmo):
            raise ValueError(
                f"{self._path} has the vectors of another model. Give the model that "
                "computed them."
            )
        layers, pooling = self.about.get("layers"), self.about.get("pooling")
        if pooling != "mean" or layers in ("all", "mix"):
            raise ValueError(
                f"{self._path} should have the means over tokens of the average of the "
                f"layers, the top or another layer. It has {layers}, {pooling}."
            )
        return int(layers) if layers.isdecimal() else layers

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, i: int) -> Sentence:
        group = bisect.bisect_right(self._ends, i) - 1
        if self._read[0] != group:
            file, number = self._groups[group]
            self._read = group, file.read_row_group(number, [ID, TEXT])
        table, row = self._read[1], i - self._ends[group]
        return Sentence(table[ID][row].as_py(), table[TEXT][row].as_py())

    def __enter__(self) -> "ParquetSentences":
        return self

    def __exit__(self, *_):
        for file in self._files:
            file.close()


def _paths(path):
    """The file, or those of the folder that are no temporary or hidden ones."""
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.glob("*.parquet") if p.name[0] not in "._")
    if not found:
        raise FileNotFoundError(f"There are no .parquet files in {path}.")
    return found


def _opened(path):
    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{path} should be a Parquet file. {error}") from error
    schema = file.schema_arrow
    missing = {ID, TEXT, "vector"} - set(schema.names)
    if missing or not pa.types.is_fixed_size_list(schema.field("vector").type):
        raise ValueError(
            f"{path} should have the columns `{ID}`, `{TEXT}` and `vector`, one vector "
            "of each sentence, as `embed --pooling mean` writes them. Found: "
            f"{', '.join(schema.names)}"
        )
    return file
