"""Checkpoints as bilm-tf wrote them with TensorFlow 1, in the sizes of `test`."""

import contextlib
import dataclasses
import json

import numpy as np
import tensorflow as tf

from elmo_keras.formats.options import to_options
from tests.support.models import random_bilm
from tests.support.sizes import CONFIG

WORDS = 11
v1 = tf.compat.v1


def shapes(n_layers=2):
    """Name → shape of bilm-tf's variables in the sizes of the tests."""
    result = {"lm/char_embed": (261, 3)}
    for i, (width, count) in enumerate([(1, 2), (2, 3), (3, 4)]):
        result[f"lm/CNN/W_cnn_{i}"] = (1, width, 3, count)
        result[f"lm/CNN/b_cnn_{i}"] = (count,)
    for name in ("carry", "transform"):
        result[f"lm/CNN_high_0/W_{name}"] = (9, 9)
        result[f"lm/CNN_high_0/b_{name}"] = (9,)
    result |= {"lm/CNN_proj/W_proj": (9, 5), "lm/CNN_proj/b_proj": (5,)}
    for d in range(2):
        for j in range(n_layers):
            layer = f"multi_rnn_cell/cell_{j}/" if n_layers > 1 else ""
            cell = f"lm/RNN_{d}/rnn/{layer}lstm_cell"
            result[f"{cell}/kernel"] = (10, 28)
            result[f"{cell}/bias"] = (28,)
            result[f"{cell}/projection/kernel"] = (7, 5)
    return result | {"lm/softmax/W": (WORDS, 5), "lm/softmax/b": (WORDS,)}


def arrays(n_layers=2):
    """Random values of all variables and of their accumulators, by name."""
    rng = np.random.default_rng(n_layers)
    values = {}
    for name, shape in shapes(n_layers).items():
        values[name] = rng.normal(size=shape).astype("float32") / 2
        values[f"{name}/Adagrad"] = rng.uniform(1, 2, shape).astype("float32")
    steps = {"global_step": np.float32(9), "train_perplexity": np.float32(0)}
    return values | steps


@contextlib.contextmanager
def session_of(values, use_resource):
    """A session of a graph with these variables, name → value."""
    with tf.Graph().as_default(), v1.Session() as session:
        for name, value in values.items():
            start = tf.constant(value)
            v1.get_variable(name, initializer=start, use_resource=use_resource)
        session.run(v1.global_variables_initializer())
        yield session


def write(prefix, values):
    with session_of(values, use_resource=False) as session:
        v1.train.Saver().save(session, str(prefix), write_meta_graph=False)


def options(n_layers=2):
    config = dataclasses.replace(CONFIG, n_layers=n_layers)
    content = json.loads(json.dumps(to_options(config)))
    content["n_tokens_vocab"] = WORDS
    content["char_cnn"]["n_characters"] = 261
    return content


def built(n_layers=2, vocabulary_size=WORDS):
    config = dataclasses.replace(CONFIG, n_layers=n_layers)
    return random_bilm(config, vocabulary_size, seed=5)


def write_model(directory, values, n_layers=2):
    """Writes a checkpoint with its options and the words of its softmax."""
    directory.mkdir(exist_ok=True)
    write(directory / "model.ckpt-9", values)
    (directory / "options.json").write_text(json.dumps(options(n_layers)))
    words = "</S>", "<S>", "<UNK>", *"abcdefgh"
    (directory / "elmo-vocab.txt").write_text("\n".join(words) + "\n")
    return directory
