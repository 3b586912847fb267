"""A linear-chain conditional random field, in NumPy and as a graph of TensorFlow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

FORBIDDEN = -1e6  # which no score outweighs


class Crf(NamedTuple):
    """Scores whole tag sequences by their tags and the transitions between them.

        score(y) = a[y_1] + Σ_t x[t, y_t] + Σ_t A[y_{t−1}, y_t] + b[y_n]
        log p(y) = score(y) − log Σ_{y'} exp score(y')

    The sum over all sequences (forward algorithm) and the best sequence (Viterbi) are
    exact. `decode` is for arrays and flat sentences; the other methods for tensors and
    padded ones, scores `(batch, time, tags)` with a mask `(batch, time)` that is true at
    tokens and false at padding, which follows them. A sentence without tokens has one tag
    sequence, the empty one, with score 0.

    Attributes:
        transitions: A, `(tags, tags)`.
        first: a, `(tags,)`.
        last: b, `(tags,)`.

    Reference: Lafferty et al. 2001; Collobert et al. 2011, section 3.3.2; Rabiner 1989,
    section III.
    """

    transitions: Any
    first: Any
    last: Any

    def only(self, allowed: Sequence[Sequence[bool]] | None) -> "Crf":
        """The same, but very low where `allowed` of `LinearChainCRF` forbids a tag."""
        if allowed is None:
            return self
        penalties = np.where(allowed, 0, FORBIDDEN).astype(np.float32)
        first = self.first + penalties[-1]
        return Crf(self.transitions + penalties[:-1], first, self.last)

    def decode(
        self, scores: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The best tags of flat sentences `(tokens, tags)`, and how likely they are.

        Returns int `(tokens,)`, and the probabilities of each tag alone and after the tag
        of the token before, with α and β as in `tag_log_probabilities`. A sentence has the
        same results alone and in any batch, to the last bit.
        """
        order, bounds = _by_step(lengths)
        scores = np.ascontiguousarray(scores[order].T)
        likelihoods = np.exp(scores - scores.max(axis=0))
        transitions = np.exp(self.transitions)
        onto, pairs = transitions.T.copy(), self.transitions[:, :, None]
        ends, alphas, betas, afters = (np.empty_like(scores) for _ in range(4))
        # The best path and α up to a tag at each token. Divided by their maximum, as a
        # sum's rounding would depend on the number of sentences.
        end, alpha = self.first[:, None], np.exp(self.first)[:, None]
        for step, (begin, stop) in enumerate(bounds):
            if step:
                n = stop - begin
                end = (end[:, None, :n] + pairs).max(axis=0)
                alpha = (alpha[:, None, :n] * transitions[:, :, None]).sum(axis=0)
            ends[:, begin:stop] = end = end + scores[:, begin:stop]
            alpha = alpha * likelihoods[:, begin:stop]
            alphas[:, begin:stop] = alpha = alpha / alpha.max(axis=0)
        n_started, n_sentences = 0, np.count_nonzero(lengths)
        ids, tags = (np.zeros(n, np.int64) for n in (len(order), n_sentences))
        beta = np.repeat(np.exp(self.last)[:, None], n_sentences, axis=1)
        for step, (begin, stop) in reversed([*enumerate(bounds)]):
            n = stop - begin
            # Sentences whose last token this is.
            last = ends[:, begin + n_started : stop] + self.last[:, None]
            tags[n_started:n], n_started = last.argmax(axis=0), n
            ids[begin:stop], betas[:, begin:stop] = tags[:n], beta[:, :n]
            if step:
                onwards = beta[:, :n] * likelihoods[:, begin:stop]
                first = bounds[step - 1][0]
                paths = ends[:, first : first + n] + self.transitions[:, tags[:n]]
                tags[:n] = before = paths.argmax(axis=0)
                afters[:, begin:stop] = onto[:, before] * onwards
                new = (onto[:, :, None] * onwards[:, None]).sum(axis=0)
                beta[:, :n] = new / new.max(axis=0)
        alone = _share(alphas * betas, ids)
        afters[:, : len(tags)] = 1
        after = _share(afters, ids)
        after[: len(tags)] = 1  # nothing is before the first tokens
        inverse = np.argsort(order)
        return ids[inverse], alone[inverse], after[inverse]

    def best_tags(self, scores: "tf.Tensor", mask: "tf.Tensor") -> "tf.Tensor":
        """The best tags: int32 `(batch, time)`, −1 at padding."""
        import tensorflow as tf

        time, onto = tf.shape(scores)[1], tf.transpose(self.transitions)
        scores, mask = _by_time(scores, mask)
        ends = self._forward(scores, mask, tf.reduce_max)
        tag = tf.argmax(ends[-1] + self.last, axis=1, output_type=tf.int32)

        def back(tag, token):
            end, is_real = token
            before = tf.argmax(end + tf.gather(onto, tag), 1, output_type=tf.int32)
            return tf.where(is_real[:, 0], before, tag)

        tags = tf.scan(back, (ends[:-1], mask[1:]), tag, reverse=True)
        return tf.transpose(tf.where(mask[:-1, :, 0], tags, -1)[:time])

    def log_likelihood(
        self, scores: "tf.Tensor", tags: "tf.Tensor", mask: "tf.Tensor"
    ) -> "tf.Tensor":
        """log p of tag sequences `(batch, time)`, any values at padding: `(batch,)`, 0 if empty."""
        import tensorflow as tf

        real = tf.cast(mask, scores.dtype)
        tags = tf.where(mask, tf.cast(tags, tf.int32), 0)
        of_tags = tf.gather(scores, tags, axis=2, batch_dims=2)
        pairs = tf.stack([tags[:, :-1], tags[:, 1:]], axis=-1)
        between = tf.gather_nd(self.transitions, pairs) * real[:, 1:]
        ends = real - tf.pad(real[:, 1:], [[0, 0], [0, 1]])  # 1 at the last token
        begins = real * tf.one_hot(0, tf.shape(real)[1], dtype=real.dtype)
        of_tags *= real
        of_tags += tf.gather(self.first, tags) * begins
        of_tags += tf.gather(self.last, tags) * ends
        score = tf.reduce_sum(of_tags, axis=1) + tf.reduce_sum(between, axis=1)
        return score - self.log_partition(scores, mask)

    def log_partition(self, scores: "tf.Tensor", mask: "tf.Tensor") -> "tf.Tensor":
        """log Σ exp score over all tag sequences: `(batch,)`."""
        import tensorflow as tf

        scores, mask = _by_time(scores, mask)
        totals = self._forward(scores, mask, tf.reduce_logsumexp)
        total = tf.reduce_logsumexp(totals[-1] + self.last, axis=1)
        return tf.where(mask[0, :, 0], total, tf.zeros_like(total))

    def _forward(self, scores, mask, reduce):
        """All paths up to each tag, reduced to one number: `(time, batch, tags)`."""
        import tensorflow as tf

        def step(total, token):
            x, is_real = token
            paths = total[:, :, None] + self.transitions
            return tf.where(is_real, reduce(paths, axis=1) + x, total)

        start = self.first + scores[0]
        totals = tf.scan(step, (scores[1:], mask[1:]), start)
        return tf.concat([start[None], totals], axis=0)

    def log_marginals(
        self, scores: "tf.Tensor", mask: "tf.Tensor"
    ) -> "tuple[tf.Tensor, tf.Tensor]":
        """The probability of each tag, and the scores of all that follows each tag.

            α_t(k) = x_t(k) + log Σ_j exp(α_{t−1}(j) + A[j, k]),   α_1 = x_1 + a
            β_t(j) = log Σ_k exp(A[j, k] + x_{t+1}(k) + β_{t+1}(k)),   β_n = b
            p(y_t = k) = softmax_k(α_t(k) + β_t(k))

        α and β are kept up to a constant of each token, so that long sentences lose no
        precision. Returns log p and β, `(batch, time, tags)`, arbitrary but finite at
        padding; time is at least 1.
        """
        import tensorflow as tf

        x, real = _by_time(scores, mask)
        time = tf.shape(scores)[1]

        def forward(state, x):
            paths = state[:, :, None] + self.transitions
            return tf.nn.log_softmax(x + tf.reduce_logsumexp(paths, axis=1))

        def backward(state, token):
            x, is_real = token
            onwards = self.transitions + (x + state)[:, None, :]
            state = tf.where(is_real, tf.reduce_logsumexp(onwards, 2), self.last)
            return tf.nn.log_softmax(state)

        start = x[0] + self.first
        alphas = tf.concat([start[None], tf.scan(forward, x[1:], start)], axis=0)
        end = tf.broadcast_to(self.last, tf.shape(start))
        betas = tf.scan(backward, (x[1:], real[1:]), end, reverse=True)[:time]
        both = tf.nn.log_softmax(alphas[:time] + betas, axis=2)
        return tf.transpose(both, [1, 0, 2]), tf.transpose(betas, [1, 0, 2])


def tag_log_probabilities(
    scores: "tf.Tensor", ids: "tf.Tensor", crf: Crf | None
) -> "tuple[tf.Tensor, tf.Tensor]":
    """Logarithms of the probabilities of tags, int32 `(batch, time)`, −1 at padding.

    Of each tag alone, and after the tag of the token before it; 0 at padding.
    """
    import tensorflow as tf

    def of_tags(values):
        return tf.where(mask, tf.gather(values, tags, axis=2, batch_dims=2), 0.0)

    mask, tags = ids >= 0, tf.maximum(ids, 0)
    if crf is None:
        alone = of_tags(tf.nn.log_softmax(scores, axis=2))
        return alone, alone
    alone, onwards = crf.log_marginals(scores, mask)
    before = tf.pad(tags[:, :-1], [[0, 0], [1, 0]])
    after = scores + onwards + tf.gather(crf.transitions, before)
    return of_tags(alone), of_tags(tf.nn.log_softmax(after, axis=2))


def _by_time(scores, mask):
    """Scores `(time, batch, tags)`, and the mask `(time, batch, 1)`, with some padding.

    There are at least two positions, as `tf.scan` needs a step, and one after each token.
    """
    import tensorflow as tf

    padding = tf.stack([0, tf.maximum(1, 2 - tf.shape(scores)[1])])
    scores = tf.pad(scores, tf.stack([[0, 0], padding, [0, 0]]))
    mask = tf.pad(mask, tf.stack([[0, 0], padding]))
    return tf.transpose(scores, [1, 0, 2]), tf.transpose(mask)[:, :, None]


def _by_step(lengths):
    """The tokens of flat sentences by their step, those of the longest sentences first.

    And where each step begins and ends among them.
    """
    longest = np.argsort(-lengths, kind="stable")
    starts, counts = (np.cumsum(lengths) - lengths)[longest], lengths[longest]
    steps = [
        starts[: np.count_nonzero(counts > step)] + step
        for step in range(counts.max(initial=0))
    ]
    stops = np.cumsum([len(step) for step in steps], dtype=int).tolist()
    return np.concatenate(steps), [*zip([0, *stops], stops)]


def _share(x, ids):
    """Of each column, the part that one row has in the sum."""
    x = np.ascontiguousarray(x.T)
    return x[np.arange(len(ids)), ids] / x.sum(axis=1)
