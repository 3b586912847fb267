"""Scores of tags → the best tags, and the labelled tokens or spans that they mark."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from elmo_keras.heads.light import softmax
from elmo_keras.heads.tagger.entities import entities, marks_spans
from elmo_keras.heads.tagger.span_ends import SpanEnds
from elmo_keras.heads.texts import Labelled
from elmo_keras.heads.token_batch import parts_of

FORBIDDEN = -1e6  # no score outweighs it


class Crf(NamedTuple):
    """Scores whole tag sequences by their tags and the transitions between them.

        score(y) = a[y_1] + Σ_t x[t, y_t] + Σ_t A[y_{t−1}, y_t] + b[y_n]
        log p(y) = score(y) − log Σ_{y'} exp score(y')

    The sum over all sequences (forward algorithm) and the best sequence (Viterbi) are
    exact. `decode` is for arrays and flat sentences, `tagger.crf` for tensors. A sentence
    without tokens has one tag sequence, the empty one, with score 0.

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
        of the token before, with α and β as in `crf.tag_log_probabilities`. A sentence has the
        same results alone and in any batch, to the last bit.
        """
        order, bounds = _step_order(lengths)
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


def _step_order(lengths):
    """The tokens of flat sentences step by step, and the bounds of each step.

    In a step, the tokens of the longest sentences come first.
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
    """The share of row `ids` in the sum of each column of `x`."""
    x = np.ascontiguousarray(x.T)
    return x[np.arange(len(ids)), ids] / x.sum(axis=1)


class TagDecoder(NamedTuple):
    """Finds the best tags for the scores of a tagger.

    Attributes:
        tags: the names of the tags.
        crf: scores whole sequences; None if each tag is decided by itself.
        ends: where spans end within their last token; None if at its end.
    """

    tags: Sequence[str]
    crf: Crf | None = None
    ends: SpanEnds | None = None

    @property
    def labels(self) -> list[str]:
        """The tags; where they mark spans, the types of these."""
        if not marks_spans(self.tags):
            return list(self.tags)
        return sorted({tag[2:] for tag in self.tags} - {""})

    def best_tags(self, scores: np.ndarray, lengths: np.ndarray) -> list[list[str]]:
        """The tags of each sentence, from `(tokens, tags)` for flat sentences."""
        tags = [str(self.tags[i]) for i in self._best(scores, lengths)[0]]
        return [tags[part] for part in parts_of(lengths)]

    def label(
        self,
        scores: np.ndarray,
        lengths: np.ndarray,
        sentences: Sequence[Sequence[str]] = (),
    ) -> list[list[Labelled]]:
        """The labelled tokens, or spans, of each sentence, with their probabilities.

        With the tokens of `sentences`, spans leave out what `ends` finds after them.
        """
        ids, alone, after = (x.tolist() for x in self._best(scores, lengths))
        tags = [self.tags[i] for i in ids]
        label = _label_spans if marks_spans(self.tags) else _label_tokens
        rows = [label(tags[p], alone[p], after[p]) for p in parts_of(lengths)]
        if self.ends is None or not sentences:
            return rows
        return [
            [p._replace(left_out=self.ends(tokens[p.end - 1], p.label)) for p in row]
            for tokens, row in zip(sentences, rows)
        ]

    def _best(self, scores, lengths):
        """The ids of the best tags and their probabilities, see `Crf.decode`."""
        if not len(scores):
            return (np.zeros(0, int), *np.zeros((2, 0), np.float32))
        if self.crf is not None:
            return self.crf.decode(scores, lengths)
        ids = scores.argmax(axis=1)
        alone = softmax(scores)[np.arange(len(ids)), ids]
        return ids, alone, alone


def _label_tokens(tags, alone, _):
    pairs = enumerate(zip(tags, alone))
    return [Labelled(tag, i, i + 1, score) for i, (tag, score) in pairs]


def _label_spans(tags, alone, after):
    return [
        Labelled(name, first, end, alone[first] * math.prod(after[first + 1 : end]))
        for first, end, name in entities(tags)
    ]
