"""A `.tflite` file behind the server, against the export of the same model."""

import dataclasses
import threading

import grpc
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.serve.config import Config, ModelConfig
from elmo_keras.serve.versions import Versions
from tests.support.exported import SENTENCES, elmo_layer, expected, padded
from tests.support.models import convert_layer
from tests.support.serving_requests import predict_request
from tests.support.stand_in import asking, refused, serving
from tests.support.waiting import PATIENCE

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")

from elmo_keras.serve.lite_servable import LiteServable
from tests.support.sizes import CONFIG


@pytest.fixture(scope="module")
def stub(exported_elmo, tmp_path_factory):
    path = tmp_path_factory.mktemp("lite") / "elmo.tflite"
    convert_layer(exported_elmo, path, "float32")
    with serving(path) as server, asking(server) as asked:
        yield asked


def answer(stub, signature, inputs, outputs=()):
    request = predict_request(inputs, *outputs, signature=signature)
    outputs = stub.Predict(request).outputs
    return {name: tf.make_ndarray(value) for name, value in outputs.items()}


@pytest.mark.parametrize("signature", ["default", "tokens", ""])
def test_all_outputs_are_those_of_the_layer(stub, exported_elmo, signature):
    inputs = {"sentences": SENTENCES}
    if signature == "tokens":
        inputs = {name: value.numpy() for name, value in padded().items()}
    actual, reference = answer(stub, signature, inputs), expected(exported_elmo)
    assert {*actual} == {*reference}
    for name, value in actual.items():
        np.testing.assert_allclose(value, reference[name], rtol=1e-5, atol=1e-5)


def test_text_is_split_as_that_of_the_model(tmp_path):
    config = dataclasses.replace(CONFIG, tokenizer="words")
    elmo = elmo_layer(config)
    convert_layer(elmo, tmp_path / "elmo.tflite", "float32")
    servable = LiteServable(tmp_path / "elmo.tflite")
    texts = {"sentences": np.array(["It's late! \xff".encode("latin-1")], object)}
    outputs = servable.run(servable.signature("default"), texts, ("sequence_len",))
    assert outputs["sequence_len"] == [5] and servable.tokenizer == "words"


def test_a_file_that_is_replaced_answers_as_a_newer_version(
    exported_elmo, tmp_path, caplog
):
    """Also one that is written over where it lies, or damaged for a while."""
    path, other = tmp_path / "elmo.tflite", tmp_path / "other.tflite"
    convert_layer(exported_elmo, path, "float32")
    convert_layer(elmo_layer(seed=1), other, "float32")
    first, second = path.read_bytes(), other.read_bytes()
    one, two = (LiteServable(p) for p in (path, other))
    references = [vectors(x) for x in (one, two)]
    versions = Versions(ModelConfig("elmo", path), Config())
    contents = second, first[:-9], b"", first
    for number, content in enumerate(contents, 2):
        with versions.lease() as servable:
            path.write_bytes(content)
            expected = references[servable.version == 2]
            np.testing.assert_array_equal(vectors(servable), expected)
            thread = threading.Thread(target=versions.refresh)
            thread.start()
        thread.join(PATIENCE)
        with versions.lease() as servable:
            assert servable.version == {3: 2, 4: 2}.get(number, number)
    np.testing.assert_array_equal(vectors(servable), references[0])
    assert f"version 3 can't be loaded: {path} is not a whole" in caplog.text


def vectors(servable):
    signature, texts = servable.signature(""), np.array([b"a word"], object)
    return servable.run(signature, {"sentences": texts}, ("elmo",))["elmo"]


def test_no_sentences_and_lengths_that_do_not_fit(stub):
    outputs = answer(stub, "default", {"sentences": np.array([], object)}, ["elmo"])
    assert outputs["elmo"].shape[:2] == (0, 0)
    ones = np.ones(1, np.int32)
    inputs = {"tokens": [["a", "b"], ["c", ""]], "sequence_len": ones}
    outputs = answer(stub, "tokens", inputs, ["sequence_len"])
    assert outputs["sequence_len"].tolist() == [1, 1]  # one length for all rows
    inputs = {"tokens": [["a"]], "sequence_len": np.array([2], np.int32)}
    with refused(grpc.StatusCode.INVALID_ARGUMENT, "from 0 to the number of columns"):
        answer(stub, "tokens", inputs)
