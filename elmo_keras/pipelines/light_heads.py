"""Heads without TensorFlow: layers of the biLM in, the scores and labels of tokens out.

A sentence has the same results alone and in any batch, to the last bit: products are
sums of whole numbers, which are exact in any order.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from elmo_keras.argument_checks import check_names
from elmo_keras.formats.quantise import quantise
from elmo_keras.lite.layers import LiteBiLstm
from elmo_keras.lite.scalar_mix import normalize, weighted_sum
from elmo_keras.pipelines.texts import Labelled, join
from elmo_keras.tasks.crf import Crf
from elmo_keras.tasks.entities import constraints, entities, marks_spans
from elmo_keras.tasks.head_files import ENDS, HeadFile
from elmo_keras.tasks.span_ends import SHAPE, SpanEnds
from elmo_keras.text.length_batches import chunks
from elmo_keras.text.sentences import str_tokens

_LSTM = "kernel", "recurrent_kernel", "bias"
# Tokens that are read around a predicate; those of some predicates together.
WINDOW, TOKENS_AT_ONCE = 100, 2**12
_TINY = 1e-30  # scale of a row of zeros
_EXACT = 2**24 // 127**2  # products of int8 whose sum float32 holds exactly


class Batch:
    """Sentences, prepared once for several heads.

    Args:
        sentences: tokens.
        layers: the biLM's `(layers, tokens, dim)` for each, or none for heads that
            contain their language model.
    """

    def __init__(
        self, sentences: Sequence[Sequence[str]], layers: Iterable[np.ndarray] = ()
    ):
        self.sentences, self.layers = sentences, list(layers)
        self.lengths = np.array([len(sentence) for sentence in sentences], int)
        self.parts = parts_of(self.lengths)

    @functools.cached_property
    def tokens(self) -> list[str]:
        return join(self.sentences)

    @functools.cached_property
    def flat(self) -> np.ndarray:
        """The layers of all tokens: `(layers, tokens, dim)`."""
        return np.concatenate(self.layers, axis=1)

    @functools.cached_property
    def normalized(self) -> np.ndarray:
        """With mean 0 and variance 1 in each layer of a token, as `layer_norm` of a mix."""
        return normalize(self.flat)


def parts_of(lengths: np.ndarray) -> list[slice]:
    """Where each of flat sentences of these lengths begins and ends."""
    ends = np.cumsum(lengths).tolist()
    return [slice(*pair) for pair in itertools.pairwise([0, *ends])]


class TaggerHead:
    """Labels the tokens of sentences, or the spans that tags mark, by the scores of tags."""

    tags: Sequence[str]
    crf: Crf | None = None

    @property
    def labels(self) -> list[str]:
        """The tags; where they mark spans, the types of these."""
        if not marks_spans(self.tags):
            return list(self.tags)
        return sorted({tag[2:] for tag in self.tags} - {""})

    def scores(self, batch: Batch) -> np.ndarray:
        """Of each tag: `(tokens, tags)`, for flat sentences."""
        raise NotImplementedError

    def tag(self, batch: Batch) -> list[list[Labelled]]:
        """The labelled tokens, or spans, of each sentence, with their probabilities."""
        if not batch.lengths.sum():
            return [[] for _ in batch.sentences]
        return self.label(self.scores(batch), batch.lengths)

    def label(self, scores: np.ndarray, lengths: np.ndarray) -> list[list[Labelled]]:
        """As `tag`, from the scores of sentences of these lengths."""
        if self.crf is None:
            ids = scores.argmax(axis=1)
            alone = after = softmax(scores)[np.arange(len(ids)), ids]
        else:
            ids, alone, after = self.crf.decode(scores, lengths)
        tags, alone, after = [self.tags[i] for i in ids], alone.tolist(), after.tolist()
        label = _label_spans if marks_spans(self.tags) else _label_tokens
        return [label(tags[p], alone[p], after[p]) for p in parts_of(lengths)]


def _label_tokens(tags, alone, _):
    pairs = enumerate(zip(tags, alone))
    return [Labelled(tag, i, i + 1, score) for i, (tag, score) in pairs]


def _label_spans(tags, alone, after):
    return [
        Labelled(name, first, end, alone[first] * math.prod(after[first + 1 : end]))
        for first, end, name in entities(tags)
    ]


class LightTokenVectors:
    """`TokenVectors` without characters: words, and the mixes of ELMo's layers."""

    def __init__(self, head: HeadFile):
        config = head.vectors
        words, endings = config["words"], config.get("endings", ())
        # Row 0 of a table is that of the others.
        self.ids, self.ending_ids = (
            {word: i for i, word in enumerate(names, 1)} for names in (words, endings)
        )
        elmo, self._place = config["elmo"]["config"], config["elmo_at"]
        self.layer_norm = elmo["layer_norm"]
        dim = 2 * elmo["config"]["projection_dim"]
        places = ("input", "output") if self._place == "both" else (self._place,)
        self.mixes = [_read_mix(head, elmo, f"encoder/{name}_mix") for name in places]
        self.input_dim = dim if "input" in places else 0
        self.output_dim = dim if "output" in places else 0
        self.words, self.endings = (
            head.weight(f"encoder/{name}/embeddings", len(ids) + 1, config["word_dim"])
            if ids
            else None
            for name, ids in (("words", self.ids), ("endings", self.ending_ids))
        )
        n_tables = bool(words) + bool(endings)
        self.input_dim += n_tables * config["word_dim"]
        self._sizes = range(1, max(map(len, endings), default=0) + 1)

    def __call__(self, batch: Batch) -> tuple[np.ndarray, np.ndarray | None]:
        """Vectors `(tokens, dim)` at the input, and at the output or None."""
        layers = batch.normalized if self.layer_norm else batch.flat
        mixes = [weighted_sum(layers, weights) for weights in self.mixes]
        at_input = []
        has_tables = self.words is not None or self.endings is not None
        lower = [token.lower() for token in batch.tokens] if has_tables else []
        if self.words is not None:
            at_input.append(self.words[[self.ids.get(word, 0) for word in lower]])
        if self.endings is not None:
            vectors = (
                self.endings[[self.ending_ids.get(word[-n:], 0) for word in lower]]
                for n in self._sizes
            )
            at_input.append(sum(vectors))
        if self._place != "output":
            at_input.append(mixes[0])
        at_output = None if self._place == "input" else mixes[-1]
        return np.concatenate(at_input, axis=1), at_output


def _read_mix(head, elmo, name):
    n_layers = elmo["config"]["n_layers"] + 1
    weights = np.eye(n_layers, dtype=np.float32)
    if elmo["layers"] == "mix":
        weights = softmax(head.weight(f"{name}/scalars", n_layers))
    elif elmo["layers"] == "average":
        weights = weights.mean(axis=0)
    else:
        weights = weights[-1 if elmo["layers"] == "top" else elmo["layers"]]
    return head.weight(f"{name}/gamma") * weights


class LightTagger(TaggerHead):
    """A `Tagger` of a head; with `ends`, spans end within their last token."""

    def __init__(self, head: HeadFile):
        config = head.config
        self.tags, units = str_tokens(config["tags"]), config["units"]
        check_names(tags=self.tags)
        self.vectors = LightTokenVectors(head)
        n, dim = len(self.tags), config["predicate_dim"]
        self.bias = head.weight("scores/bias", n)
        rows = 2 * units + self.vectors.output_dim
        kernel = head.weight("scores/kernel", rows, n)
        *kernels, rest = np.split(kernel, [units, 2 * units])
        lstms = read_lstms(head, "encoder", self.vectors.input_dim + dim)
        # With the kernel that gives a score to each tag.
        self.lstms = [[*lstm, part] for lstm, part in zip(lstms, kernels)]
        self._bilstm = LiteBiLstm(self.lstms)
        self._at_output = Quantized(rest) if len(rest) else None
        if dim:
            self._marks = head.weight("encoder/predicate/embeddings", 2, dim)
        if config["crf"]:
            shapes = zip(Crf._fields, [(n, n), (n,), (n,)])
            weights = Crf(*(head.weight(f"crf/{name}", *x) for name, x in shapes))
            self.crf = weights.only(constraints(self.tags))
        self.ends = None
        if ENDS in head.arrays:
            self.ends = SpanEnds(head.weight(ENDS, *SHAPE))

    def tag(self, batch):
        rows = super().tag(batch)
        if self.ends is None:
            return rows
        return [
            [p._replace(left_out=self.ends(tokens[p.end - 1], p.label)) for p in row]
            for tokens, row in zip(batch.sentences, rows)
        ]

    def scores(self, batch):
        return self._scores(*self.vectors(batch), batch.lengths)

    def _scores(self, x, at_output, lengths):
        scores = self._bilstm(x, lengths) + self.bias
        if self._at_output is not None:
            scores += self._at_output(at_output)
        return scores

    def tag_predicates(
        self, batch: Batch, predicates: Iterable[tuple[int, int]]
    ) -> Iterator[list[Labelled]]:
        """Yields the spans of each predicate, the index of a sentence and its position.

        A sentence is read once for each of its predicates; of a longer one, the `WINDOW`
        tokens around the predicate.
        """
        x, at_output = self.vectors(batch)
        for some in chunks(predicates, TOKENS_AT_ONCE, lambda p: WINDOW):
            sentences, positions = np.transpose(some)
            lengths = np.minimum(batch.lengths[sentences], WINDOW)
            last = batch.lengths[sentences] - lengths
            firsts = np.clip(positions - WINDOW // 2, 0, last)
            starts = [batch.parts[i].start for i in sentences] + firsts
            rows = np.concatenate([*map(np.arange, starts, starts + lengths)])
            marks = np.zeros(len(rows), int)
            marks[np.cumsum(lengths) - lengths + positions - firsts] = 1
            inputs = np.concatenate([x[rows], self._marks[marks]], axis=1)
            outputs = None if at_output is None else at_output[rows]
            scores = self._scores(inputs, outputs, lengths)
            for first, spans in zip(firsts.tolist(), self.label(scores, lengths)):
                yield [
                    span._replace(first=span.first + first, end=span.end + first)
                    for span in spans
                ]


def read_lstms(head: HeadFile, name: str, dim: int) -> list[list[np.ndarray]]:
    """The arguments of `LiteBiLstm` for inputs of this size."""
    units = head.config["units"]
    shapes = (dim, 4 * units), (units, 4 * units), (4 * units,)
    return [
        [head.weight(f"{name}/{way}/{x}", *shape) for x, shape in zip(_LSTM, shapes)]
        for way in ("forward", "backward")
    ]


class Dense:
    """A dense layer of a head, by products in int8."""

    def __init__(self, head: HeadFile, name: str, n_inputs: int, n_outputs: int):
        self._kernel = Quantized(head.weight(f"{name}/kernel", n_inputs, n_outputs))
        self._bias = head.weight(f"{name}/bias", n_outputs)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """`(rows, inputs)` → `(rows, outputs)`."""
        return self._kernel(x) + self._bias


class Quantized:
    """A matrix in int8 with a scale for each column; a product rounds its rows to int8."""

    def __init__(self, weights: np.ndarray):
        values, scales = quantise(weights, 0)
        self.values, self.scale = values.astype(np.float32), scales[0]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        scale = np.maximum(np.abs(x).max(axis=1, keepdims=True, initial=0), _TINY) / 127
        x = np.rint(x / scale)
        parts = [slice(i, i + _EXACT) for i in range(0, len(self.values), _EXACT)]
        total, *others = (x[:, part] @ self.values[part] for part in parts)
        if others:
            total = np.sum([total, *others], axis=0, dtype=np.float64)
            total = total.astype(np.float32)
        return total * (scale * self.scale)


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)
