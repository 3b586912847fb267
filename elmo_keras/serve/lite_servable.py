"""A `.tflite` file behind the signatures of an export."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo

from elmo_keras.embed.lite_vectors import LiteVectors, pooled
from elmo_keras.embed.word_vectors import WordVectors
from elmo_keras.export.options import INPUT_NAMES, TOKENIZERS
from elmo_keras.export.version_paths import MODEL_NAME
from elmo_keras.serve.errors import invalid
from elmo_keras.serve.joining import LENGTHS
from elmo_keras.serve.servable import DEFAULT_SIGNATURE, Servable
from elmo_keras.serve.signature import Arrays, Signature

CACHE_BYTES = 2**28  # of the vectors of words


class LiteServable(Servable):
    """The model of a `.tflite` file, with the signatures and outputs of an export."""

    tokenizer = TOKENIZERS[0]
    version = 1

    def __init__(self, path: Path, name: str = MODEL_NAME):
        self.name, self.directory = name, path
        kinds = {"gamma": None, "dtype": "float32", "pooling": None}
        # LiteRT reads where the file is mapped, which a program may write over.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            try:
                self._mix = LiteVectors(copy, "mix", **kinds)
            except ValueError as error:
                raise ValueError(str(error).replace(str(copy), str(path))) from error
        self._words = WordVectors(self._mix, CACHE_BYTES)
        dim, n_layers = self._mix.config.projection_dim, self._mix.config.n_layers
        outputs = {
            "word_emb": (None, None, dim),
            **{f"lstm_outputs{i + 1}": (None, None, 2 * dim) for i in range(n_layers)},
            "layers": (None, n_layers + 1, None, 2 * dim),
            "elmo": (None, None, 2 * dim),
            "default": (None, 2 * dim),
        }
        outputs = {k: tf.TensorSpec(shape, tf.float32) for k, shape in outputs.items()}
        outputs[LENGTHS] = lengths = tf.TensorSpec((None,), tf.int32)
        texts = {INPUT_NAMES[0]: tf.TensorSpec((None,), tf.string)}
        tokens = {"tokens": tf.TensorSpec((None, None), tf.string), LENGTHS: lengths}
        default, tokens = _signature(texts, outputs), _signature(tokens, outputs)
        self._set_signatures(
            {DEFAULT_SIGNATURE: default, "default": default, "tokens": tokens}
        )

    def run(
        self, signature: Signature, inputs: Arrays, keys: tuple[str, ...], **_
    ) -> Arrays:
        if "tokens" in inputs:
            tokens, time = inputs["tokens"], inputs["tokens"].shape[1]
            lengths = inputs[LENGTHS]
            if lengths.min(initial=0) < 0 or lengths.max(initial=0) > time:
                raise invalid(
                    "`sequence_len` should be from 0 to the number of columns of "
                    f"`tokens`, {time}. Received: {lengths.tolist()}"
                )
            sentences = [row[:n].tolist() for row, n in zip(tokens, lengths)]
        else:
            (texts,) = inputs.values()
            sentences = [[t for t in text.split(b" ") if t] for text in texts]
            time = max(map(len, sentences), default=0)
        return self._outputs(sentences, time, keys)

    def _outputs(self, sentences, time, keys):
        lengths = np.array([len(tokens) for tokens in sentences], np.int32)
        table, numbers, _ = self._words.numbered(sentences)
        numbers = np.concatenate([*numbers, np.empty(0, np.int32)])
        layers = self._mix.all_layers(table.of(numbers), lengths)
        mask = np.arange(time) < lengths[:, None]

        def padded(x):
            result = np.zeros((len(lengths), time, x.shape[1]), np.float32)
            result[mask] = x
            return result

        makers = {
            "word_emb": lambda: padded(layers[0][:, : self._mix.config.projection_dim]),
            "layers": lambda: np.stack([padded(h) for h in layers], axis=1),
            "elmo": lambda: padded(self._mix.mixed(layers)),
            "default": lambda: pooled(self._mix.mixed(layers), lengths, "mean"),
            LENGTHS: lambda: lengths,
        }
        for i, layer in enumerate(layers[1:], 1):
            makers[f"lstm_outputs{i}"] = lambda layer=layer: padded(layer)
        return {key: makers[key]() for key in keys}

    def close(self) -> None:
        """Frees nothing: the memory goes with the object."""


def _signature(*specs):
    inputs, outputs = (
        {
            key: TensorInfo(
                name=key,
                dtype=spec.dtype.as_datatype_enum,
                tensor_shape=spec.shape.as_proto(),
            )
            for key, spec in found.items()
        }
        for found in specs
    )
    method = tf.saved_model.PREDICT_METHOD_NAME
    return SignatureDef(inputs=inputs, outputs=outputs, method_name=method)
