"""ELMo by compiled LiteRT graphs: words to vectors, sentences to layers."""

import concurrent.futures
import functools
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.config import ElmoConfig
from elmo_keras.lite.lite_file import LiteFile, read_lite, whole
from elmo_keras.lite.lstm import LiteLstm
from elmo_keras.lite.runtime import CompiledModel, aligned
from elmo_keras.text.word_ids import PADDING, WordIds


class LiteElmo:
    """The biLM of a `.tflite` file, on one thread or on one for each direction.

    A word or a sentence has the same vectors alone and in any batch. Several threads
    can use one object, one after another.
    """

    def __init__(self, file: LiteFile, threads: int | None = None):
        self.metadata = file.metadata
        self.config = ElmoConfig(**file.metadata["config"])
        _check(self.config, file)
        self._tokens = _Tokens(self.config, file)
        steps = {int(rows): s for rows, s in file.metadata["steps"].items()}
        dim = self.config.projection_dim
        sizes = [(dim, self.config.units)] * self.config.n_layers
        self._lstms = [
            (LiteLstm(file.graphs[name], steps, dim, sizes), name == "backward")
            for name in ("forward", "backward")
        ]
        self._threads = threads or min(2, os.cpu_count() or 1)
        self._lock, self._other = threading.RLock(), None

    @classmethod
    def read(
        cls, path: Path, threads: int | None = None, *, mapped: bool = True
    ) -> "LiteElmo":
        file = read_lite(path, mapped=mapped)
        with whole(path):
            return cls(file, threads)

    def word_vectors(self, words: Sequence[bytes]) -> np.ndarray:
        """Context-independent: float32 `(words, projection_dim)`."""
        with self._lock:
            return self._tokens.vectors(words, self._run_both)

    def layers_of_vectors(
        self, x: np.ndarray, lengths: np.ndarray, *, keep_boundaries: bool = False
    ) -> np.ndarray:
        """All layers of flat sentences: float32 `(n_layers + 1, tokens, 2 · projection_dim)`.

        `x` are the vectors `(tokens + 2 · sentences, projection_dim)`, with those of the
        boundaries around each sentence, which `lengths` `(sentences,)` leave out, and
        the result too, unless they are kept.
        """
        dim, counts = x.shape[1], lengths + 2
        starts = np.cumsum(counts) - counts
        rows = np.arange(len(x))
        if not keep_boundaries:
            rows = np.delete(rows, np.concatenate([starts, starts + counts - 1]))
        # One more row receives outputs that belong to no token.
        targets = np.full(len(x), len(rows))
        targets[rows] = np.arange(len(rows))
        shape = self.config.n_layers + 1, len(rows) + 1, 2 * dim
        layers = np.empty(shape, np.float32)

        def job(lstm, is_backward):
            half = layers[..., dim:] if is_backward else layers[..., :dim]
            half[0, :-1] = x[rows]
            # The last boundary of each direction is read if it is kept.
            first = 0 if keep_boundaries else int(is_backward)
            n = counts if keep_boundaries else counts - 1
            lstm.run(x, starts + first, n, targets, half[1:], backward=is_backward)

        with self._lock:
            self._run_both([functools.partial(job, *pair) for pair in self._lstms])
        return layers[:, :-1]

    def _run_both(self, jobs):
        if self._threads == 1:
            for job in jobs:
                job()
            return
        if self._other is None or self._other[0] != os.getpid():  # also after a fork
            pool = concurrent.futures.ThreadPoolExecutor(1, "elmo-lite")
            self._other = os.getpid(), pool
        first, second = jobs
        future = self._other[1].submit(second)
        try:
            first()
        finally:
            future.result()


def _check(config, file):
    """Refuses parts that don't fit each other, such as those of two models."""
    shapes, characters = {}, 0
    dictionary = config.dictionary
    if config.has_characters:
        rows = dictionary.n_characters if dictionary else PADDING + 1
        shapes["characters"] = rows + 1, config.char_embedding_dim
        characters = config.max_characters_per_token
    if config.word_embedding_dim:
        shapes["words"] = dictionary.n_words, config.word_embedding_dim
    if (
        {name: array.shape for name, array in file.arrays.items()} != shapes
        or len(file.metadata["mix"]["mix"]) != config.n_layers + 1
        or file.metadata["characters"][-1] != characters
    ):
        raise ValueError("Its parts don't fit each other.")
    mix = file.metadata["mix"]
    arrays = file.arrays | {"mix": mix["mix"], "gamma": mix["gamma"]}
    for name, array in arrays.items():
        if not np.isfinite(array).all():  # int8 would make it an ordinary number
            raise ValueError(f"`{name}` should hold finite numbers.")


class _Tokens:
    """The token representation: a signature for each number of words and characters."""

    def __init__(self, config, file):
        self._config, self._graph = config, file.graphs["tokens"]
        self._tables = file.arrays
        self._rows = file.metadata["words"]
        self._characters = np.array(file.metadata["characters"])
        self._ids = WordIds(config)
        self._models, self._bound = [CompiledModel(self._graph)], [{}, {}]

    def vectors(self, words, run_both):
        ids, ends = self._ids(words)
        result = np.empty((len(words), self._config.projection_dim), np.float32)
        jobs = queue.SimpleQueue()
        for job in (*self._jobs(ends), None, None):  # each thread ends at a None
            jobs.put(job)
        if len(words) <= self._rows[-1]:
            self._work(0, jobs, ids, result)
            return result
        if len(self._models) == 1:
            self._models.append(CompiledModel(self._graph))
        run_both([lambda i=i: self._work(i, jobs, ids, result) for i in range(2)])
        return result

    def _jobs(self, ends) -> Iterator[tuple[int, np.ndarray]]:
        """Counts of characters, and the indices of words that have no more."""
        widest = max((width for width, _ in self._config.filters), default=0)
        # With one window of padding after the word.
        needed = np.minimum(ends + widest, self._characters[-1])
        sizes = np.searchsorted(self._characters, needed)
        for size, characters in enumerate(self._characters):
            words = np.flatnonzero(sizes == size)
            for first in range(0, len(words), self._rows[-1]):
                yield int(characters), words[first : first + self._rows[-1]]

    def _work(self, model, jobs, ids, result):
        has_words = bool(self._config.word_embedding_dim)
        for characters, words in iter(jobs.get, None):
            rows = next(r for r in self._rows if r >= len(words))
            run, arrays = self._bound_to(model, rows, characters)
            if has_words:
                arrays["words"][: len(words)] = self._tables["words"][ids[words, 0] - 1]
            if characters:
                columns = slice(has_words, has_words + characters)
                vectors = self._tables["characters"][ids[words, columns]]
                arrays["characters"][: len(words)] = vectors
            run()
            result[words] = arrays["y"][: len(words)]

    def _bound_to(self, model, rows, characters):
        bound = self._bound[model]
        if (rows, characters) not in bound:
            config = self._config
            arrays = {"y": aligned(rows, config.projection_dim)}
            if config.word_embedding_dim:
                arrays["words"] = aligned(rows, config.word_embedding_dim)
            if characters:
                dim = config.char_embedding_dim
                arrays["characters"] = aligned(rows, characters, dim)
            run = self._models[model].bind(f"w{rows}_{characters}", arrays)
            bound[rows, characters] = run, arrays
        return bound[rows, characters]
