"""A `.tflite` file behind the signatures of an export."""

import functools
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo

from elmo_keras.embed.engines.engine import pool
from elmo_keras.embed.engines.litert import LiteRTEngine
from elmo_keras.embed.word_vectors import WordVectors
from elmo_keras.export.sentences import INPUT_NAMES
from elmo_keras.export.version_paths import MODEL_NAME
from elmo_keras.exported_elmo import LENGTHS
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.serve.servable import DEFAULT_SIGNATURE, Servable
from elmo_keras.serve.signature import Arrays, Signature
from elmo_keras.text.tokenizers import split_words

CACHE_BYTES = 2**28  # for the vectors of words


class LiteServable(Servable):
    """The model of a `.tflite` file, with the signatures and outputs of an export."""

    def __init__(self, path: Path, name: str = MODEL_NAME):
        # Not mapped into memory: a program may write over the file.
        self._mix = LiteRTEngine(LiteElmo.read(path, mapped=False), "mix")
        self.tokenizer = self._mix.config.tokenizer
        self._words = WordVectors(self._mix, CACHE_BYTES)
        dim, n_layers = self._mix.config.projection_dim, self._mix.config.n_layers
        lengths = tensor(LENGTHS, tf.int32, (None,))
        shapes: dict[str, tuple[int | None, ...]] = {"word_emb": (None, None, dim)}
        for i in range(1, n_layers + 1):
            shapes[f"lstm_outputs{i}"] = None, None, 2 * dim
        shapes["layers"] = None, n_layers + 1, None, 2 * dim
        shapes |= {"elmo": (None, None, 2 * dim), "default": (None, 2 * dim)}
        outputs = [tensor(name, tf.float32, shape) for name, shape in shapes.items()]
        outputs.append(lengths)
        default = to_signature([tensor(INPUT_NAMES[0], tf.string, (None,))], outputs)
        tokens = [tensor("tokens", tf.string, (None, None)), lengths]
        signatures = {name: default for name in ("default", DEFAULT_SIGNATURE)}
        super().__init__(name, signatures | {"tokens": to_signature(tokens, outputs)})

    def run(
        self,
        signature: Signature,
        inputs: Arrays,
        keys: tuple[str, ...],
        *,
        seconds: float | None = None,
        is_long: bool = False,
    ) -> Arrays:
        if "tokens" in inputs:
            tokens, time = inputs["tokens"], inputs["tokens"].shape[1]
            rows = zip(tokens, inputs[LENGTHS])
            sentences = [row[:n].tolist() for row, n in rows]
        else:
            (texts,) = inputs.values()
            sentences = [self._split(text) for text in texts]
            time = max(map(len, sentences), default=0)
        return self._outputs(sentences, time, keys)

    def _split(self, text):
        if self.tokenizer == "spaces":
            return [token for token in text.split(b" ") if token]
        tokens = split_words(text.decode(errors="replace"), self.tokenizer)
        return [token.encode() for token in tokens]

    def _outputs(self, sentences, time, keys):
        lengths = np.array([len(tokens) for tokens in sentences], np.int32)
        table, ids = self._words.encode(sentences)
        ids = np.concatenate([*ids, np.empty(0, np.int32)])
        layers = [*self._mix.all_layers(table.vectors(ids), lengths)]
        mask = np.arange(time) < lengths[:, None]
        dim = self._mix.config.projection_dim
        compute = {
            LENGTHS: lambda: lengths,
            "word_emb": lambda: pad(layers[0][:, :dim], mask),
            "layers": lambda: np.stack([pad(h, mask) for h in layers], axis=1),
            "elmo": lambda: pad(self._mix.apply_mix(layers), mask),
            "default": lambda: pool(self._mix.apply_mix(layers), lengths, "mean"),
        }
        for i, h in enumerate(layers[1:], 1):
            compute[f"lstm_outputs{i}"] = functools.partial(pad, h, mask)
        return {key: compute[key]() for key in keys}


def pad(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    padded = np.zeros((*mask.shape, x.shape[1]), np.float32)
    padded[mask] = x
    return padded


def tensor(name: str, dtype: tf.DType, shape: tuple[int | None, ...]) -> TensorInfo:
    proto = tf.TensorShape(shape).as_proto()
    return TensorInfo(name=name, dtype=dtype.as_datatype_enum, tensor_shape=proto)


def to_signature(inputs: list[TensorInfo], outputs: list[TensorInfo]) -> SignatureDef:
    return SignatureDef(
        inputs={tensor.name: tensor for tensor in inputs},
        outputs={tensor.name: tensor for tensor in outputs},
        method_name=tf.saved_model.PREDICT_METHOD_NAME,
    )
