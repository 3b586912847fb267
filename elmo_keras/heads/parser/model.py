"""A dependency parser: biaffine scores of arcs, and labels of words."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import keras
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts
from elmo_keras.heads.encoder import NEVER, FastBidirectional
from elmo_keras.heads.model import TaskModel, mean_cross_entropy
from elmo_keras.heads.parser.decoding import SLOPE, TreeDecoder, check_columns
from elmo_keras.heads.token_vectors import TokenVectors
from elmo_keras.layers.unquantized import Dense
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

    Call arguments:
        inputs: `tokens`, strings `(batch, time)`, see `TaskModel`.

    Output: a dict of the vectors whose products are scores, and of the scores of each of
    `labels`, `(batch, time, n)`: `root`, `(batch, time, 1)`, that of the root as head;
    `dependent` and `head`, `(batch, time, arc_units)`, of arcs; `relation`, `(batch, time,
    relations · (1 + relation_units))`, and `relation_head`, `(batch, time, 1 +
    relation_units)`, of relations.

    `predict` takes lists of words, and gives for each a dict of columns: `tokens`, `head`,
    the number of the head from 1 and 0 for the root, `deprel`, and those of `labels`.
    Labels of the training are int32 `(batch, time, 2 + labels)`: the head, and the indices
    of the relation and of the labels, −1 at padding and for what is not known; the loss is
    the sum of the means of −log p over words.

    >>> labels = {"upos": ["NOUN", "VERB"]}
    >>> vectors = TokenVectors(words=["it"])
    >>> parser = DependencyParser(vectors, relations=["nsubj"], labels=labels)
    >>> parser.run_eagerly = True  # one sentence needs no graph
    >>> sentence, = parser.predict([["It", "rains"]])
    >>> sorted(sentence["head"])[0], sorted(sentence["deprel"])
    (0, ['nsubj', 'root'])

    Reference: Dozat and Manning 2017; Che et al. 2018.
    """

    kind = "ud"
    compares_tokens = True
    listed = ("labels",)

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
        **kwargs,
    ):
        check_columns(relations, labels, lemmas)
        check_counts(
            arc_units=arc_units, relation_units=relation_units, label_units=label_units
        )
        super().__init__(token_vectors, units=units, dropout=dropout, **kwargs)
        self.relations = tuple(relations)
        self.labels = {name: tuple(names) for name, names in labels.items()}
        self.lemmas = dict(lemmas)
        self.arc_units, self.relation_units = arc_units, relation_units
        self.label_units = label_units
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

    def data_loss(self, x, y, y_pred):
        heads, relations, *labels = tf.unstack(y, 2 + len(self.labels), axis=-1)
        arcs = tf.matmul(y_pred["dependent"], y_pred["head"], transpose_b=True)
        arcs = tf.where(token_mask(x["tokens"])[:, None, :], arcs, NEVER)
        arcs = tf.concat([y_pred["root"], arcs], axis=-1)  # (batch, time, 1 + time)
        rows = tf.maximum(heads - 1, 0)
        at_head = tf.gather(y_pred["relation_head"], rows, batch_dims=1)
        shape = tf.concat([tf.shape(heads), [len(self.relations), -1]], axis=0)
        relation = tf.reshape(y_pred["relation"], shape)
        scores = [arcs, tf.einsum("btld,btd->btl", relation, at_head)]
        scores += [y_pred[name] for name in self.labels]
        return sum(map(mean_cross_entropy, (heads, relations, *labels), scores))

    @property
    def decoder(self) -> TreeDecoder:
        """Finds the trees for `scores`."""
        return TreeDecoder(self.relations, self.labels, self.lemmas)

    def decode(self, scores, examples):
        return self.decoder.trees(scores, [example["tokens"] for example in examples])

    def arguments(self):
        return super().arguments() | {
            "relations": list(self.relations),
            "labels": {name: list(names) for name, names in self.labels.items()},
            "lemmas": self.lemmas,
            "arc_units": self.arc_units,
            "relation_units": self.relation_units,
            "label_units": self.label_units,
        }
