"""Exports of a model with a start state, which every sentence is read from."""

import numpy as np
import pytest
import tensorflow as tf

from export.version_directory import export_elmo
from tests.support.exported import SENTENCES, elmo_layer, expected, padded

pytestmark = pytest.mark.slow

v1 = tf.compat.v1


@pytest.fixture(scope="module")
def elmo():
    return elmo_layer(has_start_state=True)


@pytest.fixture(scope="module")
def version(elmo, tmp_path_factory):
    return export_elmo(elmo, tmp_path_factory.mktemp("exports"))


def assert_expected(vectors, elmo):
    wanted = expected(elmo)["elmo"]
    np.testing.assert_allclose(vectors, wanted, rtol=0, atol=1e-6)
    elmo.bilm.lstm.has_start_state = False
    from_zero = elmo([sentence.split() for sentence in SENTENCES])
    elmo.bilm.lstm.has_start_state = True
    assert np.abs(wanted - from_zero).max() > 0.01


def test_signatures_compute_the_vectors_of_the_layer(version, elmo):
    signatures = tf.saved_model.load(str(version)).signatures
    assert_expected(signatures["default"](tf.constant(SENTENCES))["elmo"], elmo)
    assert_expected(signatures["tokens"](**padded())["elmo"], elmo)


def test_a_session_computes_the_vectors_of_the_layer(version, elmo):
    with v1.Session(graph=tf.Graph()) as session:
        loaded = v1.saved_model.load(session, ["serve"], str(version))
        signature = loaded.signature_def["default"]
        feed = {signature.inputs["sentences"].name: SENTENCES}
        vectors = session.run(signature.outputs["elmo"].name, feed)
    assert_expected(vectors, elmo)
