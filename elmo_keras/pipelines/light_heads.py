"""Taggers and classifiers without TensorFlow: layers of the biLM in, answers out."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elmo_keras.lite.bilstm import LiteBiLstm
from elmo_keras.pipelines.arithmetic import (
    Crf,
    Quantized,
    soft_alignment,
    softmax,
)
from elmo_keras.pipelines.head_files import HeadFile
from elmo_keras.pipelines.texts import Labelled
from elmo_keras.tasks.entities import constraints, entities, marks_spans

FORBIDDEN = -1e6  # which no score outweighs, as in `LinearChainCRF`


class Tags(NamedTuple):
    """Of a sentence: the tag of each token, its probability, and the spans that tags mark."""

    tags: list[str]
    scores: list[float]
    spans: list[Labelled]


class SentenceLayers:
    """The layers `(layers, tokens, dim)` of sentences, prepared once for several heads."""

    def __init__(self, arrays: Sequence[np.ndarray]):
        self.arrays = arrays

    @functools.cached_property
    def flat(self) -> np.ndarray:
        """Of all tokens: `(layers, tokens, dim)`."""
        return np.concatenate(self.arrays, axis=1)

    @functools.cached_property
    def normalized(self) -> np.ndarray:
        """With mean 0 and variance 1 in each layer of a token, as `layer_norm` of a mix."""
        x = self.flat - self.flat.mean(axis=2, keepdims=True)
        variance = np.einsum("ltd,ltd->lt", x, x)[..., None] / np.float32(x.shape[2])
        return np.divide(x, np.sqrt(variance + np.float32(1e-12)), out=x)


class LightTokenVectors:
    """`TokenVectors` without characters: words, and the mixes of ELMo's layers.

    Attributes:
        ids: word → its row of `words`; 0 is that of the others.
        words: `(rows, word_dim)`, or None.
        layers, layer_norm: as in `Elmo`.
        mixes: γ and the scalars w of each mix.
    """

    def __init__(self, head: HeadFile, prefix: str):
        config, arrays = head.config["token_vectors"]["config"], head.arrays
        self.ids = {word: i for i, word in enumerate(config["words"], 1)}
        self.words = arrays.get(f"{prefix}/word_vectors/vars/0")
        elmo = config["elmo"]["config"]
        self.layers, self.layer_norm = elmo["layers"], elmo["layer_norm"]
        self._place = config["elmo_at"]
        names = [f"{prefix}/elmo/mixes/scalar_mix{n}/vars" for n in ("", "_1")]
        mixes = [[arrays.get(f"{name}/{i}") for i in (0, 1)] for name in names]
        self.mixes = [mix for mix in mixes if mix[0] is not None]

    def __call__(self, tokens, layers):
        """Vectors `(tokens, dim)` at the input, and at the output or None."""
        layers = layers.normalized if self.layer_norm else layers.flat
        mixes = [self._mix(layers, *mix) for mix in self.mixes]
        at_input = [] if self.words is None else [self.words[self._word_ids(tokens)]]
        if self._place != "output":
            at_input.append(mixes[0])
        at_output = None if self._place == "input" else mixes[-1]
        return np.concatenate(at_input, axis=1), at_output

    def _word_ids(self, tokens):
        return [self.ids.get(token.lower(), 0) for token in tokens]

    def _mix(self, layers, gamma, scalars):
        if self.layers == "mix":
            # A product of matrices would depend on the number of tokens.
            return gamma * sum(w * x for w, x in zip(softmax(scalars), layers))
        if self.layers == "average":
            return gamma * layers.mean(axis=0)
        return gamma * layers[-1 if self.layers == "top" else self.layers]


class LightTagger:
    """A `Tagger` of a head.

    Attributes:
        tags: all tags.
        vectors: what makes the inputs of the LSTMs.
        lstms: of the forward and the backward one the kernel, recurrent kernel, bias, and
            the kernel that gives a score to each tag.
        bias: of the scores.
        crf: or None.
    """

    def __init__(self, head: HeadFile):
        config, arrays = head.config, head.arrays
        self.tags, self._marks_spans = config["tags"], marks_spans(config["tags"])
        self.vectors = LightTokenVectors(head, "layers/token_vectors")
        kernel, self.bias = (arrays[f"layers/dense/vars/{i}"] for i in range(2))
        units = config["units"]
        *kernels, rest = np.split(kernel, [units, 2 * units])
        lstms = _read_lstms(arrays, "layers/fast_bidirectional")
        self.lstms = [[*lstm, part] for lstm, part in zip(lstms, kernels)]
        self._bilstm = LiteBiLstm(self.lstms)
        self._at_output = Quantized(rest) if len(rest) else None
        none = np.zeros((2, 0), np.float32)
        self._predicates = arrays.get("layers/embedding/vars/0", none)
        self.crf = None
        if config["crf"]:
            penalties = np.where(constraints(self.tags), 0, FORBIDDEN).astype("float32")
            transitions, first, last = (arrays[f"crf/vars/{i}"] for i in range(3))
            self.crf = Crf(transitions + penalties[:-1], first + penalties[-1], last)

    def tag(
        self,
        sentences: Sequence[Sequence[str]],
        layers: SentenceLayers,
        predicates: Sequence[int] | None = None,
    ) -> list[Tags]:
        """The tags of sentences; with `predicates`, the position of each one's predicate."""
        lengths = np.array([len(sentence) for sentence in sentences])
        if not lengths.sum():
            return [Tags([], [], []) for _ in sentences]
        tokens = [token for sentence in sentences for token in sentence]
        x, at_output = self.vectors(tokens, layers)
        if predicates is not None:
            marks = np.zeros(len(tokens), int)
            starts = np.cumsum(lengths).astype(int) - lengths
            marks[starts + np.asarray(predicates, int)] = 1
            x = np.concatenate([x, self._predicates[marks]], axis=1)
        scores = self._bilstm(x, lengths) + self.bias
        if self._at_output and at_output is not None:
            scores += self._at_output(at_output)
        if self.crf is None:
            ids = scores.argmax(axis=1)
            alone = after = softmax(scores)[np.arange(len(ids)), ids]
        else:
            ids, alone, after = self.crf.decode(scores, lengths)
        tags = [self.tags[i] for i in ids]
        alone, after = alone.tolist(), after.tolist()
        ends = np.cumsum(lengths).tolist()
        parts = [slice(*part) for part in zip([0, *ends], ends)]
        return [self._tags(tags[p], alone[p], after[p]) for p in parts]

    def _tags(self, tags, alone, after):
        spans = [
            Labelled(name, first, end, alone[first] * math.prod(after[first + 1 : end]))
            for first, end, name in (entities(tags) if self._marks_spans else ())
        ]
        return Tags(tags, alone, spans)


class LightClassifier:
    """A `TextClassifier` of a head."""

    def __init__(self, head: HeadFile):
        config, arrays = head.config, head.arrays
        self.labels, self.multi_label = config["labels"], config["multi_label"]
        self.threshold = config["threshold"]
        self._vectors = LightTokenVectors(head, "encoder/token_vectors")
        self._encoder = LiteBiLstm(_read_lstms(arrays, "encoder/lstm"))
        self._integrator = LiteBiLstm(_read_lstms(arrays, "integrator"))
        self._attention = _read_dense(arrays, "attention/score")
        self._maxout = _read_dense(arrays, "layers/maxout/dense")
        self._decision = _read_dense(arrays, "decision")
        self._units = config["units"]

    def probabilities(
        self, texts: Sequence[Sequence[str]], layers: SentenceLayers
    ) -> np.ndarray:
        """Of each label, `(texts, labels)`."""
        lengths = np.array([len(text) for text in texts])
        tokens = [token for text in texts for token in text]
        x, at_output = self._vectors(tokens, layers)
        x = self._encoder(x, lengths)
        if at_output is not None:
            x = np.concatenate([x, at_output], axis=1)
        ends = np.cumsum(lengths)[:-1]
        c = np.concatenate([soft_alignment(text) for text in np.split(x, ends)])
        x = np.concatenate([x, x - c, x * c], axis=1)
        x = self._integrator(x, lengths)
        scores = _dense(x, *self._attention)
        pairs = zip(np.split(x, ends), np.split(scores, ends))
        pooled = np.array([_pool(text, score) for text, score in pairs])
        pieces = _dense(pooled, *self._maxout).reshape(len(texts), -1, self._units)
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
        [arrays[f"{prefix}/{way}_layer/cell/vars/{i}"] for i in range(3)]
        for way in ("forward", "backward")
    ]


def _read_dense(arrays, prefix):
    return Quantized(arrays[f"{prefix}/vars/0"]), arrays[f"{prefix}/vars/1"]


def _dense(x, kernel, bias):
    return kernel(x) + bias
