"""An index of faiss over vectors, in a file."""

import errno
import hashlib
import json
from pathlib import Path

import faiss
import numpy as np

from elmo_keras.base.files import naming_damage, replacing
from elmo_keras.base.progress import Progress
from elmo_keras.jobs.parts import check_part, make_part
from elmo_keras.search.find import Matches, mean_vector, unit, unit_blocks
from elmo_keras.search.sentences import ADVICE, Sentences

TRAINED_ON = 64  # vectors for each list of an IVF
LISTS = 1024  # an index without lists is trained like one with these
SHARE_OF_LISTS, FEWEST_LISTS = 1 / 16, 16  # lists that a query searches
RESCORED = 4  # times the number of results that a query asks for


class FaissIndex:
    """The vectors of sentences in a file that is made once and mapped into memory.

    An index may hold vectors in fewer bits or dimensions: the best ones get the cosines of
    the stored vectors of `sentences`. faiss can crash on a malicious file.
    """

    def __init__(
        self,
        path: Path,
        sentences: Sentences,
        description: str,
        *,
        center: bool = False,
        nprobe: int | None = None,
        overwrite: bool = False,
    ):
        source = json.dumps(sentences.metadata).encode()
        metadata = {
            "vectors": hashlib.sha256(source).hexdigest(),
            "rows": len(sentences),
            "index": description,
            "center": center,
        }
        if overwrite or not path.exists():
            _make_index(sentences, path, metadata)
        # faiss would crash on a mapped file that is cut short.
        mean = check_part(path, metadata, ADVICE)["mean"]
        self._sentences, self._mean = sentences, np.array(mean, np.float32)
        flags = faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY
        self.faiss = faiss.read_index(str(path), flags)
        if ivf := faiss.try_extract_index_ivf(self.faiss):
            default = max(FEWEST_LISTS, round(SHARE_OF_LISTS * ivf.nlist))
            ivf.nprobe = min(ivf.nlist, nprobe or default)

    def closest(self, query: np.ndarray, top: int) -> Matches:
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


def new_index(dim: int, description: str) -> faiss.Index:
    """An index for cosines without vectors, such as "IVF1024,SQ8", which takes ids."""
    with naming_damage(
        f"--index should describe an index of faiss for {dim} numbers, such as "
        f"IVF1024,SQ8. Received: {description}."
    ):
        index = faiss.index_factory(dim, description, faiss.METRIC_INNER_PRODUCT)
        if isinstance(index, faiss.IndexIVF) and index.nlist < 1:
            raise ValueError("It has no lists.")
    takes_ids = isinstance(index, (faiss.IndexIVF, faiss.IndexIDMap))
    return index if takes_ids else faiss.IndexIDMap(index)


def _make_index(sentences, path, metadata):
    rows, first = len(sentences), next(iter(sentences.blocks()))
    index = new_index(first.shape[1], metadata["index"])
    mean = np.zeros(index.d, np.float32)
    if metadata["center"]:
        mean = mean_vector(sentences.blocks())
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
        make_part(temporary, metadata | {"mean": mean.tolist()})
