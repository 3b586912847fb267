"""The highest score of each n-gram filter over the windows of a word, for training.

Its gradient is written out: it needs of each score only whether it is the highest. A long
word costs more in its own piece only. Pieces are cut in the graph, or before it for XLA.
"""

from typing import NamedTuple

import tensorflow as tf

from elmo_keras.layers.loops import rows_array, write_all

WORDS_AT_ONCE = 256  # measured with 1,700 distinct words and 64 to 1,024


class _Filters(NamedTuple):
    """`table` (ids, dim), and filters of the greatest width (width · dim, filters)."""

    table: tf.Tensor
    kernel: tf.Tensor
    width: int


def ngram_maxima(words, ends, table, *, kernels):
    """The highest scores (words, filters) of words sorted by length, without biases.

    `words` int32 (words, characters) are rows of `table` (ids, dim); their padding begins
    at `ends` int32 (words,). `kernels` are (width, dim, count) for each group of filters.
    """
    outside = table.shape[0]
    width = max(kernel.shape[0] for kernel in kernels)
    after = tf.fill([tf.shape(words)[0], width - 1], outside)
    words = tf.concat([words, after], axis=1)

    @tf.custom_gradient
    def run(table, kernel):
        filters = _Filters(table, kernel, width)
        maxima, activations = _forward(words, ends, filters)

        def gradient(upstream):
            return _backward(
                words, ends, filters, activations=activations, upstream=upstream
            )

        return maxima, gradient

    return run(_add_outside(table), _join_kernels(kernels, width))


def maxima_of_pieces(pieces, table, *, kernels):
    """Computes `ngram_maxima` of the words of all `pieces`, one after another.

    A piece is int32 (words, n_windows + width − 1), with `table`'s size as the id of positions
    after the last character; windows after its last one would be equal to that one.
    """
    width = max(kernel.shape[0] for kernel in kernels)
    # With int64 the gradient's indices stay on a GPU.
    pieces = [tf.cast(tf.transpose(piece), tf.int64) for piece in pieces]

    @tf.custom_gradient
    def run(table, kernel):
        filters = _Filters(table, kernel, width)
        results = [_piece_forward(ids, filters) for ids in pieces]

        def gradient(upstream):
            sizes = [tf.shape(ids)[1] for ids in pieces]
            d_maxima = tf.split(upstream, sizes, num=len(pieces))
            gradients = [
                _piece_backward(ids, filters, windows, equal, d)
                for ids, (_, windows, equal), d in zip(pieces, results, d_maxima)
            ]
            d_table, d_kernel = map(tf.add_n, zip(*gradients))
            return _gradients(d_table, d_kernel, upstream.dtype)

        return tf.concat([highest for highest, *_ in results], axis=0), gradient

    return run(_add_outside(table), _join_kernels(kernels, width))


def _add_outside(table):
    """The table with a row for positions after the last one, marked by one more feature."""
    outside = tf.one_hot([table.shape[1]], table.shape[1] + 1, dtype=table.dtype)
    return tf.concat([tf.pad(table, [[0, 0], [0, 1]]), outside], axis=0)


def _join_kernels(kernels, width):
    """All filters at the greatest width; windows beyond the word score very low."""
    groups = []
    for kernel in kernels:
        kernel_width, _, count = kernel.shape
        low = tf.fill([kernel_width, 1, count], kernel.dtype.min) / (2 * width)
        kernel = tf.concat([kernel, low], axis=1)
        groups.append(tf.pad(kernel, [[0, width - kernel_width], [0, 0], [0, 0]]))
    return tf.reshape(tf.concat(groups, axis=2), [-1, sum(k.shape[2] for k in kernels)])


def _pieces(words, ends, width):
    """Number of pieces; a function to a piece's ids (n_windows + width − 1, words)."""
    n_words = tf.shape(words)[0]
    longest = tf.shape(words)[1] - width + 1

    def piece(i):
        first = i * WORDS_AT_ONCE
        end = tf.reduce_max(tf.concat([[0], ends[first : first + WORDS_AT_ONCE]], 0))
        # One window of padding after the longest word stands for all of them.
        n_windows = tf.minimum(end + 1, longest)
        piece_words = words[first : first + WORDS_AT_ONCE, : n_windows + width - 1]
        # With int64 the gradient's indices stay on a GPU.
        return tf.cast(tf.transpose(piece_words), tf.int64)

    return tf.maximum(1, (n_words + WORDS_AT_ONCE - 1) // WORDS_AT_ONCE), piece


def _forward(words, ends, filters):
    """The maxima; and the windows of all pieces, and which scores are the highest."""
    n_pieces, piece = _pieces(words, ends, filters.width)
    (depth, n_filters), dtype = filters.kernel.shape, filters.table.dtype

    def one_piece(i, arrays):
        values = _piece_forward(piece(i), filters)
        return i + 1, write_all(arrays, (i, i, i), values)

    sizes = (dtype, n_filters), (dtype, depth), (tf.bool, n_filters)
    arrays = tuple(rows_array(kind, n_pieces, width) for kind, width in sizes)
    _, arrays = tf.while_loop(
        lambda i, _: i < n_pieces, one_piece, (0, arrays), parallel_iterations=1
    )
    # A SavedModel can't have a gradient that reads arrays.
    maxima, *activations = (array.concat() for array in arrays)
    return tf.ensure_shape(maxima, (words.shape[0], n_filters)), activations


def _piece_forward(ids, filters):
    """The maxima of a piece's ids, its windows, and which scores are the highest."""
    depth, n_filters = filters.kernel.shape
    x = tf.gather(filters.table, ids)
    n_windows = tf.shape(x)[0] - filters.width + 1
    windows = [x[k : k + n_windows] for k in range(filters.width)]
    windows = tf.reshape(tf.concat(windows, axis=2), [-1, depth])
    scores = tf.reshape(tf.matmul(windows, filters.kernel), [n_windows, -1, n_filters])
    highest = tf.reduce_max(scores, axis=0)
    return highest, windows, tf.reshape(scores == highest, [-1, n_filters])


def _backward(words, ends, filters, *, activations, upstream):
    """Gradients with respect to the table and the kernel."""
    n_pieces, piece = _pieces(words, ends, filters.width)
    windows, highest = activations
    n_ids, dim = filters.table.shape[0], filters.table.shape[1] - 1

    def one_piece(i, start, sums):
        ids, first = piece(i), i * WORDS_AT_ONCE
        end = start + (tf.shape(ids)[0] - filters.width + 1) * tf.shape(ids)[1]
        piece_activations = windows[start:end], highest[start:end]
        d_maxima = upstream[first : first + WORDS_AT_ONCE]
        gradients = _piece_backward(ids, filters, *piece_activations, d_maxima)
        return i + 1, end, tuple(a + b for a, b in zip(sums, gradients))

    dtype = _sum_dtype(upstream)
    zeros = tf.zeros((n_ids, dim), dtype), tf.zeros(filters.kernel.shape, dtype)
    _, _, (d_table, d_kernel) = tf.while_loop(
        lambda i, *_: i < n_pieces, one_piece, (0, 0, zeros), parallel_iterations=1
    )
    return _gradients(d_table, d_kernel, upstream.dtype)


def _piece_backward(ids, filters, windows, highest, upstream):
    """A piece's gradients of the table's characters and of the kernel, to be summed."""
    n_ids, dim = filters.table.shape[0], filters.table.shape[1] - 1
    transposed = tf.reshape(filters.kernel, [filters.width, dim + 1, -1])[:, :dim]
    transposed = tf.transpose(tf.reshape(transposed, [filters.width * dim, -1]))
    shape = tf.shape(ids)[0] - filters.width + 1, tf.shape(ids)[1], highest.shape[1]
    # The gradient of the scores: equal shares if several are the highest. TensorFlow's own
    # gradient of a maximum lets the host wait for a GPU.
    highest = tf.cast(tf.reshape(highest, shape), upstream.dtype)
    d_scores = highest * (upstream / tf.reduce_sum(highest, axis=0))
    d_scores = tf.reshape(d_scores, [-1, upstream.shape[1]])
    # The gradient of the characters' vectors, from that of the windows.
    d_windows = tf.matmul(d_scores, transposed)
    d_windows = tf.reshape(d_windows, [*shape[:2], filters.width, dim])
    d_x = tf.add_n(
        [
            tf.pad(d_windows[:, :, k], [[k, filters.width - 1 - k], [0, 0], [0, 0]])
            for k in range(filters.width)
        ]
    )
    gradients = (
        tf.math.unsorted_segment_sum(d_x, ids, n_ids),
        tf.matmul(windows, d_scores, transpose_a=True),
    )
    return [tf.cast(gradient, _sum_dtype(upstream)) for gradient in gradients]


def _sum_dtype(upstream):
    return tf.float64 if upstream.dtype == tf.float64 else tf.float32


def _gradients(d_table, d_kernel, dtype):
    """The gradients of `_add_outside`'s table and of the kernel."""
    return tf.cast(tf.pad(d_table, [[0, 0], [0, 1]]), dtype), tf.cast(d_kernel, dtype)
