"""A coreference model: which spans of a document refer to the same thing."""

from collections.abc import Sequence
from typing import NamedTuple

import keras
import tensorflow as tf

from elmo_keras.base.argument_checks import check_counts, check_numbers
from elmo_keras.heads.batches import ExampleBatches
from elmo_keras.heads.coreference.decoding import DISTANCES, find_clusters
from elmo_keras.heads.encoder import NEVER, masked_softmax
from elmo_keras.heads.model import TaskModel
from elmo_keras.heads.token_vectors import TokenVectors
from elmo_keras.layers.unquantized import Dense, Embedding
from elmo_keras.text.tokens import padded_tokens


class Spans(NamedTuple):
    """Spans ordered by first token, then by last, counted over the document."""

    vectors: tf.Tensor
    first: tf.Tensor
    last: tf.Tensor


@keras.saving.register_keras_serializable("elmo_keras")
class SpanVectors(keras.layers.Layer):
    """`[h_first; h_last; Σ_t softmax_t(w · h_t) x_t; φ(width)]` of each span.

    The sum is over the span's tokens; w learns to find its head word, and φ is a trained
    vector for each width. x `(sentences, time, input_dim)` is the input of an LSTM, h
    its output. All spans of 1 to `longest` tokens within a sentence get a vector.

    Reference: Lee et al. 2017, "End-to-end Neural Coreference Resolution", section 4.
    """

    parts = "head_scores", "widths"

    def __init__(self, longest: int = 10, width_dim: int = 20, **kwargs):
        super().__init__(**kwargs)
        self.longest, self.width_dim = longest, width_dim
        self.head_scores = Dense(1, name="head_scores")
        self.widths = Embedding(longest, width_dim, name="widths")

    def build(self, h_shape):
        self.head_scores.build(h_shape)
        self.widths.build((None,))

    def call(self, x, h, mask):
        x, h = tf.boolean_mask(x, mask), tf.boolean_mask(h, mask)  # (tokens, …)
        sentence = tf.where(mask)[:, 0]
        n_tokens = tf.size(sentence)
        last = tf.range(n_tokens)[:, None] + tf.range(self.longest)
        tokens = tf.minimum(last, n_tokens - 1)  # (tokens, longest)
        inside = tf.gather(sentence, tokens) == sentence[:, None]
        inside &= last < n_tokens
        indices = tf.cast(tf.where(inside), tf.int32)  # first token and width − 1
        first, width = tf.unstack(indices, axis=1)
        heads = tf.gather_nd(self._heads(x, h, tokens, inside), indices)
        at_first, at_last = tf.gather(h, first), tf.gather(h, first + width)
        vectors = [at_first, at_last, heads, self.widths(width)]
        return Spans(tf.concat(vectors, axis=1), first, first + width)

    def _heads(self, x, h, tokens, inside):
        """The weighted sums over spans, by first token: (tokens, longest, input_dim)."""
        width = tf.range(self.longest)
        until = width[:, None] >= width  # the tokens of each width
        scores = tf.gather(self.head_scores(h)[:, 0], tokens)
        weights = masked_softmax(scores[:, None], until & inside[:, None])
        return tf.matmul(weights, tf.gather(x, tokens))


@keras.saving.register_keras_serializable("elmo_keras")
class AntecedentScores(keras.layers.Layer):
    """How likely two mentions refer to the same thing, for the likeliest pairs.

        c(i, j) = s_i + s_j + g_i W g_j
        s(i, j) = c(i, j) + v · ReLU(A g_i + B g_j + C (g_i ∘ g_j) + D φ(i, j))

    For each i, the `max_antecedents` mentions j < i with the highest c are scored. φ
    joins trained vectors for the distance in mentions and for whether the speaker is the
    same. The vectors g `(mentions, dim)` are in the order of the text.

    Output: the indices of the antecedents, int32 `(mentions, k)`, and their scores, very
    low where there is none; k is at most `max_antecedents` and the number of mentions.

    Reference: Lee et al. 2017, section 4; Lee et al. 2018, "Higher-order Coreference
    Resolution with Coarse-to-fine Inference", section 4.
    """

    parts = (
        *("bilinear", "pair_projection", "mention_projection", "earlier_projection"),
        *("features_projection", "distances", "same_speaker", "scores"),
    )

    def __init__(
        self,
        max_antecedents: int = 50,
        units: int = 150,
        feature_dim: int = 20,
        *,
        dropout: float = 0.2,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.max_antecedents = max_antecedents
        self.units, self.feature_dim = units, feature_dim
        self.pair_projection = Dense(units)
        self.mention_projection, self.earlier_projection, self.features_projection = (
            Dense(units, use_bias=False) for _ in range(3)
        )
        self.distances = Embedding(len(DISTANCES), feature_dim)
        self.same_speaker = Embedding(2, feature_dim)
        self.drop = keras.layers.Dropout(dropout)
        self.scores = Dense(1, name="scores")

    def build(self, vectors_shape):
        dim = vectors_shape[-1]
        self.bilinear = self.add_weight(shape=(dim, dim), name="bilinear")
        sizes = dim, dim, dim, 2 * self.feature_dim, None, None, self.units
        for name, size in zip(self.parts[1:], sizes, strict=True):
            getattr(self, name).build((None, size))

    def call(self, vectors, mention_scores, speakers, training=False):
        coarse, indices = self._likeliest(vectors, mention_scores)
        hidden = self.pair_projection(vectors[:, None] * tf.gather(vectors, indices))
        hidden += self.mention_projection(vectors)[:, None]
        hidden += tf.gather(self.earlier_projection(vectors), indices)
        hidden += self.features_projection(self._features(indices, speakers))
        hidden = self.drop(tf.nn.relu(hidden), training=training)
        return indices, coarse + tf.squeeze(self.scores(hidden), axis=2)

    def _likeliest(self, vectors, mention_scores):
        """The best coarse scores (mentions, k), and their antecedents."""
        n_mentions = tf.shape(vectors)[0]
        scores = tf.matmul(tf.matmul(vectors, self.bilinear), vectors, transpose_b=True)
        scores += mention_scores[:, None] + mention_scores[None, :]
        index = tf.range(n_mentions)
        scores = tf.where(index[None, :] < index[:, None], scores, NEVER)
        return tf.math.top_k(scores, tf.minimum(self.max_antecedents, n_mentions))

    def _features(self, indices, speakers):
        """φ: (mentions, k, 2 · feature_dim)."""
        distance = tf.range(tf.shape(indices)[0])[:, None] - indices
        flat = tf.reshape(distance, [-1])
        bucket = tf.searchsorted(tf.constant(DISTANCES), flat, side="right")
        bucket = tf.reshape(tf.maximum(bucket - 1, 0), tf.shape(indices))
        same = tf.gather(speakers, indices) == speakers[:, None]
        same = self.same_speaker(tf.cast(same, tf.int32))
        return tf.concat([self.distances(bucket), same], axis=-1)


def document_inputs(
    sentences: Sequence[Sequence[str]], speakers: Sequence[Sequence[str]] | None = None
) -> dict[str, tf.Tensor]:
    speakers = speakers or [[""] * len(sentence) for sentence in sentences]
    lengths, turns = ([len(row) for row in rows] for rows in (sentences, speakers))
    has_empty = any("" in sentence for sentence in sentences)
    if not sum(lengths) or lengths != turns or has_empty:
        raise ValueError(
            "`sentences` should hold tokens, none of them empty, and `speakers` a text "
            f"for each. Received: {lengths} tokens and {turns} speakers"
        )
    return {"sentences": padded_tokens(sentences), "speakers": padded_tokens(speakers)}


class DocumentBatches(ExampleBatches):
    """Batches of one document, with its sentences along the first axis."""

    def inputs(self, rows):
        (row,) = rows
        sentences = self.examples[row]["sentences"]
        inputs = document_inputs(sentences, self.examples[row].get("speakers"))
        if self.cache is not None:
            inputs["sentences_layers"] = tf.constant(self.cache(sentences))
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
        token_vectors, units, dropout: see `TaskModel`.
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
    mentioned more than once, or with `singletons` at all. Labels are int32 `(1, mentions,
    3)`: first, last, and the index of the cluster; the loss is the mean over kept spans of
    −log Σ p(j | i), the sum over all right j; with `singletons` that of −log p of being a
    mention or none is added.

    >>> model = CoreferenceModel(TokenVectors(words=["ann"]), units=3)
    >>> model.run_eagerly = True  # one document needs no graph
    >>> (clusters,) = model.predict([[["Ann", "sleeps", "."], ["She", "dreams"]]])
    >>> all(len(mentions) > 1 for mentions in clusters)
    True

    Reference: Lee et al. 2017; Lee et al. 2018, without the second-order step.
    """

    kind = "coref"
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
        sizes = {"hidden_units": hidden_units, "max_antecedents": max_antecedents}
        check_counts(**sizes, longest=longest)
        check_numbers(0, mentions_per_token=mentions_per_token)
        super().__init__(token_vectors, units=units, dropout=dropout, **kwargs)
        self.hidden_units, self.longest = hidden_units, longest
        self.mentions_per_token = mentions_per_token
        self.max_antecedents, self.singletons = max_antecedents, singletons
        self.spans = SpanVectors(longest, name="spans")
        self.mention_hidden = Dense(hidden_units, "relu")
        self.mention_scores = Dense(1, name="mention_scores")
        self.antecedents = AntecedentScores(
            max_antecedents, hidden_units, dropout=dropout, name="antecedents"
        )

    def part_sizes(self):
        x, h = self.encoder.input_dim, self.encoder.output_dim
        span = 2 * h + x + self.spans.width_dim
        scores = {"mention_scores": self.hidden_units}
        return {"spans": h, "mention_hidden": span, **scores, "antecedents": span}

    def call(self, inputs, training=False):
        h, x, mask = self.encode(inputs, "sentences", training)
        spans, mention_scores = self._best_spans(self.spans(x, h, mask), mask, training)
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

    def _best_spans(self, spans, mask, training):
        """The likeliest mentions, in the order of the text, and their scores."""
        hidden = self.drop(self.mention_hidden(spans.vectors), training=training)
        scores = tf.squeeze(self.mention_scores(hidden), axis=1)
        n_tokens = tf.reduce_sum(tf.cast(mask, tf.float32))
        n = tf.cast(tf.math.ceil(self.mentions_per_token * n_tokens), tf.int32)
        best = tf.math.top_k(scores, tf.minimum(n, tf.size(scores))).indices
        best = tf.sort(best)
        return Spans(*(tf.gather(x, best) for x in spans)), tf.gather(scores, best)

    def data_loss(self, x, y, y_pred):
        scores, clusters = y_pred["scores"], _cluster_ids(y_pred, y[0])
        right = tf.where(_are_right(y_pred, clusters), scores, scores.dtype.min)
        losses = tf.reduce_logsumexp(scores, axis=1)
        losses -= tf.reduce_logsumexp(right, axis=1)
        if self.singletons:
            losses += tf.nn.sigmoid_cross_entropy_with_logits(
                tf.cast(clusters > 0, scores.dtype), y_pred["mention_scores"]
            )
        return tf.reduce_mean(losses)

    def split_scores(self, outputs, lengths):
        return [outputs]

    def join_scores(self, scores):
        """The outputs for each document."""
        return scores

    def decode(self, scores, examples):
        return [find_clusters(document, self.singletons) for document in scores]

    def batches(self, examples, **options):
        options["batch_size"] = 1
        return DocumentBatches(examples, self.text_fields, **options)

    def arguments(self):
        return super().arguments() | {
            "hidden_units": self.hidden_units,
            "longest": self.longest,
            "mentions_per_token": self.mentions_per_token,
            "max_antecedents": self.max_antecedents,
            "singletons": self.singletons,
        }


def _cluster_ids(outputs, labels):
    """The id of each mention's cluster from 1, 0 for spans that are none."""
    is_label = (outputs["first"][:, None] == labels[None, :, 0]) & (
        outputs["last"][:, None] == labels[None, :, 1]
    )
    ids = tf.where(is_label, labels[None, :, 2] + 1, 0)
    return tf.reduce_max(tf.pad(ids, [[0, 0], [0, 1]]), axis=1)


def _are_right(outputs, cluster):
    """Whether no antecedent is right, and which ones are: bool (mentions, 1 + k)."""
    earlier = outputs["antecedents"] < tf.range(tf.size(cluster))[:, None]
    same = tf.gather(cluster, outputs["antecedents"]) == cluster[:, None]
    same &= earlier & (cluster[:, None] > 0)
    return tf.concat([~tf.reduce_any(same, axis=1, keepdims=True), same], axis=1)
