"""Taggers and classifiers without TensorFlow: layers of the biLM in, answers out."""

import functools
import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from elmo_keras.lite.bilstm import LiteBiLstm
from elmo_keras.lite.scalar_mix import normalize, weighted_sum
from elmo_keras.pipelines.arithmetic import (
    Quantized,
    soft_alignment,
    softmax,
)
from elmo_keras.pipelines.head_files import ENDS, HeadFile
from elmo_keras.pipelines.span_ends import SpanEnds
from elmo_keras.pipelines.texts import Labelled, join
from elmo_keras.tasks.crf import Crf
from elmo_keras.tasks.entities import constraints, entities, marks_spans

_LSTM = "kernel", "recurrent_kernel", "bias"


class Batch:
    """Sentences, prepared once for several heads.

    Args:
        sentences: tokens.
        layers: the biLM's `(layers, tokens, dim)` for each, or none for heads that
            contain their language model.
        predicates: for semantic roles, the position of each sentence's predicate.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        layers: Iterable[np.ndarray] = (),
        predicates: Sequence[int] = (),
    ):
        self.sentences, self.layers = sentences, list(layers)
        self.predicates = predicates
        self.lengths = np.array([len(sentence) for sentence in sentences], int)
        ends = np.cumsum(self.lengths).tolist()
        self.parts = [slice(*pair) for pair in itertools.pairwise([0, *ends])]

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


class TaggerHead:
    """Labels the tokens of sentences, or the spans that tags mark, by the scores of tags.

    Attributes:
        tags: all tags.
        crf: or None.
    """

    tags: Sequence[str]
    crf: Crf | None = None

    def scores(self, batch: Batch) -> np.ndarray:
        """Of each tag: `(tokens, tags)`, for flat sentences."""
        raise NotImplementedError

    def tag(self, batch: Batch) -> list[list[Labelled]]:
        """The labelled tokens, or spans, of each sentence, with their probabilities."""
        if not batch.lengths.sum():
            return [[] for _ in batch.sentences]
        scores = self.scores(batch)
        if self.crf is None:
            ids = scores.argmax(axis=1)
            alone = after = softmax(scores)[np.arange(len(ids)), ids]
        else:
            ids, alone, after = self.crf.decode(scores, batch.lengths)
        tags, alone, after = [self.tags[i] for i in ids], alone.tolist(), after.tolist()
        label = _label_spans if marks_spans(self.tags) else _label_tokens
        return [label(tags[p], alone[p], after[p]) for p in batch.parts]


def _label_tokens(tags, alone, _):
    pairs = enumerate(zip(tags, alone))
    return [Labelled(tag, i, i + 1, score) for i, (tag, score) in pairs]


def _label_spans(tags, alone, after):
    return [
        Labelled(name, first, end, alone[first] * math.prod(after[first + 1 : end]))
        for first, end, name in entities(tags)
    ]


class LightTokenVectors:
    """`TokenVectors` without characters: words, and the mixes of ELMo's layers.

    Attributes:
        ids: word → its row of `words`; 0 is that of the others.
        words: `(rows, word_dim)`, or None.
        layer_norm: as in `Elmo`.
        mixes: of each mix the weight of every layer.
    """

    def __init__(self, head: HeadFile):
        config, arrays = head.config["token_vectors"]["config"], head.arrays
        self.ids = {word: i for i, word in enumerate(config["words"], 1)}
        self.words = arrays.get("encoder/words/embeddings")
        elmo, self._place = config["elmo"]["config"], config["elmo_at"]
        self.layer_norm = elmo["layer_norm"]
        places = ("input", "output") if self._place == "both" else (self._place,)
        mixes = [f"encoder/{place}_mix" for place in places]
        self.mixes = [
            arrays[f"{mix}/gamma"] * self._weights(elmo, arrays.get(f"{mix}/scalars"))
            for mix in mixes
        ]

    @staticmethod
    def _weights(elmo, scalars):
        n_layers = elmo["config"]["n_layers"] + 1
        if elmo["layers"] == "mix":
            return softmax(scalars)
        if elmo["layers"] == "average":
            return np.full(n_layers, 1 / n_layers, np.float32)
        index = -1 if elmo["layers"] == "top" else elmo["layers"]
        return np.eye(n_layers, dtype=np.float32)[index]

    def __call__(self, batch: Batch) -> tuple[np.ndarray, np.ndarray | None]:
        """Vectors `(tokens, dim)` at the input, and at the output or None."""
        layers = batch.normalized if self.layer_norm else batch.flat
        mixes = [weighted_sum(layers, weights) for weights in self.mixes]
        at_input = []
        if self.words is not None:
            ids = [self.ids.get(token.lower(), 0) for token in batch.tokens]
            at_input.append(self.words[ids])
        if self._place != "output":
            at_input.append(mixes[0])
        at_output = None if self._place == "input" else mixes[-1]
        return np.concatenate(at_input, axis=1), at_output


class LightTagger(TaggerHead):
    """A `Tagger` of a head.

    Attributes:
        vectors: what makes the inputs of the LSTMs.
        lstms: of the forward and the backward one the kernel, recurrent kernel, bias, and
            the kernel that gives a score to each tag.
        bias: of the scores.
        ends: where spans end within their last token, or None.
    """

    def __init__(self, head: HeadFile):
        config, arrays = head.config, head.arrays
        self.tags = config["tags"]
        self.vectors = LightTokenVectors(head)
        self.bias, units = arrays["scores/bias"], config["units"]
        *kernels, rest = np.split(arrays["scores/kernel"], [units, 2 * units])
        lstms = _read_lstms(arrays, "encoder")
        self.lstms = [[*lstm, part] for lstm, part in zip(lstms, kernels)]
        self._bilstm = LiteBiLstm(self.lstms)
        self._at_output = Quantized(rest) if len(rest) else None
        self._predicates = arrays.get("encoder/predicate/embeddings")
        if config["crf"]:
            weights = Crf(*(arrays[f"crf/{name}"] for name in Crf._fields))
            self.crf = weights.only(constraints(self.tags))
        kernel = arrays.get(ENDS)
        self.ends = None if kernel is None else SpanEnds(kernel)

    def tag(self, batch):
        rows = super().tag(batch)
        if self.ends is None:
            return rows
        return [
            [p._replace(left_out=self.ends(tokens[p.end - 1], p.label)) for p in row]
            for tokens, row in zip(batch.sentences, rows)
        ]

    def scores(self, batch):
        x, at_output = self.vectors(batch)
        if self._predicates is not None:
            starts = [part.start for part in batch.parts]
            marks = np.zeros(len(x), int)
            marks[np.add(starts, batch.predicates)] = 1
            x = np.concatenate([x, self._predicates[marks]], axis=1)
        scores = self._bilstm(x, batch.lengths) + self.bias
        if self._at_output is not None and at_output is not None:
            scores += self._at_output(at_output)
        return scores


class LightClassifier:
    """A `TextClassifier` of a head."""

    def __init__(self, head: HeadFile):
        config, arrays = head.config, head.arrays
        self.labels, self.multi_label = config["labels"], config["multi_label"]
        self.threshold = config["threshold"]
        self._vectors = LightTokenVectors(head)
        self._encoder = LiteBiLstm(_read_lstms(arrays, "encoder"))
        self._integrator = LiteBiLstm(_read_lstms(arrays, "integrator"))
        self._attention = _read_dense(arrays, "attention")
        self._maxout = _read_dense(arrays, "maxout")
        self._decision = _read_dense(arrays, "decision")
        self._units = config["units"]

    def probabilities(self, batch: Batch) -> np.ndarray:
        """Of each label, `(sentences, labels)`."""
        x, at_output = self._vectors(batch)
        x = self._encoder(x, batch.lengths)
        if at_output is not None:
            x = np.concatenate([x, at_output], axis=1)
        c = np.concatenate([soft_alignment(x[part]) for part in batch.parts])
        x = np.concatenate([x, x - c, x * c], axis=1)
        x = self._integrator(x, batch.lengths)
        scores = _dense(x, *self._attention)
        pooled = np.array([_pool(x[part], scores[part]) for part in batch.parts])
        pieces = _dense(pooled, *self._maxout).reshape(len(pooled), -1, self._units)
        scores = _dense(pieces.max(axis=1), *self._decision)
        return 1 / (1 + np.exp(-scores)) if self.multi_label else softmax(scores)


def _pool(x, scores):
    """The maximum, minimum and mean over a text's tokens, and the mean by attention."""
    if not len(x):
        return np.zeros(4 * x.shape[1], np.float32)
    weights = softmax(scores[:, 0])[:, None]
    rows = x.max(axis=0), x.min(axis=0), x.mean(axis=0), (weights * x).sum(axis=0)
    return np.concatenate(rows)


def _read_lstms(arrays, prefix):
    return [
        [arrays[f"{prefix}/{direction}/{name}"] for name in _LSTM]
        for direction in ("forward", "backward")
    ]


def _read_dense(arrays, prefix):
    return Quantized(arrays[f"{prefix}/kernel"]), arrays[f"{prefix}/bias"]


def _dense(x, kernel, bias):
    return kernel(x) + bias
