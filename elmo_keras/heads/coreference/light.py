"""The network that links mentions, without TensorFlow."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from elmo_keras.base.argument_checks import check_counts, from_json
from elmo_keras.heads.coreference.decoding import DISTANCES
from elmo_keras.heads.head import Head, NetworkArguments
from elmo_keras.heads.light import LightTokenVectors, read_bilstm, softmax
from elmo_keras.heads.texts import join
from elmo_keras.heads.token_batch import TokenBatch

NEVER = -1e9  # far below any score
_AT_ONCE = 64  # mentions whose pairs are in memory


@dataclasses.dataclass(frozen=True, kw_only=True)
class CoreferenceArguments(NetworkArguments):
    hidden_units: int
    longest: int
    mentions_per_token: float
    max_antecedents: int
    singletons: bool


class LightCoreference:
    """A `CoreferenceModel` of a head: documents are read one by one."""

    def __init__(self, head: Head):
        arguments = from_json(CoreferenceArguments, head.card.model)
        check_counts(longest=arguments.longest)
        self.arguments, self.singletons = arguments, arguments.singletons
        self._vectors = LightTokenVectors(head)
        units, hidden = arguments.units, arguments.hidden_units
        self._lstm = read_bilstm(head, "encoder", self._vectors.input_dim, units)
        dim = 2 * units + self._vectors.output_dim
        self._widths = _embeddings(head, "spans/widths", arguments.longest)
        span = 2 * dim + self._vectors.input_dim + self._widths.shape[1]
        self._head_scores = _dense(head, "spans/head_scores", dim, 1)
        self._mention_hidden = _dense(head, "mention_hidden", span, hidden)
        self._mention_scores = _dense(head, "mention_scores", hidden, 1)
        self._bilinear = head.weight("antecedents/bilinear", span, span)
        self._distances = _embeddings(head, "antecedents/distances", len(DISTANCES))
        self._same_speaker = _embeddings(head, "antecedents/same_speaker", 2)
        n_features = self._distances.shape[1] + self._same_speaker.shape[1]
        self._pair = _dense(head, "antecedents/pair_projection", span, hidden)
        sizes = {"mention": span, "earlier": span, "features": n_features}
        self._mention, self._earlier, self._features = (
            head.weight(f"antecedents/{name}_projection/kernel", size, hidden)
            for name, size in sizes.items()
        )
        self._scores = _dense(head, "antecedents/scores", hidden, 1)

    def scores(
        self, document: TokenBatch, speakers: Sequence[Sequence[str]] | None = None
    ) -> dict[str, np.ndarray]:
        """The outputs of `CoreferenceModel` for the sentences of a document."""
        x, at_output = self._vectors(document)
        h = self._lstm(x, document.lengths)
        if at_output is not None:
            h = np.concatenate([h, at_output], axis=1)
        vectors, first, last = self._spans(x, h, document.lengths)
        hidden = np.maximum(self._mention_hidden(vectors), 0)
        scores = self._mention_scores(hidden)[:, 0]
        n_mentions = np.ceil(np.float32(self.arguments.mentions_per_token) * len(x))
        best = np.sort(np.argsort(-scores, kind="stable")[: int(n_mentions)])
        first, last, scores = first[best], last[best], scores[best]
        names = join(speakers or ()) or [""] * len(x)
        speaker_ids = np.unique(names, return_inverse=True)[1][first]
        antecedents, links = self._antecedents(vectors[best], scores, speaker_ids)
        return {
            "first": first,
            "last": last,
            "antecedents": antecedents,
            "scores": np.pad(links, [(0, 0), (1, 0)]),
            "mention_scores": scores,
        }

    def _spans(self, x, h, lengths):
        """See `SpanVectors`: vectors, first and last tokens."""
        longest, n_tokens = self.arguments.longest, len(x)
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        last = np.arange(n_tokens)[:, None] + np.arange(longest)
        tokens = np.minimum(last, n_tokens - 1)  # (tokens, longest)
        inside = (sentence[tokens] == sentence[:, None]) & (last < n_tokens)
        first, width = np.nonzero(inside)
        scores = self._head_scores(h)[:, 0][tokens]
        allowed = np.tri(longest, dtype=bool) & inside[:, None]
        weights = softmax(np.where(allowed, scores[:, None], NEVER))
        heads = (np.where(allowed, weights, 0) @ x[tokens])[first, width]
        parts = [h[first], h[first + width], heads, self._widths[width]]
        return np.concatenate(parts, axis=1), first, first + width

    def _antecedents(self, vectors, mention_scores, speakers):
        """See `AntecedentScores`: indices and scores of the likeliest antecedents."""
        index = np.arange(len(vectors))
        coarse = vectors @ self._bilinear @ vectors.T
        coarse += mention_scores[:, None] + mention_scores
        coarse = np.where(index < index[:, None], coarse, np.float32(NEVER))
        order = np.argsort(-coarse, axis=1, kind="stable")
        order = order[:, : self.arguments.max_antecedents]
        scores = np.take_along_axis(coarse, order, axis=1)
        projected, as_earlier = vectors @ self._mention, vectors @ self._earlier
        for start in range(0, len(vectors), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            earlier = order[rows]
            distance = index[rows, None] - earlier
            bucket = np.searchsorted(DISTANCES, distance, side="right") - 1
            same = (speakers[earlier] == speakers[rows, None]).astype(int)
            features = self._distances[np.maximum(bucket, 0)], self._same_speaker[same]
            hidden = self._pair(vectors[rows, None] * vectors[earlier])
            hidden += projected[rows, None] + as_earlier[earlier]
            hidden += np.concatenate(features, axis=-1) @ self._features
            scores[rows] += self._scores(np.maximum(hidden, 0))[..., 0]
        return order, scores


def _dense(head, name, n_inputs, n_outputs):
    """A layer in float32."""
    kernel = head.weight(f"{name}/kernel", n_inputs, n_outputs)
    bias = head.weight(f"{name}/bias", n_outputs)

    def layer(x):
        y = x.reshape(-1, n_inputs) @ kernel  # one product, which is quicker than many
        return y.reshape(*x.shape[:-1], -1) + bias

    return layer


def _embeddings(head, name, rows):
    """A table of vectors of the size in the head."""
    name = f"{name}/embeddings"
    size = head.arrays[name].shape[-1] if name in head.arrays else 0
    return head.weight(name, rows, size)
