"""A coreference model: which spans of a document refer to the same thing."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.layers.unquantized import Dense
from elmo_keras.tasks.batches import Batches
from elmo_keras.tasks.mentions import AntecedentScores, Spans, SpanVectors
from elmo_keras.tasks.task_model import TaskModel
from elmo_keras.tasks.token_vectors import TokenVectors
from elmo_keras.text.tokens import padded_tokens

Mention = tuple[int, int]
NO_ANTECEDENT, NO_MENTION = -1, -2  # instead of the index of an antecedent


def document_inputs(
    sentences: Sequence[Sequence[str]], speakers: Sequence[Sequence[str]] | None = None
) -> dict[str, tf.Tensor]:
    if speakers is None:
        speakers = [[""] * len(sentence) for sentence in sentences]
    lengths, turns = ([len(row) for row in rows] for rows in (sentences, speakers))
    has_empty = any("" in sentence for sentence in sentences)
    if not sum(lengths) or lengths != turns or has_empty:
        raise ValueError(
            "`sentences` should hold tokens, none of them empty, and `speakers` a text "
            f"for each. Received: {lengths} tokens and {turns} speakers"
        )
    return {"sentences": padded_tokens(sentences), "speakers": padded_tokens(speakers)}


class DocumentBatches(Batches):
    """Batches of one document, with its sentences along the first axis."""

    def inputs(self, rows):
        (document,) = (self.examples[i] for i in rows)
        inputs = document_inputs(document["sentences"], document.get("speakers"))
        if self.cache is not None:
            layers = self.cache(document["sentences"])
            inputs["sentences_layers"] = tf.constant(layers)
        return inputs


@keras.saving.register_keras_serializable("elmo_keras")
class CoreferenceModel(TaskModel):
    """Finds mentions and, for each, an earlier mention of the same thing.

        g = SpanVectors(x, [biLSTM(x); ELMo]),   s = v · ReLU layer(g)
        p(j | i) = exp s(i, j) / (1 + Σ_j' exp s(i, j'))

    where i and j are the spans with the highest s, `mentions_per_token` of them for
    each token, s(i, j) comes from `AntecedentScores`, and 1 = exp 0 stands for "no
    antecedent". The biLSTM and ELMo read sentence by sentence. Mentions that are linked
    by their best antecedents form a cluster. With `singletons`, a span with s > 0 that
    is linked to no other is a cluster as well, and s learns whether a span is a mention:
    p(mention i) = σ(s).

    Args:
        token_vectors: a `TokenVectors` layer; its vectors for the output are
            concatenated to the output of the LSTM.
        units: size of the LSTM in each direction.
        dropout: rate of the dropout on the LSTM's output and the hidden layers.
        hidden_units: size of the hidden layers that compute scores.
        longest: maximum length of a mention in tokens.
        mentions_per_token: λ, the number of spans to keep per token of the document.
        max_antecedents: maximum number of antecedents to score for each mention.
        singletons: whether there are entities that are mentioned only once.

    Call arguments:
        inputs: one document: `sentences` and `speakers`, strings `(sentences, time)`
            padded with `""`, see `TaskModel`.

    Output: a dict of `first` and `last`, int32 `(mentions,)`, the spans that were
    kept, in tokens of the document; `antecedents`, int32 `(mentions, k)`, indices of
    such spans; `scores`, `(mentions, 1 + k)`, first the 0 of "no antecedent"; with
    `singletons` also `mention_scores`, `(mentions,)`, the s of the spans.

    `predict` takes documents, each a list of sentences, or `sentences` and `speakers` of
    documents, a text for each token. It gives the clusters of each document: a list of
    mentions, first and last token, counted over the document, for each thing that is
    mentioned more than once, or with `singletons` at all. Of tensors it gives int32
    `(1, mentions, 3)`: first, last, and index of the best antecedent, `NO_ANTECEDENT` for
    none, or `NO_MENTION` if it takes s ≤ 0 for none. Labels are int32 `(1, mentions, 3)`:
    first, last, and the index of the cluster; the loss is the mean over kept spans of
    −log Σ p(j | i), the sum over all right j; with `singletons` that of −log p of being a
    mention or none is added.

    >>> model = CoreferenceModel(TokenVectors(words=["ann"]), units=3)
    >>> model.run_eagerly = True  # one document needs no graph
    >>> (clusters,) = model.predict([[["Ann", "sleeps", "."], ["She", "dreams"]]])
    >>> all(len(mentions) > 1 for mentions in clusters)
    True

    Reference: Lee et al. 2017; Lee et al. 2018, without the second-order step.
    """

    text_fields, other_fields = ("sentences",), ("speakers",)

    def __init__(
        self,
        token_vectors: TokenVectors,
        *,
        units: int = 100,
        dropout: float = 0.3,
        hidden_units: int = 150,
        longest: int = 10,
        mentions_per_token: float = 0.4,
        max_antecedents: int = 50,
        singletons: bool = False,
        **kwargs,
    ):
        super().__init__(token_vectors, units=units, dropout=dropout, **kwargs)
        self.hidden_units = hidden_units
        self.longest = longest
        self.mentions_per_token = mentions_per_token
        self.max_antecedents = max_antecedents
        self.singletons = singletons
        self.spans = SpanVectors(longest, name="spans")
        self.mention_hidden = Dense(hidden_units, "relu")
        self.mention_scores = Dense(1, name="mention_scores")
        self.antecedents = AntecedentScores(
            max_antecedents, hidden_units, dropout=dropout, name="antecedents"
        )

    def part_sizes(self):
        x, h = self.encoder.input_dim, self.encoder.output_dim
        span = 2 * h + x + self.spans.width_dim
        return {
            "spans": h,
            "mention_hidden": span,
            "mention_scores": self.hidden_units,
            "antecedents": span,
        }

    def call(self, inputs, training=False):
        h, x, mask = self.encode(inputs, "sentences", training)
        spans, mention_scores = self._mentions(self.spans(x, h, mask), mask, training)
        speakers = tf.gather(tf.boolean_mask(inputs["speakers"], mask), spans.first)
        antecedents, scores = self.antecedents(
            spans.vectors, mention_scores, speakers, training=training
        )
        outputs = {
            "first": spans.first,
            "last": spans.last,
            "antecedents": antecedents,
            "scores": tf.pad(scores, [[0, 0], [1, 0]]),
        }
        if self.singletons:
            outputs["mention_scores"] = mention_scores
        return outputs

    def _mentions(self, spans, mask, training):
        hidden = self.drop(self.mention_hidden(spans.vectors), training=training)
        scores = tf.squeeze(self.mention_scores(hidden), axis=1)
        n_tokens = tf.reduce_sum(tf.cast(mask, tf.float32))
        n_kept = tf.cast(tf.math.ceil(self.mentions_per_token * n_tokens), tf.int32)
        kept = tf.math.top_k(scores, tf.minimum(n_kept, tf.size(scores))).indices
        kept = tf.sort(kept)  # in the order of the text
        kept_spans = Spans(*(tf.gather(x, kept) for x in spans))
        return kept_spans, tf.gather(scores, kept)

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        scores, clusters = y_pred["scores"], _clusters_of(y_pred, y[0])
        right = tf.where(_right(y_pred, clusters), scores, scores.dtype.min)
        total, right = (tf.reduce_logsumexp(x, axis=1) for x in (scores, right))
        losses = total - right
        if self.singletons:
            losses += tf.nn.sigmoid_cross_entropy_with_logits(
                tf.cast(clusters > 0, scores.dtype), y_pred["mention_scores"]
            )
        return tf.reduce_mean(losses) + sum(self.losses)

    def decode(self, inputs, outputs):
        best = tf.argmax(outputs["scores"], axis=1, output_type=tf.int32)
        none = tf.fill(tf.shape(best), NO_ANTECEDENT)
        if self.singletons:
            none = tf.where(outputs["mention_scores"] > 0, none, NO_MENTION)
        candidates = tf.concat([none[:, None], outputs["antecedents"]], axis=1)
        antecedent = tf.gather(candidates, best, batch_dims=1)
        return tf.stack([outputs["first"], outputs["last"], antecedent], axis=1)[None]

    def batches(self, examples, **options):
        options["batch_size"] = 1
        return DocumentBatches(examples, self.text_fields, **options)

    def result(self, example, output):
        return clusters_of_links(output, self.singletons)

    def get_config(self):
        return super().get_config() | {
            "hidden_units": self.hidden_units,
            "longest": self.longest,
            "mentions_per_token": self.mentions_per_token,
            "max_antecedents": self.max_antecedents,
            "singletons": self.singletons,
        }


def clusters_of_links(
    links: np.ndarray, singletons: bool = False
) -> list[list[Mention]]:
    """The clusters that links `(mentions, 3)` form, those of one mention with `singletons` only."""
    clusters, cluster_of = [], []
    for first, last, antecedent in np.asarray(links).tolist():
        if antecedent < 0:
            cluster = []
            clusters.append((cluster, singletons and antecedent == NO_ANTECEDENT))
        else:
            cluster = cluster_of[antecedent]
        cluster.append((first, last))
        cluster_of.append(cluster)  # the same list for all its mentions
    return [cluster for cluster, alone in clusters if alone or len(cluster) > 1]


def _clusters_of(outputs, labels):
    """The id of each mention's cluster from 1, 0 for spans that are none."""
    is_label = (outputs["first"][:, None] == labels[None, :, 0]) & (
        outputs["last"][:, None] == labels[None, :, 1]
    )
    ids = tf.where(is_label, labels[None, :, 2] + 1, 0)
    return tf.reduce_max(tf.pad(ids, [[0, 0], [0, 1]]), axis=1)


def _right(outputs, cluster):
    """Whether no antecedent is right, and which ones are: bool (mentions, 1 + k)."""
    earlier = outputs["antecedents"] < tf.range(tf.size(cluster))[:, None]
    same = tf.gather(cluster, outputs["antecedents"]) == cluster[:, None]
    same &= earlier & (cluster[:, None] > 0)
    return tf.concat([~tf.reduce_any(same, axis=1, keepdims=True), same], axis=1)
