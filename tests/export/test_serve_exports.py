"""The server gives the vectors of the layer for real exports."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from export.saved_model import ExportOptions
from export.version_directory import export_elmo
from tests.support.exported import TOKENS, elmo_layer
from tests.support.serving_load import Load
from tests.support.serving_requests import text_request
from tests.support.stand_in import asking, serving, serving_process


def assert_right_answers(port, elmo, n):
    """Sends requests of several clients until `n` sentences have right vectors."""
    vectors = {tuple(s): elmo([s])[0].numpy() for s in TOKENS if s}

    def sentences(client):
        return itertools.islice(itertools.cycle(map(list, vectors)), client, None)

    def expected(sentence, version):
        return vectors[tuple(sentence)]

    with Load(port, sentences, expected, clients=4, tolerance=1e-6) as clients:
        clients.wait_for(n)
    assert not clients.wrong and not clients.refusals


def test_an_export_gives_each_client_the_vectors_of_the_layer(
    exported_version, exported_elmo
):
    with serving(exported_version.parent) as server:
        assert_right_answers(server.port, exported_elmo, 30)


@pytest.fixture(scope="module")
def elmo():
    return elmo_layer(seed=1)


@pytest.fixture(scope="module")
def exports(elmo, tmp_path_factory):
    """An export with operations of tensorflow-text."""
    pytest.importorskip("tensorflow_text")
    output = tmp_path_factory.mktemp("exports")
    options = ExportOptions(tokenizer="unicode_script", normalization="NFC")
    export_elmo(elmo, output, options)
    return output


@pytest.mark.slow
def test_a_new_process_serves_operations_of_tensorflow_text(exports, elmo):
    with serving_process(exports) as (_, line, port):
        assert line.startswith("Serving version 1")
        assert_right_answers(port, elmo, 50)


def test_an_export_that_batches_within_its_graph_is_served(tmp_path):
    """Older versions wrote such ones (`--batching`)."""

    @tf.nondifferentiable_batch_function(2, 32, 2000, autograph=False)
    def together(texts):
        return tf.cast(tf.strings.length(texts), tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "sentences")])
    def default(sentences):
        return {"elmo": together(sentences)}

    signatures = {"serving_default": default}
    tf.saved_model.save(tf.Module(), str(tmp_path / "1"), signatures)
    with serving(tmp_path, max_batch_size=1) as server, asking(server) as stub:
        calls = [stub.Predict.future(text_request(["x" * n])) for n in range(9)]
        found = [tf.make_ndarray(call.result().outputs["elmo"]) for call in calls]
    np.testing.assert_array_equal(np.concatenate(found), np.arange(9))
