"""The export of all tests that don't change it, loaded in the ways that serve it."""

import pytest
import tensorflow as tf

v1 = tf.compat.v1


@pytest.fixture(scope="session")
def loaded(exported_version):
    """The export as TensorFlow 2 loads it."""
    return tf.saved_model.load(str(exported_version))


@pytest.fixture(scope="session")
def session(exported_version):
    """Runs outputs of a signature in a session of TensorFlow 1, as a server does."""
    session = v1.Session(graph=tf.Graph())
    signatures = v1.saved_model.load(
        session, ["serve"], str(exported_version)
    ).signature_def

    def run(signature, outputs, inputs, **kwargs):
        signature = signatures[signature]
        feed = {signature.inputs[name].name: x for name, x in inputs.items()}
        fetches = {name: signature.outputs[name].name for name in outputs}
        return session.run(fetches, feed, **kwargs)

    yield run
    session.close()
