"""AllenNLP's `ElmoEmbedder` and simple_elmo's `ElmoModel`, for programs that call them.

Methods, arguments and vectors are the same, except that AllenNLP and simple_elmo carry the
LSTM state from batch to batch; here a sentence always has the same vectors. The guide to
other libraries lists the results that differ.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from elmo_keras.base.files import replacing
from elmo_keras.commands.outputs import check_apart
from elmo_keras.embed.embedder import Embedder
from elmo_keras.text.length_batches import padded_arrays
from elmo_keras.text.sentences import Sentence

_LAYERS = {
    "all": lambda array: array,
    "top": lambda array: array[-1],
    "average": lambda array: array.mean(axis=0),
}


class ElmoEmbedder:
    """AllenNLP's `ElmoEmbedder`: all layers of each token, `(layers, tokens, dim)`.

    Args:
        options_file: options, or any model that `Embedder` reads; the default `"en"` comes
            with the package and has 256 numbers a token, AllenNLP's `"original"` 1,024.
        weight_file: weights, if `options_file` is an `options.json`.
        cuda_device: has no effect: TensorFlow uses the GPU that it finds.
        **settings: arguments of `Embedder`, such as `arithmetic`.
    """

    def __init__(
        self,
        options_file: Any = "en",
        weight_file: str | Path | None = None,
        cuda_device: int = -1,
        **settings: Any,
    ):
        self._embedder = Embedder(
            options_file, weights=weight_file, layers="all", **settings
        )

    def embed_sentence(self, sentence: Sentence) -> np.ndarray:
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sentence]) -> list[np.ndarray]:
        return list(self._embedder.stream(batch))

    def embed_sentences(
        self, sentences: Iterable[Sentence], batch_size: int = 64
    ) -> Iterator[np.ndarray]:
        """`batch_size` has no effect."""
        return self._embedder.stream(sentences)

    def embed_file(
        self,
        input_file: TextIO,
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = 64,
        forget_sentences: bool = False,
    ) -> None:
        """Writes the vectors of line i to the HDF5 dataset `"i"`, and closes the input.

        `output_format` is `"all"`, `"top"` or `"average"`.
        """
        from elmo_keras.embed.writers.hdf5 import write_hdf5

        select, name = _selector(output_format), getattr(input_file, "name", None)
        if isinstance(name, str):
            check_apart([Path(output_file_path)], [Path(name)])
        with input_file:
            lines = [line.strip() for line in input_file]
        vectors = map(select, self.embed_sentences(map(str.split, lines)))
        index = None if forget_sentences else {t: str(i) for i, t in enumerate(lines)}
        metadata = self._embedder.file_metadata() | {"layers": output_format}
        with replacing(Path(output_file_path)) as path:
            write_hdf5(
                path,
                [(range(len(lines)), vectors)],  # pyright: ignore[reportArgumentType]
                metadata=metadata,
                sentence_to_index=index,
            )


class ElmoModel:
    """simple_elmo's `ElmoModel`: arrays of the vectors of all sentences.

    `warmup` and `session` of its methods, `max_batch_size` and `limit` have no effect.

    Args:
        **settings: arguments of `Embedder`, such as `arithmetic`.
    """

    def __init__(self, **settings: Any):
        self._settings = settings

    def load(
        self,
        directory: str | Path,
        max_batch_size: int = 32,
        limit: int = 100,
        full: bool = False,
    ) -> str:
        """Reads any model that `Embedder` reads; `get_elmo_substitutes` needs `full`."""
        self._embedder = Embedder(directory, layers="all", **self._settings)
        self.vector_size = self._embedder.dim
        self.n_layers = self._embedder.engine.config.n_layers + 1
        if full:
            from elmo_keras.language_model import LanguageModel

            self._language_model = LanguageModel.from_pretrained(directory)
        return "The model is now loaded."

    def get_elmo_vectors(
        self,
        texts: Sequence[Sentence],
        warmup: bool = True,
        layers: str = "average",
        session: object = None,
    ) -> np.ndarray:
        """`(texts, tokens, dim)` padded with 0; `(texts, layers, tokens, dim)` for "all"."""
        arrays = list(self._vectors(texts, layers))
        if not arrays:
            n_layers = (self.n_layers,) if layers == "all" else ()
            return np.zeros((0, *n_layers, 0, self.vector_size), np.float32)
        return padded_arrays(arrays, 0.0)

    def get_elmo_vector_average(
        self,
        texts: Sequence[Sentence],
        warmup: bool = True,
        layers: str = "average",
        session: object = None,
    ) -> np.ndarray:
        """The mean of each text's tokens, of length 1: `(texts, dim)`.

        For "all" `(texts, layers, dim)`: the means of the layers, together of length 1.
        """
        sums = np.stack([v.sum(axis=-2) for v in self._vectors(texts, layers)])
        lengths = np.linalg.norm(sums.reshape(len(sums), -1), axis=1)
        return (sums.T / np.maximum(lengths, 1e-12)).T

    def get_elmo_substitutes(
        self, data: Sequence[Sentence], topn: int = 3
    ) -> list[list[dict[str, Any]]]:
        """The likeliest words for each token of each text, without the special words.

        A token has a dict of its `"word"`, and of the `"candidates"` (ids),
        `"candidate_words"` and `"logp"` of the model's directions, `"forward"` and
        `"backward"`, the likeliest first.
        """
        return [
            [self._substitutes(words, position, topn) for position in range(len(words))]
            for words in self._embedder.split(data)
        ]

    def _substitutes(self, words, position, topn):
        model, token = self._language_model, {"word": words[position]}
        for direction in ("forward", "backward"):
            best = model.likeliest(words, position, top=topn, direction=direction)
            candidates = [word for word, _ in best]
            token[direction] = {
                "candidates": model.vocabulary.encode(candidates).tolist(),
                "candidate_words": candidates,
                "logp": [round(log_probability, 4) for _, log_probability in best],
            }
        return token

    def _vectors(self, texts, layers):
        return map(_selector(layers), self._embedder.stream(texts))


def _selector(layers):
    """A function that takes these layers from an array of all."""
    if layers not in _LAYERS:
        names = tuple(_LAYERS)
        raise ValueError(f"Layers should be one of {names}. Received: {layers!r}")
    return _LAYERS[layers]
