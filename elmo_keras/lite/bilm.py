"""A biLM with its softmax by LiteRT's layers and NumPy."""

from collections.abc import Sequence

import numpy as np

from elmo_keras.formats.model_files import ModelFiles
from elmo_keras.formats.published import finite_values
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.word_ids import boundary_tokens

LOGITS_AT_ONCE = 2**24  # 64 MiB, and as much again for their exponentials


class LiteBilm:
    """Stands in for a `BidirectionalLanguageModel` in `LanguageModel`, without TensorFlow."""

    def __init__(self, lite: LiteElmo, files: ModelFiles, vocabulary: Vocabulary):
        self._lite, self.files, self.config = lite, files, files.config
        self.softmax = LiteSoftmax(
            *(
                finite_values(name, files.softmax(vocabulary)[name])
                for name in ("softmax/W", "softmax/b")
            )
        )
        self.vocabulary_size = len(vocabulary)

    def top_layer(
        self, tokens: Sequence[bytes], lengths: np.ndarray
    ) -> list[np.ndarray]:
        begin, end = (token.encode() for token in boundary_tokens(self.config))
        starts = np.cumsum(lengths) - lengths
        words: list[bytes] = []
        for start, length in zip(starts, lengths):
            words += [begin, *tokens[start : start + length], end]
        index = {word: i for i, word in enumerate(dict.fromkeys(words))}
        x = self._lite.word_vectors([*index])[[index[word] for word in words]]
        layers = self._lite.layers_of_vectors(x, lengths, keep_boundaries=True)
        return np.split(layers[-1], 2, axis=-1)


class LiteSoftmax:
    """`layers.WordSoftmax` in NumPy."""

    def __init__(self, kernel: np.ndarray, bias: np.ndarray):
        self._kernel, self._bias = kernel, bias

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        return vectors @ self._kernel.T + self._bias

    def log_probabilities_of(
        self, vectors: np.ndarray, targets: np.ndarray
    ) -> np.ndarray:
        """Log probabilities of target words, `(tokens,)`, in bounded memory."""
        rows = max(1, LOGITS_AT_ONCE // len(self._bias))
        logs = np.empty(len(vectors), np.float32)
        for first in range(0, len(vectors), rows):
            part = slice(first, first + rows)
            logits = self(vectors[part])
            target_logits = logits[np.arange(len(logits)), targets[part]]
            logs[part] = target_logits - log_sums(logits)
        return logs


def log_sums(logits: np.ndarray) -> np.ndarray:
    """log Σ exp over words, `(rows,)`."""
    highest = logits.max(axis=1)
    return highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))
