"""The tagger without TensorFlow."""

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from elmo_keras.base.argument_checks import check_labels, from_json
from elmo_keras.heads.head import Head, NetworkArguments
from elmo_keras.heads.light import LightTokenVectors, read_lstms
from elmo_keras.heads.tagger.decoding import Crf, TagDecoder
from elmo_keras.heads.tagger.entities import constraints
from elmo_keras.heads.tagger.span_ends import ENDS, SHAPE, SpanEnds
from elmo_keras.heads.token_batch import TokenBatch
from elmo_keras.lite.layers import LiteBiLstm, LiteDense
from elmo_keras.text.length_batches import chunks

# Tokens that are read around a predicate, and tokens around several predicates at once.
WINDOW, TOKENS_AT_ONCE = 100, 2**12


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaggerArguments(NetworkArguments):
    tags: list[str]
    crf: bool
    predicate_dim: int


class LightTagger:
    """A `Tagger` of a head."""

    def __init__(self, head: Head):
        arguments = from_json(TaggerArguments, head.card.model)
        self.tags, units = arguments.tags, arguments.units
        check_labels(tags=self.tags)
        self.vectors = LightTokenVectors(head)
        n, dim = len(self.tags), arguments.predicate_dim
        self.bias = head.weight("tag_scores/bias", n)
        rows = 2 * units + self.vectors.output_dim
        kernel = head.weight("tag_scores/kernel", rows, n)
        *kernels, output_kernel = np.split(kernel, [units, 2 * units])
        lstms = read_lstms(head, "encoder", self.vectors.input_dim + dim, units)
        # The kernel of the scores is applied by the graphs of the LSTMs.
        self.lstms = [[*lstm, part] for lstm, part in zip(lstms, kernels)]
        self._bilstm = LiteBiLstm(self.lstms)
        self._at_output = None
        if len(output_kernel):
            self._at_output = LiteDense(output_kernel, np.zeros(n, np.float32))
        self.predicate_dim = dim
        if dim:
            self._marks = head.weight("encoder/predicate/embeddings", 2, dim)
        crf = ends = None
        if arguments.crf:
            shapes = zip(Crf._fields, [(n, n), (n,), (n,)])
            weights = Crf(*(head.weight(f"crf/{name}", *x) for name, x in shapes))
            crf = weights.only(constraints(self.tags))
        if ENDS in head.arrays:
            ends = SpanEnds(head.weight(ENDS, *SHAPE))
        self.decoder = TagDecoder(self.tags, crf, ends)

    def scores(self, batch: TokenBatch) -> np.ndarray:
        """A score of each tag: `(tokens, tags)`, for flat sentences."""
        if not batch.lengths.sum():
            return np.zeros((0, len(self.tags)), np.float32)
        return self._scores(*self.vectors(batch), batch.lengths)

    def _scores(self, x, at_output, lengths):
        scores = self._bilstm(x, lengths) + self.bias
        if self._at_output is not None:
            scores += self._at_output(at_output)
        return scores

    def scores_of_predicates(
        self, batch: TokenBatch, predicates: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Scores of tags for given predicates, some predicates at a time.

        A sentence is read once for each of its predicates; of a long one, only the `WINDOW`
        tokens around the predicate are read.

        Args:
            batch: sentences.
            predicates: the index of each predicate's sentence, and its position there.

        Yields:
            The scores of a piece of the sentence for each predicate, as `scores` has them;
            the lengths of the pieces; and where they begin in their sentences.
        """
        x, at_output = self.vectors(batch)
        for chunk in chunks(predicates, TOKENS_AT_ONCE, lambda p: WINDOW):
            sentences, positions = np.transpose(chunk)
            lengths = np.minimum(batch.lengths[sentences], WINDOW)
            last = batch.lengths[sentences] - lengths
            firsts = np.clip(positions - WINDOW // 2, 0, last)
            starts = [batch.parts[i].start for i in sentences] + firsts
            rows = np.concatenate([*map(np.arange, starts, starts + lengths)])
            marks = np.zeros(len(rows), int)
            marks[np.cumsum(lengths) - lengths + positions - firsts] = 1
            inputs = np.concatenate([x[rows], self._marks[marks]], axis=1)
            outputs = None if at_output is None else at_output[rows]
            yield self._scores(inputs, outputs, lengths), lengths, firsts
