"""elmo-keras' side of the benchmark of task training; `tasks.py` starts it.

python tasks_elmo_keras.py FOLDER fine-tuning|frozen
"""

import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tasks_worker import FINE_TUNING, LEARNING_RATE, N_TAGS, serve, tags

from elmo_keras import Elmo


def main(folder: Path, kind: str) -> None:
    """Makes the requested steps until standard input ends."""
    step = fine_tuning(folder) if kind == FINE_TUNING else frozen(folder)
    serve(folder, ("tensorflow", "keras"), step)


def fine_tuning(folder: Path):
    """A step of a custom loop, with gradients into the biLM."""
    elmo = Elmo.from_pretrained(folder, trainable_bilm=True)
    optimizer = keras.optimizers.SGD(LEARNING_RATE)
    optimizer.build(elmo.trainable_variables)

    @tf.function(input_signature=[tf.RaggedTensorSpec((None, None), tf.string, 1)])
    def update(tokens):
        with tf.GradientTape() as tape:
            vectors = elmo(tokens, training=True)  # 0 at padding
            n_tokens = tf.cast(tf.size(tokens.flat_values), vectors.dtype)
            loss = tf.reduce_sum(vectors**2) / (n_tokens * vectors.shape[-1])
        gradients = tape.gradient(loss, elmo.trainable_variables)
        optimizer.apply(gradients, elmo.trainable_variables)
        return loss

    def step(sentences):
        words = tf.constant([word for sentence in sentences for word in sentence])
        lengths = [len(sentence) for sentence in sentences]
        return float(update(tf.RaggedTensor.from_row_lengths(words, lengths)))

    return step


def frozen(folder: Path):
    """The step that `fit` makes for each batch."""
    tokens = keras.Input((None,), dtype="string")
    head = keras.layers.Dense(N_TAGS, kernel_initializer="zeros")
    tagger = keras.Model(tokens, head(Elmo.from_pretrained(folder)(tokens)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    tagger.compile(keras.optimizers.SGD(LEARNING_RATE), loss)

    def step(sentences):
        longest = max(map(len, sentences))
        padded = [sentence + [""] * (longest - len(sentence)) for sentence in sentences]
        wanted = np.zeros((len(sentences), longest), "int32")
        for place, sentence in zip(wanted, sentences):
            place[: len(sentence)] = tags(sentence)
        tagger.reset_metrics()
        return float(tagger.train_on_batch(tf.constant(padded), wanted))

    return step


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
