"""Exports of a model with a dictionary, in programs that load them."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from elmo_keras.config import TokenDictionary
from elmo_keras.export.version_directory import export_elmo
from tests.support.dictionaries import DICTIONARY, dictionary_config
from tests.support.exported import SENTENCES, elmo_layer, expected, padded, session_of

pytestmark = pytest.mark.slow

# Too many words for TensorFlow to copy them into each graph.
MANY = "\n".join([DICTIONARY.words, *(f"word{i}" for i in range(5000))])
OUTPUTS = ("elmo", "layers", "word_emb", "default", "sequence_len")


@pytest.fixture(scope="module")
def elmo():
    dictionary = TokenDictionary(DICTIONARY.characters, MANY)
    return elmo_layer(dataclasses.replace(dictionary_config(), dictionary=dictionary))


@pytest.fixture(scope="module")
def version(elmo, tmp_path_factory):
    return export_elmo(elmo, tmp_path_factory.mktemp("exports"))


def assert_expected(outputs, elmo):
    for name in OUTPUTS:
        wanted = expected(elmo)[name].numpy()
        assert np.shape(outputs[name]) == wanted.shape
        np.testing.assert_allclose(outputs[name], wanted, rtol=0, atol=1e-6)


def test_signatures_and_sessions_compute_the_vectors_of_the_layer(version, elmo):
    """A session needs no initialisation but that of the weights."""
    signatures = tf.saved_model.load(str(version)).signatures
    assert_expected(signatures["default"](tf.constant(SENTENCES)), elmo)
    assert_expected(signatures["tokens"](**padded()), elmo)
    with session_of(version) as run:
        assert_expected(run("default", OUTPUTS, {"sentences": SENTENCES}), elmo)


def test_the_graph_has_no_tables_and_holds_the_dictionary_once(version):
    content = (version / "saved_model.pb").read_bytes()
    graph = SavedModel.FromString(content).meta_graphs[0].graph_def
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    assert not {node.op for node in nodes if "Table" in node.op}
    assert content.count(b"word4321") == 1
