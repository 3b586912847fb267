"""The context-independent vectors of words, computed from their characters."""

from collections.abc import Sequence

import keras
import tensorflow as tf
from keras import ops

from elmo_keras.base.argument_checks import check_choices, check_counts
from elmo_keras.layers.blocked_weights import initial
from elmo_keras.layers.highway import Highway
from elmo_keras.layers.loops import HOST, rows_array
from elmo_keras.layers.ngram_maxima import maxima_of_pieces, ngram_maxima
from elmo_keras.layers.unquantized import Dense

N_CHARACTERS = 261  # bytes, start and end of sentence and word, padding

# Words that go through the convolutions together. The widest published group of
# filters has 1024 × 44 values per word, so a piece needs about 90 MiB.
WORDS_AT_ONCE = 512


@keras.saving.register_keras_serializable("elmo_keras")
class CharacterCNN(keras.layers.Layer):
    """The token representation x of ELMo.

        x = [word; highways(activation(max over positions of the n-grams))] W + b

    Only models of ELMoForManyLangs have both parts. A published biLM has no vectors of
    words, a model of words only has x = word W + b, and a language model of tokens of
    bilm-tf x = word.

    Args:
        filters: `(width, count)` of each group of n-gram filters, none without
            characters.
        projection_dim: size of the output. If it equals the number of filters,
            there is no projection, as in bilm-tf.
        embedding_dim: size of a character's vector.
        n_highway: number of highway layers.
        activation: `"relu"` or `"tanh"`.
        has_projection: None for the rule above.
        n_characters, n_words: numbers of different ids of characters and of words; 0
            for vectors without them.
        word_dim: size of a word's own vector.

    Call arguments:
        inputs: integer tensor `(..., ids)` as `elmo_keras.character_ids` returns it:
            the id of the word, if `n_words`, and then those of its characters, if
            `n_characters`. 0 is a masked position, whose characters' vectors are 0; any
            other id is that of the published training, or of the dictionary, plus one.
        training: whether all activations are kept for the gradient.

    Output: float tensor `(..., projection_dim)`. The mask `(...)` is true for
    words with any id above 0.

    Words are computed independently, so pass each distinct word once.

    Example:

    >>> cnn = CharacterCNN(filters=((1, 4), (2, 8)), projection_dim=6)
    >>> cnn(keras.ops.ones((2, 3, 10), "int32")).shape
    TensorShape([2, 3, 6])

    Reference: Kim et al. 2016; Jozefowicz et al. 2016; Peters et al. 2018, 3.4; Che et
    al. 2018, "Towards Better UD Parsing", section 2.1.
    """

    def __init__(
        self,
        filters: Sequence[tuple[int, int]],
        projection_dim: int,
        embedding_dim: int = 16,
        *,
        n_highway: int = 1,
        activation: str = "relu",
        has_projection: bool | None = None,
        n_characters: int = N_CHARACTERS,
        n_words: int = 0,
        word_dim: int = 0,
        **kwargs,
    ):
        check_choices(("relu", "tanh"), activation=activation)
        check_counts(projection_dim=projection_dim)
        check_counts(0, embedding_dim=embedding_dim)
        check_counts(0, 100, n_highway=n_highway)
        self.filters = tuple((width, count) for width, count in filters)
        for width, count in self.filters:
            check_counts(width=width, count=count)
        if bool(n_words) != bool(word_dim):
            raise ValueError(
                "`n_words` and `word_dim` should both be 0, or both above 0. "
                f"Received: {n_words} and {word_dim}"
            )
        if bool(n_characters) != bool(self.filters) or not (n_characters or n_words):
            raise ValueError(
                "`n_characters` and `filters` should both be given, or neither where "
                f"there are `n_words`. Received: {n_characters} and {self.filters}"
            )
        super().__init__(**kwargs)
        self.projection_dim, self.embedding_dim = projection_dim, embedding_dim
        self.n_highway, self.activation = n_highway, activation
        self.n_characters = n_characters
        self.n_words, self.word_dim = n_words, word_dim
        self.highways = [
            Highway(name=f"highway_{i}", dtype=self.dtype_policy)
            for i in range(n_highway if self.filters else 0)
        ]
        self.projection, self.has_projection = None, has_projection
        if has_projection is None:
            has_projection = self.n_filters != projection_dim
        if has_projection:
            stddev = max(self.n_filters, 1) ** -0.5
            normal = keras.initializers.RandomNormal(stddev=stddev)
            self.projection = Dense(
                projection_dim,
                kernel_initializer=initial(normal),  # pyright: ignore[reportArgumentType]
                name="projection",
                dtype=self.dtype_policy,
            )

    @property
    def n_filters(self):
        return sum(count for _, count in self.filters)

    def build(self, input_shape):
        dim, uniform = self.embedding_dim, keras.initializers.RandomUniform

        def add(name, shape, initializer):
            return self.add_weight(shape, initial(initializer), name=name)

        def kernel(i, width, count):
            # The values of bilm-tf: Kim et al.'s ±0.05 for ReLU, Glorot's normal for tanh.
            if self.activation == "relu":
                values = uniform(-0.05, 0.05)
            else:
                values = keras.initializers.RandomNormal(stddev=(width * dim) ** -0.5)
            return add(f"kernel_{i}", (width, dim, count), values)

        values = uniform(-1.0, 1.0)
        if self.n_characters:
            self.embeddings = add("embeddings", (self.n_characters, dim), values)
        self.kernels = [kernel(i, *group) for i, group in enumerate(self.filters)]
        self.biases = [
            add(f"bias_{i}", (count,), "zeros")
            for i, (_, count) in enumerate(self.filters)
        ]
        for highway in self.highways:
            highway.build((None, self.n_filters))
        if self.projection is not None:
            self.projection.build((None, self.word_dim + self.n_filters))
        if self.n_words:
            values = uniform(-1.0, 1.0)
            if self.projection is None:  # TensorFlow's default, which bilm-tf takes
                values = keras.initializers.GlorotUniform()
            shape = self.n_words, self.word_dim
            self.word_embeddings = add("word_embeddings", shape, values)

    def call(self, inputs, training=False):
        ids = tf.cast(tf.convert_to_tensor(inputs), tf.int32)
        if not self.n_characters:
            x = self._word_vectors(ids)
            return x if self.projection is None else self.projection(x)
        leading = tf.shape(ids)[:-1]
        words = tf.reshape(ids, [-1, tf.shape(ids)[-1]])
        # In pieces, each takes as long as its longest word does.
        ends = _ends(self._characters(words))
        with tf.device(HOST):
            order = tf.argsort(ends, stable=True)
            words, ends = tf.gather(words, order), tf.gather(ends, order)
            ranks = tf.math.invert_permutation(order)
        if training and self.trainable:
            characters = self._characters(words)
            vectors = self._call_maxima(ngram_maxima, characters, ends, words=words)
        else:
            vectors = self._call_sorted(words, ends)
        vectors = tf.gather(vectors, ranks)
        shape = tf.concat([leading, [self.projection_dim]], axis=0)
        vectors = tf.reshape(vectors, shape)
        return tf.ensure_shape(vectors, inputs.shape[:-1] + (self.projection_dim,))

    def call_pieces(self, pieces):
        """The vectors (words, projection_dim) of all words of pieces, in training.

        Each is (words, ids), as `cut_pieces` makes them, of shapes that XLA can compile.
        """
        words = tf.concat([piece[:, :1] for piece in pieces], axis=0)
        if not self.n_characters:
            return self.call(words)
        characters = [self._characters(piece) for piece in pieces]
        return self._call_maxima(maxima_of_pieces, characters, words=words)

    def _characters(self, words):
        return words[:, 1:] if self.n_words else words

    def _word_vectors(self, words):
        """The vectors of words of the dictionary; arbitrary at a masked position."""
        ids = tf.maximum(tf.cast(words[..., 0], tf.int64) - 1, 0)
        table = tf.convert_to_tensor(self.word_embeddings)
        return tf.cast(tf.gather(table, ids), self.compute_dtype)

    def _compute(self, variable):
        return tf.cast(tf.convert_to_tensor(variable), self.compute_dtype)

    def _table(self):
        """The vectors of all ids; 0 is a masked position."""
        return tf.pad(self._compute(self.embeddings), [[1, 0], [0, 0]])

    def _call_maxima(self, maxima, *characters, words):
        """The vectors of all words, with their activations kept for the gradient."""
        kernels = [self._compute(kernel) for kernel in self.kernels]
        x = maxima(*characters, self._table(), kernels=kernels)
        x += tf.concat([self._compute(bias) for bias in self.biases], axis=0)  # pyright: ignore[reportOperatorIssue]
        return self._project_maxima(x, words)

    def _call_sorted(self, words, ends):
        """The vectors of words that are sorted by length."""
        n_words = tf.shape(words)[0]
        n_pieces = tf.maximum(1, (n_words + WORDS_AT_ONCE - 1) // WORDS_AT_ONCE)
        widest = max(width for width, _ in self.filters)

        def piece(i, vectors):
            rows = slice(i * WORDS_AT_ONCE, (i + 1) * WORDS_AT_ONCE)
            characters = self._characters(words[rows])
            # One window of padding after the longest word stands for all of them.
            end = tf.reduce_max(tf.concat([[0], ends[rows]], 0))
            # With int64 the gradient's indices stay on a GPU.
            characters = tf.cast(tf.transpose(characters[:, : end + widest]), tf.int64)
            x = tf.gather(self._table(), characters)  # (characters, words, dim)
            maxima = []
            for kernel, bias in zip(self.kernels, self.biases):
                width, dim, count = kernel.shape
                # One matrix product over all windows is faster here than TensorFlow's
                # convolution, which also fails on a batch without words.
                kernel = tf.reshape(self._compute(kernel), [-1, count])
                n_windows = tf.shape(x)[0] - width + 1
                windows = tf.concat(
                    [x[k : k + n_windows] for k in range(width)], axis=-1
                )
                scores = tf.matmul(tf.reshape(windows, [-1, width * dim]), kernel)
                scores = tf.reshape(scores, [n_windows, tf.shape(x)[1], count])
                # The bias is the same for every window, so it can wait until after the max.
                maxima.append(tf.reduce_max(scores, axis=0) + self._compute(bias))
            x = self._project_maxima(tf.concat(maxima, axis=-1), words[rows])
            return i + 1, vectors.write(i, x)

        vectors = rows_array(self.compute_dtype, n_pieces, self.projection_dim)
        _, vectors = tf.while_loop(
            lambda i, _: i < n_pieces, piece, (0, vectors), parallel_iterations=1
        )
        return vectors.concat()

    def _project_maxima(self, x, words):
        """The vectors of words from the maxima of their n-grams (words, n_filters)."""
        x = keras.activations.get(self.activation)(x)
        for highway in self.highways:
            x = highway(x)
        if self.n_words:
            x = tf.concat([self._word_vectors(words), x], axis=-1)  # pyright: ignore[reportArgumentType, reportCallIssue]
        return x if self.projection is None else self.projection(x)

    def compute_mask(self, inputs, mask=None):
        return ops.any(ops.not_equal(inputs, 0), axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.projection_dim)

    def get_config(self):
        return super().get_config() | {
            "filters": [list(group) for group in self.filters],
            "projection_dim": self.projection_dim,
            "embedding_dim": self.embedding_dim,
            "n_highway": self.n_highway,
            "activation": self.activation,
            "has_projection": self.has_projection,
            "n_characters": self.n_characters,
            "n_words": self.n_words,
            "word_dim": self.word_dim,
        }


def _ends(words):
    """The position where the padding at the end of each row begins: int32 (words,)."""
    # int32 throughout: with a GPU the host computes this, and nothing waits.
    steps = words[:, 1:] - words[:, :-1]
    changes = tf.minimum(steps * steps, 1)
    positions = tf.range(1, tf.shape(words)[1])  # (characters - 1,)
    return tf.reduce_max(tf.pad(positions * changes, [[0, 0], [1, 0]]), axis=1)
