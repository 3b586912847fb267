"""simple-elmo's side of the embedding benchmark.

    python with_simple_elmo.py FOLDER graph|api

`graph` runs its batched graph with the ids of its own `Batcher`. `api` calls
`ElmoModel.get_elmo_vectors`, in a session that stays open.
"""

import sys
from pathlib import Path

import protocol
import tensorflow as tf
from simple_elmo import ElmoModel
from simple_elmo.elmo import weight_layers

LARGEST_BATCH = 128


def main(folder: Path, way: str) -> None:
    model = ElmoModel()
    model.load(str(folder), max_batch_size=LARGEST_BATCH)
    layers = model.sentence_embeddings_op
    model.elmo_sentence_input = weight_layers("input", layers, use_layers="all")
    session = tf.compat.v1.Session()
    session.run(tf.compat.v1.global_variables_initializer())
    # The variables that carry the LSTM state from call to call.
    reset = tf.group(
        [
            variable.initializer
            for variable in tf.compat.v1.global_variables()
            if variable.shape.as_list()[:1] == [LARGEST_BATCH]
            and variable.op.name.split("/")[-1].startswith("Variable")
        ]
    )

    def embed(sentences):
        if way == "api":
            model.batch_size = len(sentences)
            return model.get_elmo_vectors(
                sentences, warmup=False, layers="all", session=session
            )
        ids = model.batcher.batch_sentences(sentences)
        feed = {model.sentence_character_ids: ids}
        return session.run(layers["lm_embeddings"], feed)

    protocol.answer_requests(
        protocol.hello("simple-elmo", "tensorflow", "tf_keras"),
        protocol.requests(embed, lambda: session.run(reset)),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
