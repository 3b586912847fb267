"""elmo-keras' side of the benchmarks, through public names only.

    python ours.py FOLDER WAY

WAY is `float32` or `bfloat16` (`Elmo.all_layers` in a `tf.function`, `embed_corpus` for
files), `eager` (`Elmo.all_layers` outside of any graph), `embedder`; `fine-tuning` or
`frozen`; `coreference` or `answer` (documents).
"""

import sys
import time
from pathlib import Path

import h5py
import keras
import numpy as np
import protocol
import tensorflow as tf

from elmo_keras import Elmo, Embedder, embed_corpus

QUESTION = "Who was it that came home ?"


def main(folder: Path, way: str) -> None:
    imported = time.time()
    tasks = {"fine-tuning": fine_tuning, "frozen": frozen}
    tasks |= dict.fromkeys(("coreference", "answer"), document_reader)
    if way in tasks:
        requests = protocol.requests(tasks[way](folder, way))
    else:
        elmo = Elmo.from_pretrained(folder, dtype=way if "float" in way else "float32")
        embed = {"eager": eager, "embedder": embedder}.get(way, graph)(elmo)
        requests = protocol.requests(embed)
        requests["file"] = file_request(elmo, folder, way)
    hello = protocol.hello("tensorflow", "keras", imported=imported)
    protocol.answer_requests(hello, requests)


def eager(elmo: Elmo):
    return lambda sentences: elmo.all_layers(sentences).numpy()


def embedder(elmo: Elmo):
    return Embedder(elmo, layers="all").encode


def graph(elmo: Elmo):
    """The layer in a graph of the caller's."""
    tokens = tf.RaggedTensorSpec((None, None), tf.string, ragged_rank=1)
    layers = tf.function(elmo.all_layers, input_signature=[tokens])
    return lambda sentences: layers(ragged(sentences)).numpy()


def ragged(sentences) -> tf.RaggedTensor:
    words = tf.constant([word for sentence in sentences for word in sentence])
    return tf.RaggedTensor.from_row_lengths(words, [len(s) for s in sentences])


def file_request(elmo: Elmo, folder: Path, way: str):
    """Embeds a whole file: an `Embedder` to arrays, others to a file on the disk."""
    text, output = folder / "sentences.txt", folder / "vectors.hdf5"

    def work():
        if way == "embedder":  # without words that it knows already
            for vectors in Embedder(elmo, layers="all").stream(protocol.read(text)):
                protocol.result(vectors)
        else:
            embed_corpus(elmo, text, output, overwrite=True)
            with h5py.File(output) as file:
                protocol.result(file["0"][...])

    return lambda: protocol.timed(protocol.read(text), work)


def fine_tuning(folder: Path, _: str):
    """A step of a custom loop, with gradients into the biLM."""
    elmo = Elmo.from_pretrained(folder, trainable_bilm=True)
    optimizer = keras.optimizers.SGD(protocol.LEARNING_RATE)
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

    return lambda sentences: float(update(ragged(sentences)))


def frozen(folder: Path, _: str):
    """The step that `fit` makes for each batch."""
    tokens = keras.Input((None,), dtype="string")
    head = keras.layers.Dense(protocol.N_TAGS, kernel_initializer="zeros")
    tagger = keras.Model(tokens, head(Elmo.from_pretrained(folder)(tokens)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    tagger.compile(keras.optimizers.SGD(protocol.LEARNING_RATE), loss)

    def step(sentences):
        longest = max(map(len, sentences))
        padded = [sentence + [""] * (longest - len(sentence)) for sentence in sentences]
        wanted = np.zeros((len(sentences), longest), "int32")
        for place, sentence in zip(wanted, sentences):
            place[: len(sentence)] = protocol.tags(sentence)
        tagger.reset_metrics()
        return float(tagger.train_on_batch(tf.constant(padded), wanted))

    return step


def document_reader(folder: Path, task: str):
    """Resolves the mentions of a document, or answers a question about it."""
    from elmo_keras import tasks

    vectors = tasks.TokenVectors(["it"], elmo=Elmo.from_pretrained(folder))
    if task == "coreference":
        resolve = tasks.CoreferenceModel(vectors).resolve
        return lambda document: resolve(document) and None
    answerer = tasks.QuestionAnswering(vectors)

    def work(document):
        answerer.answer(" ".join(sum(document, [])), QUESTION)

    return work


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
