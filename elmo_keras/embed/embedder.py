"""ELMo vectors of any sentences, for programs."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elmo_keras.argument_checks import check_counts
from elmo_keras.embed.sentence_vectors import SentenceVectors
from elmo_keras.embed.word_vectors import N_BOUNDARIES, WordTable, WordVectors
from elmo_keras.hub.local_files import absolute
from elmo_keras.text.length_batches import balanced_batches, chunks, in_turn
from elmo_keras.text.sentences import Sentence, plain, tokens_of_sentences
from elmo_keras.util.fingerprint import installed_version
from elmo_keras.util.progress import Progress

if TYPE_CHECKING:  # TensorFlow is imported by the models that need it
    from elmo_keras.elmo import Elmo

LITE = ".tflite"  # suffix of a file for LiteRT
BATCHES_AT_ONCE = 8  # how many batches of sentences are sorted together


class Batch(NamedTuple):
    """Sentences of similar length that are embedded together."""

    sentences: list[int]  # the number of each, from 0 over all that are read
    lengths: np.ndarray  # int64 (sentences,), the number of tokens of each
    words: np.ndarray  # int32, the numbers of their words, each with <S> and </S>
    table: WordTable  # the words that have these numbers
    n_new: int  # words that are new with this batch and those sorted with it


class Embedder:
    """Computes the ELMo vectors of sentences as NumPy arrays.

    Sentences are sorted by length and packed without padding, and the
    context-independent vectors of words are kept from one call to the next. There is
    no other state: a sentence has the same vectors in any call.

    Several threads can use one embedder. Its pickle holds the path or name of the
    model, not the weights; another process reads the model at the first use.

    Args:
        model: a model that `Elmo.from_pretrained` reads; a `.tflite` file of `export
            --format litert`, which takes neither TensorFlow nor Keras; or an `Elmo`
            layer, whose weights must not change any more. An embedder of a layer
            can't be pickled.
        weights: the path of published HDF5 weights, if `model` is an `options.json`.
        layers: `"average"`, `"all"`, `"top"`, `"mix"` (the first mix of the `Elmo`
            layer), the index of a layer, or the weights of a mix before the softmax,
            one number for each layer.
        gamma: the factor of the mix; by default 1, or that of the model's own mix.
        pooling: None for a vector of each token; `"mean"` or `"max"` for one vector
            of each sentence, over its tokens, 0 if it has none.
        dtype: dtype of the arrays, `"float32"` or `"float16"`.
        arithmetic: `"int8"`: LiteRT computes, without TensorFlow, from a file that is
            made in the cache at the first use. Or Keras' dtype policy: `"float32"`,
            the default, `"bfloat16"` or `"mixed_bfloat16"`.
        tokenizer: splits a `str` into tokens; by default at ASCII white space.
        tokens_at_once: about how many tokens are computed together, by default 8192, or
            2048 with LiteRT.
        cache_bytes: about how much memory is used to keep the vectors of words.
        threads: with LiteRT, 1 or 2: by default one for each direction.
        jit_compile: has no effect any more.

    Raises:
        FileNotFoundError: a file of the model is missing; the message names it.
        ValueError: an argument is out of range, or a file of the model doesn't fit.
        TypeError: the model is neither a layer nor a path, a name or an address.

    Example:

    >>> from elmo_keras import Elmo, ElmoConfig
    >>> embedder = Embedder(Elmo(ElmoConfig.preset("test")), pooling="mean")
    >>> embedder(["A short sentence .", ["Two", "tokens"]]).shape
    (2, 10)
    """

    def __init__(
        self,
        model: "str | Path | Elmo",
        weights: str | Path | None = None,
        layers: str | int | Sequence[float] = "average",
        *,
        gamma: float | None = None,
        pooling: str | None = None,
        dtype: str = "float32",
        arithmetic: str | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        tokens_at_once: int | None = None,
        cache_bytes: int = 2**28,
        threads: int | None = None,
        jit_compile: bool | None = None,
    ):
        if gamma is not None and isinstance(layers, (str, int)) and layers != "mix":
            raise ValueError(
                "`gamma` is the factor of a mix: give `layers='mix'`, or the weights of "
                f"one. Received: gamma={gamma} with layers={layers!r}"
            )
        check_counts(most=2**63 - 1, cache_bytes=cache_bytes)
        if tokens_at_once is not None:
            check_counts(tokens_at_once=tokens_at_once)
        if threads is not None:
            check_counts(threads=threads)
        if not (tokenizer is None or callable(tokenizer)):
            raise ValueError(f"`tokenizer` should be callable. Received: {tokenizer!r}")
        is_layer = hasattr(model, "bilm")
        if is_layer and not (weights is None and arithmetic is None):
            raise ValueError(
                "`weights` and `arithmetic` belong to a model that is read. Received "
                "them with an `Elmo` layer."
            )
        is_lite = by_litert(model, arithmetic)
        settings = {
            "model": model if is_layer else absolute(model),
            "weights": None if weights is None else absolute(weights),
            "layers": tuple(layers) if np.ndim(layers) == 1 else layers,
            "gamma": gamma,
            "pooling": pooling,
            "dtype": dtype,
            "arithmetic": arithmetic,
            "tokenizer": tokenizer,
            "tokens_at_once": tokens_at_once or (2**11 if is_lite else 2**13),
            "cache_bytes": cache_bytes,
            "threads": threads,
        }
        self.__setstate__({"settings": settings, "fingerprint": None})
        self._load()

    def __call__(
        self, sentences: str | Iterable[Sentence]
    ) -> np.ndarray | list[np.ndarray]:
        """The vectors of sentences: `encode` without its options."""
        return self.encode(sentences)

    def encode(
        self,
        sentences: str | Iterable[Sentence],
        *,
        normalize: bool = False,
        show_progress_bar: bool = False,
    ) -> np.ndarray | list[np.ndarray]:
        """The vectors of sentences, in their order.

        Args:
            sentences: each a `str` or a list of its tokens. One `str` is a single
                sentence. Arrays, columns and tensors of strings will do, from NumPy,
                pandas, pyarrow and TensorFlow; `""` pads rows of two dimensions.
            normalize: whether each vector is divided by its Euclidean length.
            show_progress_bar: whether to show tokens, rate and time left.

        Returns:
            A list of arrays, one for each sentence: `(tokens, dim)`, or `(layers,
            tokens, dim)` for all layers. With `pooling`, one array `(sentences, dim)`
            or `(sentences, layers, dim)`. For one `str`, its array alone.

        Raises:
            TypeError: a sentence is neither a `str` nor a list of tokens, such as in a
                table, a mapping or numbers.
            ValueError: a token is empty or not UTF-8.
        """
        sentences = plain(sentences)
        if isinstance(sentences, (str, bytes)):
            return self.encode([sentences], normalize=normalize)[0]
        arrays = self.stream(
            sentences, normalize=normalize, show_progress_bar=show_progress_bar
        )
        if self.vectors.pooling is None:
            return list(arrays)
        row = np.dtype((self.vectors.dtype, self.vectors.shape))
        return np.fromiter(arrays, row)

    def stream(
        self,
        sentences: str | Iterable[Sentence],
        *,
        normalize: bool = False,
        show_progress_bar: bool = False,
    ) -> Iterator[np.ndarray]:
        """Yields the array of each sentence in turn, within bounded memory.

        Arguments and errors are those of `encode`; an iterator is read as the arrays
        are needed.
        """
        sentences = plain(sentences)
        if isinstance(sentences, (str, bytes)):
            sentences = [sentences]
        n_sentences = len(sentences) if hasattr(sentences, "__len__") else None
        tokens = tokens_of_sentences(sentences, self._settings["tokenizer"])
        n_done = 0

        def computed():
            nonlocal n_done
            for batch in self.batches(tokens):
                arrays = self.vectors_of(batch)
                n_done += len(arrays)
                share = n_sentences and n_done / n_sentences
                progress.add(int(batch.lengths.sum()), share)
                yield from zip(batch.sentences, arrays)

        with Progress(disable=not show_progress_bar) as progress:
            for array in in_turn(computed()):
                yield _normalized(array) if normalize else array

    def batches(self, sentences: Iterable[Sequence[bytes]]) -> Iterator[Batch]:
        """Yields sentences of UTF-8 tokens in batches, which depend on nothing else."""
        self._load()
        n_tokens, first = self._settings["tokens_at_once"], 0
        at_once = BATCHES_AT_ONCE * n_tokens
        for chunk in chunks(sentences, at_once, lambda s: len(s) + N_BOUNDARIES):
            table, numbers, n_new = self._words.numbered(chunk)
            lengths = np.array([len(of_sentence) for of_sentence in numbers])
            for batch in balanced_batches(lengths, n_tokens):
                words = np.concatenate([numbers[i] for i in batch])
                sentences = [first + i for i in batch]
                without_boundaries = lengths[batch] - N_BOUNDARIES
                yield Batch(sentences, without_boundaries, words, table, n_new)
                n_new = 0
            first += len(chunk)

    def vectors_of(self, batch: Batch) -> list[np.ndarray]:
        """The array of each sentence of a batch of `batches`."""
        return self.vectors.of(batch.table.of(batch.words), batch.lengths)

    @property
    def vectors(self) -> SentenceVectors:
        """What computes the vectors of a batch; it knows their layers and shape."""
        self._load()
        return self._vectors

    @property
    def elmo(self) -> "Elmo":
        """The layer that computes the vectors; LiteRT has none."""
        return self.vectors.elmo

    @property
    def dim(self) -> int:
        """The size of a vector, `2 · projection_dim`."""
        return 2 * self.vectors.config.projection_dim

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the vectors depend on, as JSON values."""
        vectors, tokenizer = self.vectors, self._settings["tokenizer"]
        mix = vectors.mix if vectors.layers == "mix" else {}
        return mix | {
            "model": vectors.model,
            "layers": vectors.layers,
            "dtype": vectors.dtype,
            "arithmetic": vectors.arithmetic,
            "pooling": vectors.pooling,
            "tokenizer": getattr(tokenizer, "__qualname__", None),
        }

    def about_file(self, shard: str = "1/1") -> dict[str, Any]:
        """What every file of these vectors says about them, as JSON values."""
        sizes = {
            name: self._settings[name] for name in ("tokens_at_once", "cache_bytes")
        }
        version = installed_version("elmo-keras") or "(not installed)"
        about = self.identity | {"shard": shard} | sizes | {"elmo_keras": version}
        del about["pooling"], about["tokenizer"]
        return about | {"layers": str(about["layers"])}

    def about_rows(self, *, texts: bool) -> dict[str, Any]:
        """What a Parquet file says besides, with a column of texts or without."""
        options = self.vectors.config.to_summary()
        return {"pooling": self.vectors.pooling, "texts": texts, "options": options}

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the vectors depend on, equal in all processes."""
        if self._fingerprint is None:
            text = json.dumps(self.identity, sort_keys=True)
            self._fingerprint = hashlib.sha256(text.encode()).hexdigest()
        return self._fingerprint

    def _load(self):
        with self._lock:
            if self._vectors is None:
                self._read(**self._settings)
                # Only an embedder that was pickled needs the hash of all weights.
                if self._expected and self._expected != self.fingerprint:
                    self._vectors = None
                    raise ValueError(
                        f"{self._settings['model']} has changed since the embedder was "
                        "pickled. Make the embedder again."
                    )

    def _read(self, model, weights, arithmetic, threads, **settings):
        chosen = {k: settings[k] for k in ("layers", "gamma", "dtype", "pooling")}
        if by_litert(model, arithmetic):
            from elmo_keras.embed.lite_vectors import LiteVectors
            from elmo_keras.lite.cache import converted

            is_file = Path(model).suffix == LITE
            if is_file and weights:
                raise ValueError(f"{model} holds its weights. Leave out {weights}.")
            path = Path(model) if is_file else converted(model, weights)
            self._vectors = LiteVectors(path, threads=threads, **chosen)
            found = self._vectors.arithmetic.split()[0]
            if arithmetic not in (None, found):
                raise ValueError(
                    f"{model} was exported with arithmetic {found}. Received: "
                    f"{arithmetic}. Leave it out, or export the model again."
                )
        else:
            from elmo_keras.elmo import Elmo
            from elmo_keras.embed.tensorflow_vectors import TensorFlowVectors

            if isinstance(model, str):
                dtype = "float32" if arithmetic is None else arithmetic
                model = Elmo.from_pretrained(model, weights=weights, dtype=dtype)
            self._vectors = TensorFlowVectors(model, **chosen)
        self._words = WordVectors(self._vectors, settings["cache_bytes"])

    def __hash__(self):
        return int(self.fingerprint[:15], 16)

    def __eq__(self, other):
        same_kind = isinstance(other, Embedder)
        return self.fingerprint == other.fingerprint if same_kind else NotImplemented

    def __getstate__(self):
        if not isinstance(self._settings["model"], str):
            raise TypeError(
                "An `Embedder` of an `Elmo` layer can't be pickled. Make it from the "
                "path or the name of a model."
            )
        return {"settings": self._settings, "fingerprint": self.fingerprint}

    def __setstate__(self, state):
        self._settings = state["settings"]
        self._expected, self._fingerprint = state["fingerprint"], None
        self._vectors, self._lock = None, threading.RLock()


def by_litert(model: Any, arithmetic: str | None) -> bool:
    is_path = isinstance(model, (str, os.PathLike))
    return arithmetic == "int8" or (is_path and Path(model).suffix == LITE)


def _normalized(array):
    lengths = np.linalg.norm(array.astype(np.float32), axis=-1, keepdims=True)
    return (array / np.maximum(lengths, 1e-12)).astype(array.dtype)
