"""A dependency parser: biaffine scores of arcs, and labels of words."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.argument_checks import check_counts, check_names
from elmo_keras.layers.unquantized import Dense
from elmo_keras.tasks.encoder import NEVER, FastBidirectional
from elmo_keras.tasks.task_model import TaskModel, mean_cross_entropy
from elmo_keras.tasks.token_vectors import TokenVectors
from elmo_keras.tasks.trees import LONGEST, ROOT, SLOPE, WHOLE, decode_tree, read_rule
from elmo_keras.text.characters import StringSearch
from elmo_keras.text.tokens import token_mask


@keras.saving.register_keras_serializable("elmo_keras")
class DependencyParser(TaskModel):
    """Finds the head of each word, the relation to it, and labels of the word.

        h = biLSTM([biLSTM(x); ELMo]),   d, e, r, q, t = leaky ReLU layers(h)
        score(head j of word i) = e_j · (U d_i + u),   score(root) = v · d_i + b
        score(relation l) = [q_j; 1] · (W_l r_i + w_l),   score(label) = V t_i + c

    The heads of a sentence are the maximum spanning tree in which the root has one
    dependent. Its relation is `root`, and no other word has this one.

    Args:
        token_vectors, units, dropout: see `TaskModel`.
        relations: the names of the relations but `root`.
        labels: column of CoNLL-U → its labels; those of `lemma` are rules, see
            `lemma_rule`.
        lemmas: form → its lemma, of forms for which no rule is chosen, see `known_lemmas`.
        arc_units, relation_units, label_units: sizes of the hidden layers d and e, r and q,
            and t.
        follows_guidelines: whether a pipeline makes trees follow UD's guidelines, as those
            of the treebank do.

    Call arguments:
        inputs: `tokens`, strings `(batch, time)`, see `TaskModel`.

    Output: a dict of the vectors whose products are scores, and of the scores of each of
    `labels`, `(batch, time, n)`: `root`, `(batch, time, 1)`, that of the root as head;
    `dependent` and `head`, `(batch, time, arc_units)`, of arcs; `relation`, `(batch, time,
    relations · (1 + relation_units))`, and `relation_head`, `(batch, time, 1 +
    relation_units)`, of relations.

    `predict` takes lists of words, and gives for each a dict of columns: `tokens`, `head`,
    the number of the head from 1 and 0 for the root, `deprel`, and those of `labels`. Of
    tensors it gives int32 `(batch, time, 2 + labels)`: the head, and the indices of the
    relation and of the labels. Labels of the training have this form, −1 at padding and for
    what is not known; the loss is the sum of the means of −log p over words.

    >>> labels = {"upos": ["NOUN", "VERB"]}
    >>> vectors = TokenVectors(words=["it"])
    >>> parser = DependencyParser(vectors, relations=["nsubj"], labels=labels)
    >>> parser.run_eagerly = True  # one sentence needs no graph
    >>> sentence, = parser.predict([["It", "rains"]])
    >>> sorted(sentence["head"])[0], sorted(sentence["deprel"])
    (0, ['nsubj', 'root'])

    Reference: Dozat and Manning 2017; Che et al. 2018.
    """

    compares_tokens = True

    def __init__(
        self,
        token_vectors: TokenVectors,
        *,
        relations: Sequence[str],
        labels: Mapping[str, Sequence[str]],
        lemmas: Mapping[str, str] = MappingProxyType({}),
        units: int = 200,
        dropout: float = 0.3,
        arc_units: int = 200,
        relation_units: int = 64,
        label_units: int = 128,
        follows_guidelines: bool = True,
        **kwargs,
    ):
        check_names(relations=relations, **labels)
        check_counts(
            arc_units=arc_units, relation_units=relation_units, label_units=label_units
        )
        super().__init__(token_vectors, units=units, dropout=dropout, **kwargs)
        self.relations = tuple(relations)
        self.labels = {name: tuple(names) for name, names in labels.items()}
        self.lemmas = dict(lemmas)
        self.arc_units, self.relation_units = arc_units, relation_units
        self.label_units = label_units
        self.follows_guidelines = follows_guidelines
        self.lstm = FastBidirectional(units, name="lstm")
        self.sizes = [arc_units] * 2 + [relation_units] * 2 + [label_units]
        self.hidden = Dense(sum(self.sizes), name="hidden")
        self.arcs = Dense(1 + arc_units, name="arcs")
        n = len(self.relations) * (1 + relation_units)
        self.relation_scores = Dense(n, name="relation_scores")
        n = sum(map(len, self.labels.values()))
        self.label_scores = Dense(n, name="label_scores")

    def part_sizes(self):
        return {
            "lstm": self.encoder.output_dim,
            "hidden": 2 * self.units,
            "arcs": self.arc_units,
            "relation_scores": self.relation_units,
            "label_scores": self.label_units,
        }

    def call(self, inputs, training=False):
        x, _, mask = self.encode(inputs, "tokens", training)
        h = self.drop(self.lstm(x, mask=mask, training=training), training=training)
        hidden = self.drop(tf.nn.leaky_relu(self.hidden(h), SLOPE), training=training)
        d, e, r, q, t = tf.split(hidden, self.sizes, axis=-1)
        root, d = tf.split(self.arcs(d), [1, self.arc_units], axis=-1)
        sizes = [len(names) for names in self.labels.values()]
        scores = tf.split(self.label_scores(t), sizes, axis=-1)
        return {
            "root": root,
            "dependent": d,
            "head": e,
            "relation": self.relation_scores(r),
            "relation_head": tf.pad(q, [[0, 0], [0, 0], [0, 1]], constant_values=1),
        } | dict(zip(self.labels, scores))

    def _arc_scores(self, tokens, outputs):
        """The scores of the root and of all words as heads: `(batch, time, 1 + time)`."""
        arcs = tf.matmul(outputs["dependent"], outputs["head"], transpose_b=True)
        arcs = tf.where(token_mask(tokens)[:, None, :], arcs, NEVER)
        return tf.concat([outputs["root"], arcs], axis=-1)

    def _relation_scores(self, outputs, heads):
        """The scores of each word's relation to its head: `(batch, time, relations)`."""
        heads = tf.maximum(heads - 1, 0)
        head = tf.gather(outputs["relation_head"], heads, batch_dims=1)
        shape = tf.concat([tf.shape(heads), [len(self.relations), -1]], axis=0)
        relation = tf.reshape(outputs["relation"], shape)
        return tf.einsum("btld,btd->btl", relation, head)

    def data_loss(self, x, y, y_pred):
        heads, relations, *labels = tf.unstack(y, 2 + len(self.labels), axis=-1)
        pairs = [(heads, self._arc_scores(x["tokens"], y_pred))]
        pairs.append((relations, self._relation_scores(y_pred, heads)))
        pairs += zip(labels, (y_pred[name] for name in self.labels))
        return sum(mean_cross_entropy(*pair) for pair in pairs)

    def decode(self, inputs, outputs):
        """The head of each word, and the indices of the relation and labels, 0 at padding."""
        tokens = inputs["tokens"]
        arcs = tf.cast(self._arc_scores(tokens, outputs), tf.float32)
        n_words = tf.reduce_sum(tf.cast(token_mask(tokens), tf.int32), axis=1)
        heads = tf.ensure_shape(best_trees(arcs, n_words), tokens.shape)
        scores = [self._relation_scores(outputs, heads)]
        scores += [outputs[name] for name in self.labels]
        best = [tf.argmax(x, axis=-1, output_type=tf.int32) for x in scores]
        return tf.stack([heads, *best], axis=-1)

    def answers(self, inputs):
        """`head`, int32, `deprel` and each of the labels, strings: `(batch, time)`.

        They are −1 and `""` at padding. The trees are those of `predict`.
        """
        heads, relations, *labels = tf.unstack(
            self.decode(inputs, self(inputs, training=False)), axis=-1
        )
        tokens, names = inputs["tokens"], {}
        for name, ids in zip(self.labels, labels):
            rules = self.labels[name]
            if name == "lemma":
                names[name] = graph_lemmas(tokens, ids, rules, self.lemmas)
            else:
                names[name] = tf.gather(tf.constant(rules), ids)
        relations = tf.gather(tf.constant(self.relations), relations)
        names = {"deprel": tf.where(heads == 0, ROOT, relations)} | names
        mask = token_mask(tokens)
        return {"head": tf.where(mask, heads, -1)} | {
            name: tf.where(mask, x, "") for name, x in names.items()
        }

    def result(self, example, output):
        tokens = example["tokens"]
        names = self.relations, self.labels, self.lemmas
        return decode_tree(tokens, output[: len(tokens)], *names)

    def get_config(self):
        return super().get_config() | {
            "relations": list(self.relations),
            "labels": {name: list(names) for name, names in self.labels.items()},
            "lemmas": self.lemmas,
            "arc_units": self.arc_units,
            "relation_units": self.relation_units,
            "label_units": self.label_units,
            "follows_guidelines": self.follows_guidelines,
        }


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

    found = tf.map_fn(
        tree,
        (tf.cast(pieces.value_rowids(), tf.int32), pieces.flat_values),
        fn_output_signature=tf.RaggedTensorSpec([None], tf.int32),
    )
    time = tf.shape(scores)[1]
    words = tf.sequence_mask(n_words, time)
    places = tf.where(words)
    shape = tf.shape(words, places.dtype)
    heads = tf.scatter_nd(places, found.flat_values, shape)
    is_root = words & (heads == 0)
    rank = tf.cumsum(tf.cast(is_root, tf.int32), axis=1)
    root = tf.where(is_root & (rank == 1), tf.range(1, time + 1), 0)
    root = tf.reduce_max(root, axis=1, keepdims=True)
    return tf.where(is_root & (rank > 1), root, heads)


def _best_tree(scores):
    """As `spanning_tree`."""
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
    """As in `trees`, of squares that keep their size: a cycle becomes its last node.

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
        own, arcs = arcs_from(heads, nodes, scores, ends)
        is_node = nodes == node
        inside = jump((heads, tf.cast(is_node, tf.int32)))[1] > 0
        rows, columns = inside[:, None], inside
        into = tf.where(~rows & columns, scores - own, -np.inf)
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
        node, inside, own, part = (record.read(i) for record in records)
        entered = part[arcs[node, 1]]
        own = tf.where((nodes == entered)[:, None], arcs[node], own)
        return i - 1, tf.where(inside[:, None], own, arcs)

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
    kept = tf.strings.substr(cased, tf.minimum(front, length), size, "UTF8_CHAR")
    found = tf.where(size > 0, before + kept + after, forms)
    found = tf.where(case == WHOLE, before, found)
    if lemmas:
        known = StringSearch(lemmas, range(len(lemmas)), unknown=-1)(forms)
        listed = tf.gather([*lemmas.values()], tf.maximum(known, 0))
        found = tf.where(known < 0, found, listed)
    return found
