"""simple-elmo's side of the embedding benchmark; `embedding.py` starts it.

    python embedding_simple_elmo.py FOLDER graph|api

`graph` runs its unchanged batched graph with the ids of its own `Batcher`. `api` calls
`ElmoModel.get_elmo_vectors`, in a session that stays open, so that the weights are
read once.
"""

import sys
from pathlib import Path

import tensorflow as tf
from embedding_worker import serve
from simple_elmo import ElmoModel
from simple_elmo.elmo import weight_layers

PACKAGES = ("simple-elmo", "tensorflow", "tf_keras")
LARGEST_BATCH = 128


def main(folder: Path, way: str) -> None:
    """Embeds the requested sentences until standard input ends."""
    model = ElmoModel()
    model.load(str(folder), max_batch_size=LARGEST_BATCH)
    layers = model.sentence_embeddings_op
    model.elmo_sentence_input = weight_layers("input", layers, use_layers="all")
    session = tf.compat.v1.Session()
    session.run(tf.compat.v1.global_variables_initializer())
    reset = tf.group([state.initializer for state in states()])

    def embed(sentences):
        if way == "api":
            model.batch_size = len(sentences)
            return model.get_elmo_vectors(
                sentences, warmup=False, layers="all", session=session
            )
        ids = model.batcher.batch_sentences(sentences)
        feed = {model.sentence_character_ids: ids}
        return session.run(layers["lm_embeddings"], feed)

    serve(folder, PACKAGES, embed, forget=lambda: session.run(reset))


def states() -> list[tf.Variable]:
    """The variables that carry the LSTM state from call to call."""
    variables = tf.compat.v1.global_variables()
    found = [v for v in variables if v.shape.as_list()[:1] == [LARGEST_BATCH]]
    return [v for v in found if v.op.name.split("/")[-1].startswith("Variable")]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
