"""ELMo vectors of any sentences, for programs."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.cli.progress_line import Progress
from elmo_keras.elmo import Elmo
from elmo_keras.embed.batch_vectors import SentenceVectors
from elmo_keras.embed.embedder_settings import Settings
from elmo_keras.embed.numbered_batches import BATCHES_AT_ONCE, N_BOUNDARIES
from elmo_keras.embed.reading_ahead import reading_ahead
from elmo_keras.models.local_files import absolute
from elmo_keras.text.length_batches import balanced_batches, in_order
from elmo_keras.text.token_batches import Sentence, tokens_of_sentences


class Embedder:
    """Computes the ELMo vectors of sentences as NumPy arrays.

    Sentences are sorted by length and packed without padding, and the
    context-independent vectors of words are kept from one call to the next. There is
    no other state: a sentence has the same vectors in any call.

    Several threads can use one embedder. Its pickle holds the path or name of the
    model, not the weights; another process reads the model at the first use.

    Args:
        model: a model that `Elmo.from_pretrained` reads; or an `Elmo` layer, whose
            weights must not change any more. An embedder of a layer can't be
            pickled.
        weights: the path of published HDF5 weights, if `model` is an `options.json`.
        layers: `"average"`, `"all"`, `"top"`, `"mix"` (the first mix of the `Elmo`
            layer), the index of a layer, or the weights of a mix before the softmax,
            one number for each layer.
        gamma: the factor of the mix whose weights `layers` gives.
        pooling: None for a vector of each token; `"mean"` or `"max"` for one vector
            of each sentence, over its tokens, 0 if it has none.
        dtype: dtype of the arrays, `"float32"` or `"float16"`.
        arithmetic: Keras' dtype policy for computing: `"float32"`, the default,
            `"bfloat16"` or `"mixed_bfloat16"`.
        tokenizer: splits a `str` into tokens; by default at ASCII white space.
        tokens_at_once: about how many tokens go through the LSTMs together.
        cache_bytes: about how much memory is used to keep the vectors of words.
        jit_compile: whether the first calls run without a graph, and the LSTMs of
            batches of few sentences are compiled by XLA, in the background and after
            some hundred tokens. It is faster, and the last digits of a vector then
            depend on when it was computed.

    Raises:
        FileNotFoundError: a file of the model is missing; the message names it.
        ValueError: an argument is out of range, or a file of the model doesn't fit.

    Example:

    >>> from elmo_keras import ElmoConfig
    >>> embedder = Embedder(Elmo(ElmoConfig.preset("test")), pooling="mean")
    >>> embedder(["A short sentence .", ["Two", "tokens"]]).shape
    (2, 10)
    """

    def __init__(
        self,
        model: str | Path | Elmo,
        weights: str | Path | None = None,
        layers: str | int | Sequence[float] = "average",
        *,
        gamma: float = 1.0,
        pooling: str | None = None,
        dtype: str = "float32",
        arithmetic: str | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        tokens_at_once: int = 2**13,
        cache_bytes: int = 2**28,
        jit_compile: bool = True,
    ):
        if isinstance(model, Elmo) and (weights or arithmetic):
            raise ValueError(
                "`weights` and `arithmetic` belong to a model that is read. Received "
                "them with an `Elmo` layer."
            )
        settings = Settings(
            model=model if isinstance(model, Elmo) else absolute(model),
            weights=weights and absolute(weights),
            layers=layers if isinstance(layers, (str, int)) else tuple(layers),
            gamma=gamma,
            pooling=pooling,
            dtype=dtype,
            arithmetic=arithmetic,
            tokenizer=tokenizer,
            tokens_at_once=tokens_at_once,
            cache_bytes=cache_bytes,
            jit_compile=jit_compile,
        )
        self.__setstate__({"settings": settings, "fingerprint": None})
        self._parts()

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
                sentence.
            normalize: whether each vector is divided by its Euclidean length.
            show_progress_bar: whether to show tokens, rate and time left.

        Returns:
            A list of arrays, one for each sentence: `(tokens, dim)`, or `(layers,
            tokens, dim)` for all layers. With `pooling`, one array `(sentences, dim)`
            or `(sentences, layers, dim)`. For one `str`, its array alone.

        Raises:
            TypeError: a sentence is neither a `str` nor a list of tokens.
            ValueError: a token is empty.
        """
        if isinstance(sentences, str):
            return self.encode([sentences], normalize=normalize)[0]
        arrays = self.stream(
            sentences, normalize=normalize, show_progress_bar=show_progress_bar
        )
        if self._settings.pooling is None:
            return list(arrays)
        row = np.dtype((self._settings.dtype, self.vectors.shape))
        return np.fromiter(arrays, row)

    def stream(
        self,
        sentences: Iterable[Sentence],
        *,
        normalize: bool = False,
        show_progress_bar: bool = False,
    ) -> Iterator[np.ndarray]:
        """Yields the array of each sentence in turn, within bounded memory.

        Args:
            sentences: as in `encode`; an iterator is read as the arrays are needed.
            normalize, show_progress_bar: as in `encode`.

        Raises:
            TypeError, ValueError: as in `encode`.
        """
        n_sentences = len(sentences) if hasattr(sentences, "__len__") else None
        n_done = 0

        def arrays_of(batches):
            nonlocal n_done
            for arrays, n_tokens in self._computed(batches):
                yield arrays
                n_done += len(arrays)
                progress.add(n_tokens, n_sentences and n_done / n_sentences)

        with Progress(show_progress_bar) as progress:
            arrays = in_order(
                tokens_of_sentences(sentences, self._settings.tokenizer),
                arrays_of,
                batches_of=self._batches_of,
                tokens_at_once=BATCHES_AT_ONCE * self._settings.tokens_at_once,
            )
            for array in arrays:
                yield _normalized(array) if normalize else array

    def _batches_of(self, lengths):
        with_boundaries = [length + N_BOUNDARIES for length in lengths]
        return balanced_batches(with_boundaries, self._settings.tokens_at_once)

    def _computed(self, batches):
        """Yields each batch's arrays and number of tokens; words are read ahead."""
        _, words, vectors = self._parts()
        with_words = ((words.of(batch), batch) for batch in batches)
        for x, batch in reading_ahead(with_words):
            lengths = np.array([len(sentence) for sentence in batch])
            yield vectors.of(x, lengths), int(lengths.sum())

    @property
    def vectors(self) -> SentenceVectors:
        """What computes the vectors of a batch; it knows their layers and shape."""
        return self._parts().vectors

    @property
    def elmo(self) -> Elmo:
        """The layer that computes the vectors."""
        return self._parts().elmo

    @property
    def dim(self) -> int:
        """The size of a vector, `2 · projection_dim`."""
        return 2 * self.elmo.config.projection_dim

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the vectors depend on, as JSON values."""
        return self._settings.identity(self._parts())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the vectors depend on, equal in all processes."""
        if self._fingerprint is None:
            text = json.dumps(self.identity, sort_keys=True)
            self._fingerprint = hashlib.sha256(text.encode()).hexdigest()
        return self._fingerprint

    def _parts(self):
        """The model and what computes with it, read at the first use."""
        with self._lock:
            if self._read is None:
                self._read = self._settings.read()
                self._check_unchanged()
            return self._read

    def _check_unchanged(self):
        # A fingerprint reads all weights: only an embedder that was pickled needs it.
        if self._expected is not None and self._expected != self.fingerprint:
            self._read = None
            raise ValueError(
                f"{self._settings.model} has changed since the embedder was pickled. "
                "Make the embedder again."
            )

    def __hash__(self):
        return int(self.fingerprint[:15], 16)

    def __eq__(self, other):
        same_kind = isinstance(other, Embedder)
        return self.fingerprint == other.fingerprint if same_kind else NotImplemented

    def __getstate__(self):
        if isinstance(self._settings.model, Elmo):
            raise TypeError(
                "An `Embedder` of an `Elmo` layer can't be pickled. Make it from the "
                "path or the name of a model."
            )
        return {"settings": self._settings, "fingerprint": self.fingerprint}

    def __setstate__(self, state):
        self._settings = state["settings"]
        self._expected, self._fingerprint = state["fingerprint"], None
        self._read, self._lock = None, threading.RLock()


def _normalized(array):
    lengths = np.linalg.norm(array.astype(np.float32), axis=-1, keepdims=True)
    return (array / np.maximum(lengths, 1e-12)).astype(array.dtype)
