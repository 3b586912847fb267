"""Trees and lemmas by TensorFlow's graphs, for SavedModels: the same as `decoding`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.heads.parser.decoding import LONGEST, ROOT, WHOLE, read_rule
from elmo_keras.text.characters import StringSearch
from elmo_keras.text.tokens import token_mask


def answers(model: Any, inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """`head`, int32, `deprel` and each of the labels, strings: `(batch, time)`.

    They are −1 and `""` at padding. The trees are those of `predict`.
    """
    tokens, outputs = inputs["tokens"], model(inputs, training=False)
    mask = token_mask(tokens)
    arcs = tf.cast(model.score_arcs(tokens, outputs), tf.float32)
    n_words = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    heads = tf.ensure_shape(best_trees(arcs, n_words), tokens.shape)
    relations = _best(model.score_relations(outputs, heads))
    relations = tf.gather(tf.constant(model.relations), relations)
    names = {"deprel": tf.where(heads == 0, ROOT, relations)}
    for name, rules in model.labels.items():
        ids = _best(outputs[name])
        if name == "lemma":
            names[name] = graph_lemmas(tokens, ids, rules, model.lemmas)
        else:
            names[name] = tf.gather(tf.constant(rules), ids)
    return {"head": tf.where(mask, heads, -1)} | {
        name: tf.where(mask, x, "") for name, x in names.items()
    }


def _best(scores):
    return tf.argmax(scores, axis=-1, output_type=tf.int32)


def best_trees(
    scores: tf.Tensor, n_words: tf.Tensor, longest: int = LONGEST
) -> tf.Tensor:
    """The heads of each sentence: `(batch, time, 1 + time)` → int32 `(batch, time)`.

    They are those of `spanning_tree`; 0 at padding, from `n_words` `(batch,)` on. Of a
    sentence of more than `longest` words, the roots of later pieces hang on the first one.
    """
    pieces = tf.ragged.range(tf.zeros_like(n_words), n_words, longest)

    def tree(piece):
        row, first = piece
        last = tf.minimum(first + longest, n_words[row])
        arcs = scores[row, first:last]
        arcs = tf.concat([arcs[:, :1], arcs[:, 1 + first : 1 + last]], axis=1)
        heads = _best_tree(tf.cast(arcs, tf.float64))
        return tf.where(heads > 0, heads + first, 0)

    trees = tf.map_fn(
        tree,
        (tf.cast(pieces.value_rowids(), tf.int32), pieces.flat_values),
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int32),
    )
    time = tf.shape(scores)[1]
    words = tf.sequence_mask(n_words, time)
    positions = tf.where(words)
    shape = tf.shape(words, positions.dtype)
    heads = tf.scatter_nd(positions, trees.flat_values, shape)
    is_root = words & (heads == 0)
    rank = tf.cumsum(tf.cast(is_root, tf.int32), axis=1)
    root = tf.where(is_root & (rank == 1), tf.range(1, time + 1), 0)
    root = tf.reduce_max(root, axis=1, keepdims=True)
    return tf.where(is_root & (rank > 1), root, heads)


def _best_tree(scores):
    """The same as `spanning_tree`, in TensorFlow ops."""
    square = tf.pad(tf.transpose(scores), [[0, 0], [1, 0]])
    nodes = tf.range(tf.shape(square)[0])
    is_arc = (nodes[:, None] != nodes) & (nodes > 0)
    square = tf.where(is_arc, square, -np.inf)
    heads = _best_heads(square)

    def with_one_root():
        # One arc from the root costs more than all others could gain.
        finite = tf.boolean_mask(square, is_arc)
        size = 1 + tf.reduce_max(finite) - tf.reduce_min(finite)
        cost = tf.cast(tf.size(nodes), square.dtype) * size
        return _best_heads(tf.where(nodes[:, None] == 0, square - cost, square))

    n_roots = tf.math.count_nonzero(heads[1:] == 0)
    return tf.cond(n_roots > 1, with_one_root, lambda: heads)[1:]


def _best_heads(scores):
    """The heads as `decoding` finds them, in squares that keep their size.

    A cycle becomes its last node.

    `ends`, `(nodes, nodes, 2)`, are the head and the dependent of the arc that stands for the
    best one between two nodes; `part` is the node that each word is in.
    """
    n = tf.shape(scores)[0]
    nodes = tf.range(n)
    ends = tf.stack(tf.meshgrid(nodes, nodes, indexing="ij"), axis=-1)

    def arcs_from(heads, dependents, *values):
        at = tf.stack([heads, dependents], axis=1)
        return [tf.gather_nd(x, at) for x in values]

    def jump(heads):
        """Each word's node after at least n arcs; the largest number that reaches a node."""
        return tf.while_loop(
            lambda steps, *_: steps < n,
            lambda steps, heads, reached: (
                2 * steps,
                tf.gather(heads, heads),
                tf.maximum(reached, tf.math.unsorted_segment_max(reached, heads, n)),
            ),
            (1, *heads),
        )[1:]

    def best_heads(scores):
        heads = tf.argmax(scores, axis=0, output_type=tf.int32)
        return heads, tf.reduce_max(jump((heads, nodes))[0])  # 0 if there is no cycle

    def contract(i, scores, ends, part, records):
        heads, node = best_heads(scores)
        best_scores, arcs = arcs_from(heads, nodes, scores, ends)
        is_node = nodes == node
        inside = jump((heads, tf.cast(is_node, tf.int32)))[1] > 0
        rows, columns = inside[:, None], inside
        into = tf.where(~rows & columns, scores - best_scores, -np.inf)
        out = tf.where(rows & ~columns, scores, -np.inf)
        (entering,) = arcs_from(
            nodes, tf.argmax(into, axis=1, output_type=tf.int32), ends
        )
        (leaving,) = arcs_from(
            tf.argmax(out, axis=0, output_type=tf.int32), nodes, ends
        )
        scores = tf.where(~rows & ~columns, scores, -np.inf)
        scores = tf.where(is_node, tf.reduce_max(into, axis=1)[:, None], scores)
        scores = tf.where(is_node[:, None], tf.reduce_max(out, axis=0), scores)
        ends = tf.where(is_node[:, None], entering[:, None], ends)
        ends = tf.where(is_node[:, None, None], leaving, ends)
        values = node, inside, arcs, part
        records = [record.write(i, x) for record, x in zip(records, values)]
        return (
            i + 1,
            scores,
            ends,
            tf.where(tf.gather(inside, part), node, part),
            records,
        )

    def expand(i, arcs):
        """The arc that enters a cycle replaces one of its own."""
        node, inside, inner_arcs, part = (record.read(i) for record in records)
        entered = part[arcs[node, 1]]
        inner_arcs = tf.where((nodes == entered)[:, None], arcs[node], inner_arcs)
        return i - 1, tf.where(inside[:, None], inner_arcs, arcs)

    types = (tf.int32, []), (tf.bool, [None]), (tf.int32, [None, 2]), (tf.int32, [None])
    records = [
        tf.TensorArray(dtype, 0, dynamic_size=True, element_shape=shape)
        for dtype, shape in types
    ]
    n_cycles, scores, ends, _, records = tf.while_loop(
        lambda _, scores, *others: best_heads(scores)[1] > 0,
        contract,
        (0, scores, ends, nodes, records),
    )
    (arcs,) = arcs_from(best_heads(scores)[0], nodes, ends)
    _, arcs = tf.while_loop(lambda i, _: i >= 0, expand, (n_cycles - 1, arcs))
    return arcs[:, 0]


def graph_lemmas(
    forms: tf.Tensor, ids: tf.Tensor, rules: Sequence[str], lemmas: Mapping[str, str]
) -> tf.Tensor:
    """The lemma of each form, of `lemmas` or by the rule of its id, as `decode_tree` has it."""
    columns = zip(*map(read_rule, rules))
    case, front, before, end, after = (tf.gather([*column], ids) for column in columns)
    length = tf.strings.length(forms, "UTF8_CHAR")
    first = tf.strings.substr(forms, 0, 1, "UTF8_CHAR")
    rest = tf.strings.substr(forms, tf.minimum(length, 1), length, "UTF8_CHAR")
    lower, title = (
        tf.strings.lower(forms, "utf-8"),
        tf.strings.upper(first, "utf-8") + tf.strings.lower(rest, "utf-8"),
    )
    cased = tf.where(case == "lower", lower, tf.where(case == "title", title, forms))
    length = tf.strings.length(cased, "UTF8_CHAR")
    size = tf.maximum(length - front - end, 0)
    stem = tf.strings.substr(cased, tf.minimum(front, length), size, "UTF8_CHAR")
    results = tf.where(size > 0, before + stem + after, forms)
    results = tf.where(case == WHOLE, before, results)
    if lemmas:
        ids = StringSearch(lemmas, range(len(lemmas)), unknown=-1)(forms)
        listed = tf.gather([*lemmas.values()], tf.maximum(ids, 0))
        results = tf.where(ids < 0, results, listed)
    return results
