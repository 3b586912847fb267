"""ELMo vectors of any sentences, for programs."""

import dataclasses
import functools
import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from elmo_keras.base.argument_checks import check_choices, check_counts, check_finite
from elmo_keras.base.files import installed_version
from elmo_keras.base.progress import Progress
from elmo_keras.config import Arithmetic
from elmo_keras.embed.engines.backend import LITERT, Backend, choose_backend
from elmo_keras.embed.engines.engine import Engine, Pooling
from elmo_keras.embed.word_vectors import N_BOUNDARIES, WordTable, WordVectors
from elmo_keras.hub.local_files import absolute
from elmo_keras.text.length_batches import (
    SORTED_TOGETHER,
    balanced_batches,
    chunks,
    in_turn,
    read_ahead,
)
from elmo_keras.text.sentences import (
    Sentence,
    plain,
    tokens_of_sentences,
    words_of_sentences,
)
from elmo_keras.text.tokenizers import find_tokenizer

if TYPE_CHECKING:  # TensorFlow is imported by the models that need it
    from elmo_keras.elmo import Elmo


SWITCHES = "keep_sentence_boundaries", "lower_case"


class Batch(NamedTuple):
    """Sentences of similar length that are embedded together."""

    sentences: list[int]  # indices among all sentences that are read
    lengths: np.ndarray  # int64 (sentences,), numbers of tokens
    word_ids: np.ndarray  # int32, all words, with <S> and </S> around each sentence
    table: WordTable  # the words of these ids


@dataclasses.dataclass(frozen=True, repr=False)
class Embedder:
    """Computes the ELMo vectors of sentences as NumPy arrays.

    Sentences are sorted by length and packed without padding, and the
    context-independent vectors of words are kept from one call to the next. There is
    no other state. On a GPU, batches are padded to a few shapes instead, which XLA
    compiles at their first use.

    Several threads can use one embedder. Its pickle holds the path or name of the
    model, not the weights. Embedders are equal if all their arguments are.

    Args:
        model: a model that `Elmo.from_pretrained` reads; a `.tflite` file; or an `Elmo`
            layer. The layer's weights must not change any more, and its embedder can't be
            pickled.
        weights: the path of published HDF5 weights, if `model` is an `options.json`.
        layers: `"mix"`, the model's own mix of its layers, or their average if it has
            none; `"average"`, `"top"`, `"all"`, or the index of a layer.
        mix: the weights of another mix before the softmax, one for each layer.
        gamma: the factor of the mix; by default γ of the model's own mix, or 1.
        pooling: None for a vector of each token; `"mean"` or `"max"` for one vector
            of each sentence, over its tokens, 0 if it has none.
        dtype: the type of the arrays' numbers, `"float32"` or `"float16"`.
        arithmetic: numbers of the matrix products: `"float32"`, the default; `"int8"`, by
            LiteRT; or `"bfloat16"` or `"mixed_bfloat16"`, by TensorFlow.
        backend: what computes: `"litert"`, without TensorFlow, from a file that is made
            in the cache at the first use; or `"tensorflow"`, whose vectors differ in the
            last digits. By default LiteRT, but TensorFlow for an `Elmo` layer, where there
            is a GPU of NVIDIA, and where LiteRT is missing.
        tokenizer: how a `str` is split into tokens: at `"spaces"`, into `"words"` and
            punctuation, or by a function; by default as the model's text was.
        keep_sentence_boundaries: whether the vectors of `<S>` and `</S>` are kept, two
            more tokens of each sentence, in the result and for `pooling`.
        lower_case: whether tokens are embedded in lower case.
        tokens_at_once: about how many tokens are computed together, by default 2048, or
            8192 with TensorFlow.
        cache_bytes: about how much memory is used to keep the vectors of words.
        threads: with LiteRT, 1 or 2: by default one for each direction.
        lazy: whether the model is read at the first use, as by a pickled embedder.

    Raises:
        FileNotFoundError: a file of the model is missing; the message names it.
        ValueError: an argument is out of range, or a file of the model doesn't fit.
        TypeError: the model is neither a layer nor a path, a name or an address.

    Example:

    >>> from elmo_keras import Elmo, ElmoConfig
    >>> elmo = Elmo(ElmoConfig(7, 5, [(1, 2), (2, 3)]))
    >>> embedder = Embedder(elmo, pooling="mean")
    >>> embedder(["A short sentence .", ["Two", "tokens"]]).shape
    (2, 10)
    """

    model: "str | Path | Elmo"
    _: dataclasses.KW_ONLY
    weights: str | Path | None = None
    layers: str | int = "mix"
    mix: Sequence[float] | None = None
    gamma: float | None = None
    pooling: str | None = None
    dtype: str = "float32"
    arithmetic: str | None = None
    backend: Backend | None = None
    tokenizer: str | Callable[[str], Sequence[str]] | None = None
    keep_sentence_boundaries: bool = False
    lower_case: bool = False
    tokens_at_once: int | None = None
    cache_bytes: int = 2**28
    threads: int | None = None
    lazy: dataclasses.InitVar[bool] = False
    _read: "_Read" = dataclasses.field(
        default_factory=lambda: _Read(), init=False, repr=False, compare=False
    )

    def __post_init__(self, lazy):
        if not (self.mix is None and self.gamma is None) and self.layers != "mix":
            raise ValueError(
                "`mix` and `gamma` are the weights and the factor of `layers='mix'`. "
                f"Received: layers={self.layers!r}, mix={self.mix}, gamma={self.gamma}"
            )
        if self.mix is not None:
            check_finite("The weights of the mix", self.mix, 1)
            object.__setattr__(self, "mix", tuple(self.mix))
        check_choices(("float32", "float16"), dtype=self.dtype)
        check_choices((None, *get_args(Pooling)), pooling=self.pooling)
        check_counts(most=2**63 - 1, cache_bytes=self.cache_bytes)
        for name in "tokens_at_once", "threads":
            if getattr(self, name) is not None:
                check_counts(**{name: getattr(self, name)})
        is_layer = hasattr(self.model, "bilm")
        if is_layer and not (self.weights is None and self.arithmetic is None):
            raise ValueError(
                "`weights` and `arithmetic` belong to a model that is read, not to a layer."
            )
        check_choices((None, *get_args(Arithmetic)), arithmetic=self.arithmetic)
        self._backend  # noqa: B018, it is checked
        if self.tokenizer is not None:
            find_tokenizer(self.tokenizer)
        if not is_layer:
            object.__setattr__(self, "model", absolute(self.model))
        if self.weights is not None:
            object.__setattr__(self, "weights", absolute(self.weights))
        if not lazy:
            self._load()

    def __repr__(self) -> str:
        others = [
            f"{field.name}={value!r}"
            for field in dataclasses.fields(self)[1:]
            if field.repr and (value := getattr(self, field.name)) != field.default
        ]
        return f"Embedder({', '.join([repr(self.model), *others])})"

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
        progress: bool | None = None,
    ) -> np.ndarray | list[np.ndarray]:
        """The vectors of sentences, in their order.

        Args:
            sentences: each a `str` or a list of its tokens. One `str` is a single
                sentence. They may be arrays, columns and tensors of strings of NumPy,
                pandas, pyarrow and TensorFlow; `""` pads rows of two dimensions.
            normalize: whether each vector is divided by its Euclidean length.
            progress: whether to show tokens, rate and time left; by default on a
                terminal, of work that takes more than 3 seconds.

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
            return self.encode([sentences], normalize=normalize, progress=progress)[0]
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
        progress: bool | None = False,
    ) -> Iterator[np.ndarray]:
        """Yields the array of each sentence in turn, within bounded memory.

        Arguments and errors are those of `encode`; an iterator is read as the arrays
        are needed.
        """
        sentences = plain(sentences)
        if isinstance(sentences, (str, bytes)):
            sentences = [sentences]
        n_sentences = len(sentences) if isinstance(sentences, Sized) else None
        tokens = tokens_of_sentences(sentences, self._tokenizer)
        with Progress(progress=progress) as bar:
            for array in in_turn(self._compute(tokens, n_sentences, bar)):
                yield _normalize(array) if normalize else array

    def _compute(self, tokens, n_sentences, bar):
        """The index of each sentence and its array, in the order of the work."""
        n_done, batches = 0, self.batches(tokens)
        for batch in read_ahead(batches) if self.engine.ahead else batches:
            arrays = self.embed_batch(batch)
            n_done += len(arrays)
            bar.add(int(batch.lengths.sum()), n_sentences and n_done / n_sentences)
            yield from zip(batch.sentences, arrays)

    def split(self, sentences: str | Iterable[Sentence]) -> Iterator[list[str]]:
        """Yields the tokens of each sentence, as `encode` splits it."""
        return words_of_sentences(sentences, self._tokenizer)

    def batches(
        self, sentences: Iterable[Sequence[bytes]], words: WordVectors | None = None
    ) -> Iterator[Batch]:
        """Yields sentences of UTF-8 tokens in batches, which depend on nothing else.

        The embedder keeps the vectors of words, or `words` does.
        """
        cache = self._load().words if words is None else words
        n_tokens, first = self._tokens_at_once, 0
        if self.lower_case:
            sentences = ([t.decode().lower().encode() for t in s] for s in sentences)
        at_once = SORTED_TOGETHER * n_tokens
        for chunk in chunks(sentences, at_once, lambda s: len(s) + N_BOUNDARIES):
            table, word_ids = cache.encode(chunk)
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
        return WordVectors(self.engine, self.cache_bytes)

    @property
    def engine(self) -> Engine:
        """Computes the vectors of a batch; it knows their layers and shape."""
        return self._load().engine

    @property
    def dim(self) -> int:
        """The size of a vector, `2 · projection_dim`."""
        return 2 * self.engine.config.projection_dim

    @property
    def is_lite(self) -> bool:
        """Whether LiteRT computes, and TensorFlow isn't needed."""
        return self._backend == LITERT

    @property
    def _backend(self):
        read = self._read.backend  # a pickle keeps it
        return read or choose_backend(self.model, self.arithmetic, self.backend)

    @property
    def _tokenizer(self):
        return self.tokenizer or self.engine.config.tokenizer

    @property
    def _tokens_at_once(self):
        return self.tokens_at_once or (2**11 if self.is_lite else 2**13)

    @property
    def metadata(self) -> dict[str, Any]:
        """Everything that the vectors depend on, as JSON values."""
        engine, tokenizer = self.engine, self._tokenizer
        tokenizer = getattr(tokenizer, "__qualname__", tokenizer)
        return {
            **(engine.mix if engine.layers == "mix" else {}),
            **{name: True for name in SWITCHES if getattr(self, name)},
            "model": engine.model,
            "layers": engine.layers,
            "dtype": engine.dtype,
            "arithmetic": engine.arithmetic,
            "pooling": engine.pooling,
            # None for spaces, as in files of earlier versions.
            "tokenizer": None if tokenizer == "spaces" else tokenizer,
        }

    def file_metadata(self, shard: str = "1/1") -> dict[str, Any]:
        """The metadata of every file of these vectors, as JSON values."""
        left_out = "pooling", "tokenizer"
        metadata = {k: v for k, v in self.metadata.items() if k not in left_out}
        return metadata | {
            "layers": str(self.layers),
            "shard": shard,
            "tokens_at_once": self._tokens_at_once,
            "cache_bytes": self.cache_bytes,
            "elmo_keras": installed_version("elmo-keras") or "(not installed)",
        }

    def parquet_metadata(self, shard: str = "1/1", *, texts: bool) -> dict[str, Any]:
        """The metadata of a Parquet file, with a column of texts or without."""
        return self.file_metadata(shard) | {
            "pooling": self.engine.pooling,
            "texts": texts,
            "options": self.engine.config.to_summary(),
        }

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the vectors depend on, equal in all processes."""
        text = json.dumps(self.metadata, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _load(self) -> "_Read":
        read = self._read
        with read.lock:
            if read.engine is None:
                read.engine = self._read_engine()
                # Only an embedder that was pickled needs the hash of all weights.
                if read.expected and read.expected != self.fingerprint:
                    read.engine = None
                    raise ValueError(
                        f"{self.model} has changed since the embedder was pickled."
                    )
                read.words = self.new_words()
            return read

    def _read_engine(self) -> Engine:
        self._read.backend = self._backend
        if self.is_lite:
            from elmo_keras.embed.engines.litert import LiteRTEngine, read_litert

            engine = LiteRTEngine
            bilm = read_litert(self.model, self.weights, self.arithmetic, self.threads)
        else:
            from elmo_keras.elmo import Elmo
            from elmo_keras.embed.engines.tensorflow import engine_of_devices

            engine, bilm = engine_of_devices(), self.model
            if isinstance(bilm, str):
                dtype = self.arithmetic or "float32"
                bilm = Elmo.from_pretrained(bilm, weights=self.weights, dtype=dtype)
        return engine(
            bilm,
            self.layers,
            mix=self.mix,
            gamma=self.gamma,
            dtype=self.dtype,
            pooling=self.pooling,
            keep_sentence_boundaries=self.keep_sentence_boundaries,
        )

    def __reduce__(self):
        if not isinstance(self.model, str):
            raise TypeError(
                "An embedder of a layer can't be pickled. Make it from the path or the "
                "name of a model."
            )
        read = self._read
        fingerprint = read.expected if read.engine is None else self.fingerprint
        fields = [field.name for field in dataclasses.fields(self) if field.init]
        arguments = {name: getattr(self, name) for name in fields}
        return _unpickle, (arguments, fingerprint, read.backend)


class _Read:
    """The model that an embedder has read, and the fingerprint it should have."""

    def __init__(self):
        self.lock = threading.RLock()
        self.engine: Any = None
        self.words: Any = None
        self.expected: str | None = None
        self.backend: str | None = None


def _unpickle(arguments, fingerprint, backend):
    embedder = Embedder(**arguments, lazy=True)
    embedder._read.expected, embedder._read.backend = fingerprint, backend
    return embedder


def _normalize(array):
    lengths = np.linalg.norm(array.astype(np.float32), axis=-1, keepdims=True)
    return (array / np.maximum(lengths, 1e-12)).astype(array.dtype)
