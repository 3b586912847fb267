"""Search for sentences by their mean vectors."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.cli.outputs import check_apart, check_file, check_folder
from elmo_keras.cli.replacing import replacing
from elmo_keras.elmo import Elmo
from elmo_keras.embed import embed_corpus
from elmo_keras.embed.model_digest import model_digest
from elmo_keras.embed.parts import folder_of
from elmo_keras.embed.vector_files import is_npy
from elmo_keras.published_options import read_options

ROWS_AT_ONCE = 2**14


class SearchIndex:
    """The mean vectors of sentences, searched by cosine.

    Args:
        vectors: `(sentences, dim)`, a memory map if there are many; 0 for a sentence
            without tokens, which is never found.
        center: whether to subtract the mean of all sentences first. Mean vectors share
            what every sentence has, such as articles and a full stop, so that their
            cosines are all near 1; the difference from the mean is what distinguishes a
            sentence.
    """

    def __init__(self, vectors: np.ndarray, center: bool = False):
        self.vectors = vectors
        self.real = np.concatenate([np.zeros(0, bool), *self._of_all(_any)])
        self.mean = np.zeros(vectors.shape[1], np.float32)
        if center:
            sums = self._of_all(lambda rows: rows.sum(axis=0, dtype=np.float64))
            self.mean += np.sum([self.mean, *sums], axis=0) / max(1, self.real.sum())
        self.norms = np.concatenate([np.zeros(0), *self._of_all(self._norms)])

    def closest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The sentences closest to a query.

        Args:
            query: `(dim,)`.
            top: the number of sentences.

        Returns:
            Their indices and cosines, the closest first.
        """
        query = np.asarray(query - self.mean, np.float32)
        # `(rows - mean) @ query` would copy all rows.
        products = self._of_all(lambda rows: _float32(rows) @ query)
        cosines = np.concatenate([np.zeros(0), *products]) - self.mean @ query
        cosines /= np.maximum(self.norms * np.linalg.norm(query), 1e-12)
        cosines[~self.real] = -np.inf
        top = min(top, self.real.sum())
        order = np.argpartition(-cosines, top - 1)[:top] if top else np.zeros(0, int)
        order = order[np.lexsort((order, -cosines[order]))]
        return order, cosines[order]

    def _of_all(self, function):
        for first in range(0, len(self.vectors), ROWS_AT_ONCE):
            yield function(self.vectors[first : first + ROWS_AT_ONCE])

    def _norms(self, rows):
        return np.linalg.norm(_float32(rows) - self.mean, axis=1)


def _float32(rows):
    return rows.astype(np.float32, copy=False)


def _any(rows):
    return rows.any(axis=1)


def mean_vector(elmo: Elmo, tokens: Sequence[str], layers: str | int) -> np.ndarray:
    """The mean vector of a sentence's tokens, as in the index: `(dim,)`.

    Args:
        elmo: computes the vectors.
        tokens: one or more.
        layers: `"average"`, `"top"` or the index of a layer.
    """
    means = elmo.layers([list(tokens)])[0].numpy().mean(axis=1)  # (layers, dim)
    if layers == "average":
        return means.mean(axis=0)
    return means[-1 if layers == "top" else layers]


def check_index(index: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Checks before the work whether an index can be made, or is there already.

    Args:
        index: see `make_index`.
        inputs: files and folders that are read.
        overwrite: see `make_index`.

    Raises:
        ValueError: the name has another suffix, or the index would change an input
            or can't be written.
        OSError: the disk is full or fails.
    """
    if not is_npy(index):
        raise ValueError(f"--index should end in .npy. Received: {index}")
    if index.is_file() and not overwrite:  # it is only read
        return
    files = index, note_of_index(index)
    check_apart([*files, folder_of(index)], inputs)
    for path in files:
        check_file(path)
    check_folder(folder_of(index))


def make_index(
    elmo: Elmo,
    source: Path,
    index: Path,
    *,
    digest: str,
    layers: str | int = "average",
    overwrite: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Makes the file of a text's mean vectors, unless it exists.

    Args:
        elmo: computes the vectors.
        source: text, one sentence a line.
        index: a path that ends in `.npy`. A note next to it, with `.json` after the
            name, records what it was made from.
        digest: SHA-256 of the text.
        layers: `"average"`, `"top"` or the index of a layer.
        overwrite: whether to replace an index that exists, which stays until the new
            one is finished.
        stop: called after every batch; the call ends if it returns True.

    Returns:
        Whether the index is finished. If not, the same call resumes.

    Raises:
        ValueError: the index is of another text, model or layers; or as in
            `embed_corpus`.
    """
    made_of = {"text": digest, "model": model_digest(elmo), "layers": str(layers)}
    note, replaces = note_of_index(index), index.exists()
    if not overwrite and _begun(index):
        _check(index, note, made_of)
    if replaces and not overwrite:
        return True
    if not replaces:  # so that an index never lacks its note
        _write_note(note, made_of)
    try:
        options = {"layers": layers, "overwrite": overwrite, "stop": stop}
        finished = embed_corpus(elmo, source, index, verbose=1, **options).finished
        if finished and replaces:
            _write_note(note, made_of)
        return finished
    finally:
        if not _begun(index):
            note.unlink()


def note_of_index(index: Path) -> Path:
    """The file with what an index was made from."""
    return index.with_name(f"{index.name}.json")


def _write_note(note, made_of):
    with replacing(note) as path:
        path.write_text(json.dumps(made_of))


def _begun(index):
    return index.exists() or folder_of(index).exists()


def _check(index, note, made_of):
    found = read_options(note) if note.exists() else {}
    differ = [name for name, value in made_of.items() if found.get(name) != value]
    if differ:
        raise ValueError(
            f"{index} is the index of another {' and '.join(differ)}. Give another "
            "--index, or --overwrite it."
        )
