"""TF 1 Hub modules of ELMo with google's names and with those of bilm-tf's code."""

import numpy as np
import tensorflow as tf

from tests.support.models import published_weights
from tests.support.tf1_checkpoints import session_of, v1

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
    variables = {}
    for name, array in published_weights(bilm).items():
        array = array.astype("float32")
        if name == "char_embed":
            array = np.concatenate([np.zeros_like(array[:1]), array])
        for published, module_name in NAMES.items():
            name = name.replace(published, module_name)
        variables[f"bilm/{name}"] = array
    return variables | (GOOGLE_MIX if mix is None else mix)


def write(directory, values):
    """Writes a module, as `hub.Module.export` did: a SavedModel of a TF 1 graph."""
    with session_of(values, use_resource=True) as session:
        tokens = {"tokens": v1.placeholder(tf.string, [None, None], "tokens")}
        builder = v1.saved_model.Builder(str(directory))
        outputs = {"elmo": tokens["tokens"]}
        signature = v1.saved_model.predict_signature_def(tokens, outputs)
        builder.add_meta_graph_and_variables(session, [], {"tokens": signature})
        builder.save()
    (directory / "tfhub_module.pb").write_bytes(b"\x08\x03")
    return directory
