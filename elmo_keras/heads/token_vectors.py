"""The token vectors of task models: trained words and characters, and ELMo."""

import collections
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts, check_names
from elmo_keras.elmo import Elmo
from elmo_keras.heads.characters import CHARACTERS, WIDTHS
from elmo_keras.heads.token_batch import elmo_positions
from elmo_keras.layers.character_cnn import CharacterCNN
from elmo_keras.layers.unquantized import Embedding
from elmo_keras.text.characters import StringSearch, characters_of_words
from elmo_keras.text.sentences import str_tokens
from elmo_keras.text.tokens import token_mask


def named_weights(layer: keras.Layer, *parts: str) -> dict[str, keras.Variable]:
    """The weights of a layer's attributes by name, without attributes that it lacks.

    A layer has `PART/NAME`, by its own `named_weights`, its `parts`, or its weights' names.
    """
    weights = {}
    for name in parts:
        part: Any = getattr(layer, name, None)
        if isinstance(part, keras.Variable):
            weights[name] = part
            continue
        if hasattr(part, "named_weights"):
            inner = part.named_weights()
        elif hasattr(part, "parts"):
            inner = named_weights(part, *part.parts)
        else:
            inner = {weight.name: weight for weight in getattr(part, "weights", ())}
        weights |= {f"{name}/{key}": weight for key, weight in inner.items()}
    return weights


@keras.saving.register_keras_serializable("elmo_keras")
class TokenVectors(keras.layers.Layer):
    """Vectors of tokens for the input and the output of a task's network.

    `[word; endings; characters]` is the baseline, trained with the task: a vector for
    each known word in lower case, one for all others; the sum of vectors of a word's last
    characters; and a small CNN over all characters.
    Words start with random vectors, or with those given to `assign_word_vectors`.
    ELMo is concatenated to these at the input; or returned for the task model to
    concatenate to its network's output; or both, each with a mix of its own.

    Args:
        words: the words with a vector of their own, see `frequent_words`; if empty,
            there are no word vectors.
        word_dim: size of a word's vector.
        trainable_words: whether the vectors of words are trained with the task.
        endings: the endings of words that have a vector, of `word_dim`, see
            `frequent_endings`; if empty, there are none.
        character_dim: size of the vector of a word's characters, even; 0 for none.
        elmo: an `Elmo` layer, or None for the baseline. It needs one representation
            for each place that `elmo_at` names.
        elmo_at: `"input"`, `"output"` or `"both"`.
        dropout: rate of the dropout on words and characters; ELMo has its own.

    Call arguments:
        tokens: string tensor `(batch, time)` padded with `""`.
        layers: float tensor `(batch, num_layers + 1, time, 2 · projection_dim)`, the
            result of `elmo.all_layers(tokens)`, so that it is not computed again; or None.

    Output: the vectors at the input `(batch, time, input_dim)`, those at the output
    `(batch, time, output_dim)` or None, and the mask of real tokens, bool `(batch,
    time)`. Vectors at padding are arbitrary.

    Raises:
        ValueError: an argument is out of range, or the arguments leave no vectors.

    >>> vectors = TokenVectors(words=["a", "word"], word_dim=5, character_dim=2)
    >>> at_input, at_output, mask = vectors(tf.constant([["A", "word"], ["Two", ""]]))
    >>> at_input.shape, at_output, mask.numpy().tolist()
    (TensorShape([2, 2, 7]), None, [[True, True], [True, False]])

    Reference: Peters et al. 2018, section 3.3.
    """

    def __init__(
        self,
        words: Iterable[str] = (),
        word_dim: int = 100,
        character_dim: int = 64,
        *,
        elmo: Elmo | None = None,
        elmo_at: str = "input",
        dropout: float = 0.5,
        trainable_words: bool = True,
        endings: Iterable[str] = (),
        **kwargs,
    ):
        check_counts(least=0, word_dim=word_dim, character_dim=character_dim)
        super().__init__(**kwargs)
        self.supports_jit = False  # XLA has no strings
        self.words = tuple(str_tokens(words))
        self.word_dim, self.character_dim = word_dim, character_dim
        self.elmo, self.elmo_at = elmo, elmo_at
        self.trainable_words = trainable_words
        self.endings = tuple(str_tokens(endings))
        self._check()
        if self.words:
            check_names(words=self.words)
            self.word_ids = _search(self.words)
            self.initializer = keras.initializers.RandomUniform()
            self.word_vectors = Embedding(
                len(self.words) + 1,
                word_dim,
                self.initializer,  # pyright: ignore[reportArgumentType]
                trainable=trainable_words,
            )
        if self.endings:
            check_names(endings=self.endings)
            self.ending_ids = _search(self.endings)
            self.ending_vectors = Embedding(len(self.endings) + 1, word_dim)
        if character_dim:
            self.characters = CharacterCNN(
                [(width, character_dim // len(WIDTHS)) for width in WIDTHS],
                character_dim,
                n_highway=0,
            )
        self.dropout = dropout
        self.drop = keras.layers.Dropout(dropout)

    def _check(self):
        n = len(elmo_positions(self.elmo_at))
        if self.character_dim % len(WIDTHS):
            raise ValueError(
                f"`character_dim` should be even. Received: {self.character_dim}"
            )
        if self.elmo is not None and self.elmo.num_representations != n:
            raise ValueError(
                f"`elmo` should have {n} representations where `elmo_at` is "
                f"{self.elmo_at!r}. Received: {self.elmo.num_representations}"
            )
        if not self.input_dim:
            raise ValueError(
                "`words`, `character_dim` or `elmo` at the input should be given. "
                "Received: none of them"
            )

    @property
    def input_dim(self) -> int:
        elmo_dim = 0 if self.elmo_at == "output" else self._elmo_dim
        n_tables = bool(self.words) + bool(self.endings)
        return n_tables * self.word_dim + self.character_dim + elmo_dim

    @property
    def output_dim(self) -> int:
        """Size of a vector at the output, 0 if there is none."""
        return 0 if self.elmo_at == "input" else self._elmo_dim

    @property
    def _elmo_dim(self):
        return 0 if self.elmo is None else 2 * self.elmo.config.projection_dim

    @property
    def mixes(self) -> dict:
        """Position → mix of the biLM's layers there, see `layers.ScalarMix`."""
        if self.elmo is None:
            return {}
        return dict(zip(elmo_positions(self.elmo_at), self.elmo.mixes))

    def build(self, input_shape=None):
        if self.built:
            return  # a loaded layer is built before the model that contains it
        if self.words:
            self.word_vectors.build((None, None))
        if self.endings:
            self.ending_vectors.build((None, None))
        if self.character_dim:
            self.characters.build((None, CHARACTERS.max_characters_per_token))
        if self.elmo is not None and not self.elmo.built:
            self.elmo.build()

    def assign_word_vectors(self, words: Sequence[str], vectors: np.ndarray) -> None:
        """Sets the initial vectors of words; other words get random ones of like size.

        Args:
            words: some of the layer's words, in lower case.
            vectors: float array `(words, word_dim)`.

        Raises:
            ValueError: a word is not one of the layer's, or the shape is another.
        """
        ids = {word: i for i, word in enumerate(self.words, 1)}
        unknown = [word for word in words if word not in ids]
        if unknown:
            raise ValueError(
                "`words` should be among the words of the layer, which are in lower "
                f"case. Received: {unknown[0]!r}"
            )
        if np.shape(vectors) != (shape := (len(words), self.word_dim)):
            raise ValueError(
                f"`vectors` should have the shape {shape}, for {len(words)} words. "
                f"Received: {np.shape(vectors)}"
            )
        if not len(words):
            return
        self.build()
        table = np.array(self.initializer((len(self.words) + 1, self.word_dim)))
        size = np.sqrt(np.mean(np.square(vectors)))
        table *= size / np.sqrt(np.mean(np.square(table)))
        table[[ids[word] for word in words]] = vectors
        self.word_vectors.set_weights([table])

    def call(self, tokens, layers=None, training=False):
        parts = []
        lower = tf.strings.lower(tokens, encoding="utf-8")
        if self.words:
            parts.append(self.word_vectors(self.word_ids(lower)))
        if self.endings:
            parts.append(self._encode_endings(lower))
        if self.character_dim:
            parts.append(self._encode_characters(tokens, training))
        if parts:
            parts = [self.drop(tf.concat(parts, axis=-1), training=training)]
        at_output = None
        if self.elmo is not None:
            text = tokens if layers is None else layers
            vectors = self.elmo(text, training=training)
            vectors = vectors if self.elmo_at == "both" else [vectors]
            by_position = dict(zip(self.mixes, vectors))
            at_output = by_position.get("output")
            parts += [by_position["input"]] if "input" in by_position else []
        return tf.concat(parts, axis=-1), at_output, token_mask(tokens)

    def _encode_endings(self, tokens):
        """The sum of the vectors of each word's last 1, 2, … characters."""
        words, index = tf.unique(tf.reshape(tokens, [-1]))
        sizes = tf.range(1, max(map(len, self.endings)) + 1)[:, None]
        first = tf.maximum(tf.strings.length(words, "UTF8_CHAR") - sizes, 0)
        words, sizes = tf.broadcast_to(words, tf.shape(first)), sizes + 0 * first
        endings = tf.strings.substr(words, first, sizes, "UTF8_CHAR")
        vectors = self.ending_vectors(self.ending_ids(endings))
        vectors = tf.gather(tf.reduce_sum(vectors, axis=0), index)
        return tf.reshape(vectors, [*tf.unstack(tf.shape(tokens)), self.word_dim])

    def _encode_characters(self, tokens, training):
        """The CNN's vectors; it reads each distinct word once."""
        words, index = tf.unique(tf.reshape(tokens, [-1]))
        ids = characters_of_words(words, CHARACTERS)
        ids.set_shape((None, CHARACTERS.max_characters_per_token))
        vectors = tf.gather(self.characters(ids, training=training), index)
        shape = tf.concat([tf.shape(tokens), [self.character_dim]], axis=0)
        vectors = tf.reshape(vectors, shape)
        return tf.ensure_shape(vectors, (*tokens.shape, self.character_dim))

    def named_weights(self) -> dict[str, keras.Variable]:
        """All weights except the biLM's, by names such as `input_mix/gamma`."""
        weights = {
            f"{position}_mix/{weight.name}": weight
            for position, mix in self.mixes.items()
            for weight in mix.weights
        }
        if self.words:
            weights["words/embeddings"] = self.word_vectors.embeddings
        if self.endings:
            weights["endings/embeddings"] = self.ending_vectors.embeddings
        return weights | named_weights(self, "characters")

    def arguments(self) -> dict[str, Any]:
        """The arguments of the class except `elmo`, in types of JSON."""
        return {
            "words": list(self.words),
            "word_dim": self.word_dim,
            "character_dim": self.character_dim,
            "elmo_at": self.elmo_at,
            "dropout": self.dropout,
            "trainable_words": self.trainable_words,
            "endings": list(self.endings),
        }

    def get_config(self):
        elmo = keras.saving.serialize_keras_object(self.elmo)
        return super().get_config() | {"elmo": elmo} | self.arguments()

    @classmethod
    def from_config(cls, config):
        elmo = keras.saving.deserialize_keras_object(config["elmo"])
        return cls(**config | {"elmo": elmo})


def _search(strings):
    """Finds the ids of strings, from 1 on; all others have 0."""
    return StringSearch(strings, range(1, len(strings) + 1), unknown=0)


def frequent_words(sentences: Iterable[Sequence[str]], min_count: int = 2) -> list[str]:
    """The words, in lower case, that occur `min_count` times or more, in order of frequency."""
    counts = collections.Counter(token.lower() for s in sentences for token in s)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [word for word, count in ordered if count >= min_count]


def frequent_endings(
    sentences: Iterable[Sequence[str]], longest: int, min_count: int = 2
) -> list[str]:
    """The last 1 to `longest` characters that `min_count` distinct words or more end in."""
    words = {token.lower() for sentence in sentences for token in sentence}
    counts = collections.Counter(
        word[-n:] for word in words for n in range(1, longest + 1) if n <= len(word)
    )
    return sorted(ending for ending, count in counts.items() if count >= min_count)
