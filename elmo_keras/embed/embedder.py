"""ELMo vectors of any sentences, for programs."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from elmo_keras.argument_checks import check_choices, check_counts, check_finite
from elmo_keras.config import Arithmetic
from elmo_keras.embed.engines.engine import Engine
from elmo_keras.embed.word_vectors import N_BOUNDARIES, WordTable, WordVectors
from elmo_keras.files import installed_version
from elmo_keras.hub.local_files import absolute
from elmo_keras.progress import Progress
from elmo_keras.text.length_batches import (
    SORTED_TOGETHER,
    balanced_batches,
    chunks,
    in_turn,
)
from elmo_keras.text.sentences import Sentence, plain, tokens_of_sentences
from elmo_keras.text.tokenizers import find_tokenizer

if TYPE_CHECKING:  # TensorFlow is imported by the models that need it
    from elmo_keras.elmo import Elmo

LITE = ".tflite"  # suffix of a file for LiteRT


class Batch(NamedTuple):
    """Sentences of similar length that are embedded together."""

    sentences: list[int]  # the index of each, from 0 over all that are read
    lengths: np.ndarray  # int64 (sentences,), the number of tokens of each
    word_ids: np.ndarray  # int32, of all sentences, each with <S> and </S>
    table: WordTable  # the words that have these ids


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
        layers: `"mix"`, the model's own mix of its layers, or their average if it has
            none; `"average"`, `"top"`, `"all"`, or the index of a layer.
        mix: the weights of another mix before the softmax, one for each layer.
        gamma: the factor of the mix; by default that of the model's own mix, or 1.
        pooling: None for a vector of each token; `"mean"` or `"max"` for one vector
            of each sentence, over its tokens, 0 if it has none.
        dtype: dtype of the arrays, `"float32"` or `"float16"`.
        arithmetic: `"int8"`: LiteRT computes, without TensorFlow, from a file that is
            made in the cache at the first use. Or Keras' dtype policy: `"float32"`,
            the default, `"bfloat16"` or `"mixed_bfloat16"`.
        tokenizer: how a `str` is split into tokens: at `"spaces"`, into `"words"` and
            punctuation, or by a function; by default as the model's text was.
        keep_sentence_boundaries: whether the vectors of `<S>` and `</S>` are kept, two
            more tokens of each sentence, in the result and for `pooling`.
        lower_case: whether tokens are embedded in lower case.
        tokens_at_once: about how many tokens are computed together, by default 8192, or
            2048 with LiteRT.
        cache_bytes: about how much memory is used to keep the vectors of words.
        threads: with LiteRT, 1 or 2: by default one for each direction.

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
        *,
        weights: str | Path | None = None,
        layers: str | int = "mix",
        mix: Sequence[float] | None = None,
        gamma: float | None = None,
        pooling: str | None = None,
        dtype: str = "float32",
        arithmetic: str | None = None,
        tokenizer: str | Callable[[str], Sequence[str]] | None = None,
        keep_sentence_boundaries: bool = False,
        lower_case: bool = False,
        tokens_at_once: int | None = None,
        cache_bytes: int = 2**28,
        threads: int | None = None,
    ):
        if not (mix is None and gamma is None) and layers != "mix":
            raise ValueError(
                "`mix` and `gamma` are the weights and the factor of `layers='mix'`. "
                f"Received: {layers=}, {mix=}, {gamma=}"
            )
        if mix is not None:
            check_finite("The weights of the mix", mix, 1)
        check_counts(most=2**63 - 1, cache_bytes=cache_bytes)
        if tokens_at_once is not None:
            check_counts(tokens_at_once=tokens_at_once)
        if threads is not None:
            check_counts(threads=threads)
        is_layer = hasattr(model, "bilm")
        if is_layer and not (weights is None and arithmetic is None):
            raise ValueError(
                "`weights` and `arithmetic` belong to a model that is read. Received "
                "them with an `Elmo` layer."
            )
        if arithmetic is not None:
            check_choices(get_args(Arithmetic), arithmetic=arithmetic)
        if tokenizer is not None:
            find_tokenizer(tokenizer)
        is_lite = uses_litert(model, arithmetic)
        settings = {
            "model": model if is_layer else absolute(model),
            "weights": None if weights is None else absolute(weights),
            "layers": layers,
            "mix": None if mix is None else tuple(mix),
            "gamma": gamma,
            "pooling": pooling,
            "dtype": dtype,
            "arithmetic": arithmetic,
            "tokenizer": tokenizer,
            "keep_sentence_boundaries": keep_sentence_boundaries,
            "lower_case": lower_case,
            "tokens_at_once": tokens_at_once or (2**11 if is_lite else 2**13),
            "cache_bytes": cache_bytes,
            "threads": threads,
        }
        self.__setstate__({"settings": settings, "fingerprint": None})
        self._load()

    def __repr__(self) -> str:
        names = "layers", "mix", "gamma", "pooling", "dtype", "arithmetic", "tokenizer"
        shown = [f"{self._settings['model']!r}"]
        shown += [
            f"{name}={self._settings[name]!r}"
            for name in names
            if self._settings[name] is not None
        ]
        return f"Embedder({', '.join(shown)})"

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
        progress: bool = False,
    ) -> np.ndarray | list[np.ndarray]:
        """The vectors of sentences, in their order.

        Args:
            sentences: each a `str` or a list of its tokens. One `str` is a single
                sentence. Arrays, columns and tensors of strings will do, from NumPy,
                pandas, pyarrow and TensorFlow; `""` pads rows of two dimensions.
            normalize: whether each vector is divided by its Euclidean length.
            progress: whether to show tokens, rate and time left.

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
        arrays = self.stream(sentences, normalize=normalize, progress=progress)
        if self.engine.pooling is None:
            return list(arrays)
        row = np.dtype((self.engine.dtype, self.engine.shape))
        return np.fromiter(arrays, row)

    def stream(
        self,
        sentences: str | Iterable[Sentence],
        *,
        normalize: bool = False,
        progress: bool = False,
    ) -> Iterator[np.ndarray]:
        """Yields the array of each sentence in turn, within bounded memory.

        Arguments and errors are those of `encode`; an iterator is read as the arrays
        are needed.
        """
        sentences = plain(sentences)
        if isinstance(sentences, (str, bytes)):
            sentences = [sentences]
        n_sentences = len(sentences) if isinstance(sentences, Sized) else None
        tokens = tokens_of_sentences(sentences, self.tokenizer)
        with Progress(disable=not progress) as bar:
            for array in in_turn(self._computed(tokens, n_sentences, bar)):
                yield _normalize(array) if normalize else array

    def _computed(self, tokens, n_sentences, bar):
        """The index of each sentence and its array, in the order of the work."""
        n_done = 0
        for batch in self.batches(tokens):
            arrays = self.embed_batch(batch)
            n_done += len(arrays)
            bar.add(int(batch.lengths.sum()), n_sentences and n_done / n_sentences)
            yield from zip(batch.sentences, arrays)

    def batches(
        self, sentences: Iterable[Sequence[bytes]], words: WordVectors | None = None
    ) -> Iterator[Batch]:
        """Yields sentences of UTF-8 tokens in batches, which depend on nothing else.

        The embedder keeps the vectors of words, or `words` does.
        """
        self._load()
        words = self._words if words is None else words
        n_tokens, first = self._settings["tokens_at_once"], 0
        at_once = SORTED_TOGETHER * n_tokens
        if self._settings["lower_case"]:
            sentences = ([t.decode().lower().encode() for t in s] for s in sentences)
        for chunk in chunks(sentences, at_once, lambda s: len(s) + N_BOUNDARIES):
            table, word_ids = words.encode(chunk)
            lengths = np.array([len(ids) for ids in word_ids])
            for indices in balanced_batches(lengths.tolist(), n_tokens):
                yield Batch(
                    sentences=[first + i for i in indices],
                    lengths=lengths[indices] - N_BOUNDARIES,
                    word_ids=np.concatenate([word_ids[i] for i in indices]),
                    table=table,
                )
            first += len(chunk)

    def embed_batch(self, batch: Batch) -> list[np.ndarray]:
        """The array of each sentence of a batch of `batches`."""
        return self.engine.embed(batch.table.vectors(batch.word_ids), batch.lengths)

    def new_words(self) -> WordVectors:
        """Vectors of words for `batches` that depend on no earlier call."""
        return WordVectors(self.engine, self._settings["cache_bytes"])

    @property
    def engine(self) -> Engine:
        """What computes the vectors of a batch; it knows their layers and shape."""
        self._load()
        return self._engine

    @property
    def elmo(self) -> "Elmo":
        """The layer that computes the vectors; LiteRT has none."""
        return self.engine.elmo  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def dim(self) -> int:
        """The size of a vector, `2 · projection_dim`."""
        return 2 * self.engine.config.projection_dim

    @property
    def tokenizer(self) -> str | Callable[[str], Sequence[str]]:
        """How a `str` is split: a name or a function."""
        return self._settings["tokenizer"] or self.engine.config.tokenizer

    @property
    def metadata(self) -> dict[str, Any]:
        """Everything that the vectors depend on, as JSON values."""
        engine, tokenizer = self.engine, self.tokenizer
        mix = engine.mix if engine.layers == "mix" else {}
        names = "keep_sentence_boundaries", "lower_case"
        tokenizer = getattr(tokenizer, "__qualname__", tokenizer)
        return (
            mix
            | {name: True for name in names if self._settings[name]}
            | {
                "model": engine.model,
                "layers": engine.layers,
                "dtype": engine.dtype,
                "arithmetic": engine.arithmetic,
                "pooling": engine.pooling,
                # None for spaces, as in files of earlier versions.
                "tokenizer": None if tokenizer == "spaces" else tokenizer,
            }
        )

    def file_metadata(self, shard: str = "1/1") -> dict[str, Any]:
        """The metadata of every file of these vectors, as JSON values."""
        sizes = {
            name: self._settings[name] for name in ("tokens_at_once", "cache_bytes")
        }
        version = installed_version("elmo-keras") or "(not installed)"
        metadata = self.metadata | {"shard": shard} | sizes | {"elmo_keras": version}
        del metadata["pooling"], metadata["tokenizer"]
        return metadata | {"layers": str(metadata["layers"])}

    def parquet_metadata(self, shard: str = "1/1", *, texts: bool) -> dict[str, Any]:
        """The metadata of a Parquet file, with a column of texts or without."""
        return self.file_metadata(shard) | {
            "pooling": self.engine.pooling,
            "texts": texts,
            "options": self.engine.config.to_summary(),
        }

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the vectors depend on, equal in all processes."""
        if self._fingerprint is None:
            text = json.dumps(self.metadata, sort_keys=True)
            self._fingerprint = hashlib.sha256(text.encode()).hexdigest()
        return self._fingerprint

    def _load(self):
        with self._lock:
            if self._engine is None:
                self._engine = self._read_engine()
                # Only an embedder that was pickled needs the hash of all weights.
                if self._expected and self._expected != self.fingerprint:
                    self._engine = None
                    raise ValueError(
                        f"{self._settings['model']} has changed since the embedder was "
                        "pickled. Make the embedder again."
                    )
                self._words = self.new_words()

    def _read_engine(self):
        settings = self._settings
        model, weights = settings["model"], settings["weights"]
        arithmetic = settings["arithmetic"]
        names = "layers", "mix", "gamma", "dtype", "pooling", "keep_sentence_boundaries"
        choice = {name: settings[name] for name in names}
        if not uses_litert(model, arithmetic):
            from elmo_keras.elmo import Elmo
            from elmo_keras.embed.engines.tensorflow import TensorFlowEngine

            if isinstance(model, str):
                dtype = "float32" if arithmetic is None else arithmetic
                model = Elmo.from_pretrained(model, weights=weights, dtype=dtype)
            return TensorFlowEngine(model, **choice)
        from elmo_keras.embed.engines.litert import LiteRTEngine
        from elmo_keras.lite.engine import LiteElmo, read_or_convert

        is_file = Path(model).suffix == LITE
        if is_file and weights:
            raise ValueError(f"{model} holds its weights. Leave out {weights}.")
        if is_file:
            lite = LiteElmo.read(Path(model), settings["threads"])
        else:
            lite = read_or_convert(model, weights, settings["threads"])
        engine = LiteRTEngine(lite, **choice)
        exported = engine.arithmetic.split()[0]
        if arithmetic not in (None, exported):
            raise ValueError(
                f"{model} was exported with arithmetic {exported}. Received: "
                f"{arithmetic}. Leave it out, or export the model again."
            )
        return engine

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
        self._engine: Any = None
        self._lock = threading.RLock()


def uses_litert(model: Any, arithmetic: str | None) -> bool:
    is_path = isinstance(model, (str, os.PathLike))
    return arithmetic == "int8" or (is_path and Path(model).suffix == LITE)


def _normalize(array):
    lengths = np.linalg.norm(array.astype(np.float32), axis=-1, keepdims=True)
    return (array / np.maximum(lengths, 1e-12)).astype(array.dtype)
