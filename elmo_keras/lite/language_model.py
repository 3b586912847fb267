"""The probabilities of words by LiteRT's layers and the softmax in NumPy."""

from collections.abc import Sequence

import numpy as np

from elmo_keras.lite.engine import LiteElmo
from elmo_keras.predictions import Predictions
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.word_ids import boundary_tokens

LOGITS_AT_ONCE = 2**24  # 64 MiB, and as much again for their exponentials


class LiteLanguageModel(Predictions):
    """`LanguageModel` without TensorFlow: a biLM in float32, and the arrays of its softmax."""

    def __init__(
        self,
        lite: LiteElmo,
        kernel: np.ndarray,
        bias: np.ndarray,
        vocabulary: Vocabulary,
    ):
        super().__init__(vocabulary, lite.config.tokenizer)
        self._lite, self._kernel, self._bias = lite, kernel, bias

    def of_targets(
        self, tokens: Sequence[bytes], ids: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        ahead, back = self._top_layer(tokens, lengths)
        ends = np.cumsum(lengths + 2)
        places = np.delete(np.arange(len(ahead)), [*(ends - lengths - 2), *(ends - 1)])
        targets = np.empty(len(ahead), np.int64)
        targets[places] = ids
        targets[ends - lengths - 2], targets[ends - 1] = self.vocabulary.special[:2]
        inside = np.delete(np.arange(len(ahead)), ends - 1)  # with a token after it
        return (
            self._log_probabilities(ahead[inside], targets[inside + 1]),
            self._log_probabilities(back[inside + 1], targets[inside]),
        )

    def at_position(self, tokens: Sequence[bytes], position: int) -> np.ndarray:
        ahead, back = self._top_layer(tokens, np.array([len(tokens)]))
        # `<S>` is before the first token: the one before the position has its index.
        logits = self._logits(np.stack([ahead[position], back[position + 2]]))
        return logits - _log_sums(logits)[:, None]

    def _top_layer(self, tokens, lengths):
        """The top layer of both directions, with `<S>` and `</S>`."""
        begin, end = (token.encode() for token in boundary_tokens(self._lite.config))
        starts = np.cumsum(lengths) - lengths
        words: list[bytes] = []
        for start, length in zip(starts, lengths):
            words += [begin, *tokens[start : start + length], end]
        index = {word: i for i, word in enumerate(dict.fromkeys(words))}
        x = self._lite.word_vectors([*index])[[index[word] for word in words]]
        layers = self._lite.layers_of_vectors(x, lengths, keep_boundaries=True)
        return np.split(layers[-1], 2, axis=-1)

    def _log_probabilities(self, vectors, targets):
        """Log-probabilities of target words, `(tokens,)`, in bounded memory."""
        rows = max(1, LOGITS_AT_ONCE // len(self._bias))
        logs = np.empty(len(vectors), np.float32)
        for first in range(0, len(vectors), rows):
            part = slice(first, first + rows)
            logits = self._logits(vectors[part])
            of_targets = logits[np.arange(len(logits)), targets[part]]
            logs[part] = of_targets - _log_sums(logits)
        return logs

    def _logits(self, vectors):
        return vectors @ self._kernel.T + self._bias


def _log_sums(logits):
    """log Σ exp over words, `(rows,)`."""
    highest = logits.max(axis=1)
    return highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))
