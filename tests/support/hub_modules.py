"""TF 1 Hub modules of ELMo with google's names and with those of bilm-tf's code."""

import numpy as np
import tensorflow as tf

from elmo_keras.model_files.published import array_of, published_table

# Part of a published name → its counterpart in modules.
NAMES = {
    "/LSTMCell/W_0": "/rnn/lstm_cell/kernel",
    "/LSTMCell/B": "/rnn/lstm_cell/bias",
    "/LSTMCell/W_P_0": "/rnn/lstm_cell/projection/kernel",
}
SCALARS, GAMMA = [0.5, -1.0, 2.0], 1.25
GOOGLE_MIX = {
    "aggregation/weights": np.float32(SCALARS),
    "aggregation/scaling": np.float32(GAMMA),
}
BILM_TF_MIX = {
    "aggregation/elmo_output_ELMo_W": np.float32(SCALARS),
    "aggregation/elmo_output_ELMo_gamma": np.float32([GAMMA]),
}


def variables(bilm, mix=None):
    """Name → array of a module's variables: padding has the first row of characters."""
    found = {}
    for name, entry in published_table(bilm).items():
        array = array_of(entry)
        if name == "char_embed":
            array = np.concatenate([np.zeros_like(array[:1]), array])
        for published, of_module in NAMES.items():
            name = name.replace(published, of_module)
        found[f"bilm/{name}"] = array
    return found | (GOOGLE_MIX if mix is None else mix)


def write(directory, values):
    """Writes a module, as `hub.Module.export` did: a SavedModel of a TF 1 graph."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        for name, value in values.items():
            v1.get_variable(name, initializer=tf.constant(value), use_resource=True)
        tokens = v1.placeholder(tf.string, [None, None], "tokens")
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(directory))
        signature = v1.saved_model.predict_signature_def(
            {"tokens": tokens}, {"elmo": tokens}
        )
        builder.add_meta_graph_and_variables(session, [], {"tokens": signature})
        builder.save()
    (directory / "tfhub_module.pb").write_bytes(b"\x08\x03")
    return directory
