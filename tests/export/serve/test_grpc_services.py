"""The services over gRPC, and what they refuse."""

import random
import time
import types

import grpc
import numpy as np
import pytest
import stand_in
import tensorflow as tf
from google.protobuf.wrappers_pb2 import Int64Value
from serving_requests import PREDICT, changed, malformed, text_request, tokens_request
from stand_in import refused
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest
from tensorflow_serving.apis.get_model_metadata_pb2 import (
    GetModelMetadataRequest,
    SignatureDefMap,
)
from tensorflow_serving.apis.get_model_status_pb2 import (
    GetModelStatusRequest,
    ModelVersionStatus,
)
from tensorflow_serving.apis.inference_pb2 import MultiInferenceRequest
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
from tensorflow_serving.apis.regression_pb2 import RegressionRequest

Code = grpc.StatusCode
INVALID = Code.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = stand_in.save(tmp_path_factory.mktemp("model"), 7)
    with stand_in.serving(directory) as running:
        yield running


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(f"localhost:{server.port}") as opened:
        yield opened


@pytest.fixture(scope="module")
def stub(server):
    with stand_in.asking(server) as asked:
        yield asked


@pytest.fixture(autouse=True)
def a_good_request_is_answered_after_each_test(stub):
    yield
    response = stub.Predict(text_request(["a bb"], "elmo"), timeout=10)
    found = tf.make_ndarray(response.outputs["elmo"])
    np.testing.assert_array_equal(found, [stand_in.vectors(["a", "bb"])])


def test_all_outputs_come_with_the_version_and_signature_that_answered(stub):
    response = stub.Predict(text_request(["a bb", "c"]))
    outputs = {key: tf.make_ndarray(value) for key, value in response.outputs.items()}
    assert sorted(outputs) == ["default", "elmo", "layers", "sequence_len", "word_emb"]
    assert outputs["layers"].shape == (2, 2, 2, 3)
    np.testing.assert_array_equal(outputs["sequence_len"], [2, 1])
    spec = response.model_spec
    assert (spec.name, spec.version.value) == ("elmo", 7)
    assert spec.signature_name == "serving_default"


def test_only_the_outputs_of_the_filter_come(stub):
    request = tokens_request([["a", "bb"], ["c", ""]], [2, 1], "default", "word_emb")
    response = stub.Predict(request)
    assert sorted(response.outputs) == ["default", "word_emb"]
    assert response.model_spec.signature_name == "tokens"


def test_empty_requests_are_answered(stub):
    assert not stub.Predict(text_request([])).outputs["elmo"].tensor_shape.dim[0].size
    response = stub.Predict(text_request(["", " "]))
    assert tf.make_ndarray(response.outputs["default"]).tolist() == [[0.0] * 3] * 2
    response = stub.Predict(tokens_request([[""], [""]], [0, 0]))
    assert tf.make_ndarray(response.outputs["elmo"]).shape == (2, 1, 3)


def test_the_model_and_its_version_are_those_asked_for(stub):
    request = text_request(["a"])
    request.model_spec.version.CopyFrom(Int64Value(value=7))
    assert stub.Predict(request).model_spec.version.value == 7
    request.model_spec.version.value = 8
    with refused(Code.NOT_FOUND, "8"):
        stub.Predict(request)
    with refused(Code.NOT_FOUND, "other"):
        stub.Predict(text_request(["a"], model="other"))
    with refused(INVALID, "should name the model"):
        stub.Predict(text_request(["a"], model=""))
    request.model_spec.version_label = "stable"
    with refused(INVALID, "labels"):
        stub.Predict(request)


def test_metadata_are_the_signatures_of_the_version(stub):
    request = GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "elmo"
    response = stub.GetModelMetadata(request)
    assert response.model_spec.version.value == 7
    signatures = SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    tokens = signatures.signature_def["tokens"]
    assert sorted(tokens.inputs) == ["sequence_len", "tokens"]
    assert tokens.outputs["elmo"].dtype == tf.float32.as_datatype_enum
    request.metadata_field[0] = "other"
    with refused(INVALID, "metadata_field"):
        stub.GetModelMetadata(request)


def test_the_status_tells_of_all_versions_or_of_one(channel):
    status = ModelServiceStub(channel).GetModelStatus
    request = GetModelStatusRequest()
    request.model_spec.name = "elmo"
    (only,) = status(request).model_version_status
    assert (only.version, only.state) == (7, ModelVersionStatus.AVAILABLE)
    request.model_spec.version.value = 1
    with refused(Code.NOT_FOUND, "[7]"):
        status(request)


def test_what_is_not_offered_is_unimplemented(stub, channel):
    reload_config = ModelServiceStub(channel).HandleReloadConfigRequest
    calls = [
        (stub.Classify, ClassificationRequest()),
        (stub.Regress, RegressionRequest()),
        (stub.MultiInference, MultiInferenceRequest()),
        (reload_config, ReloadConfigRequest()),
    ]
    for call, request in calls:
        with refused(Code.UNIMPLEMENTED, "Use Predict"):
            call(request)


@pytest.mark.parametrize("name", malformed())
def test_a_malformed_request_is_an_invalid_argument(stub, name):
    with refused(INVALID):
        stub.Predict(malformed()[name], timeout=10)


def test_a_value_may_stand_for_all_elements(stub):
    request = tokens_request([["a", "b"], ["c", "d"]], [1, 1], "sequence_len")
    tensor = request.inputs["sequence_len"]
    tensor.ClearField("tensor_content")
    tensor.int_val[:] = [2]
    response = stub.Predict(request)
    assert tf.make_ndarray(response.outputs["sequence_len"]).tolist() == [2, 2]


def test_any_bytes_get_a_status(channel, caplog):
    rng = random.Random(0)
    predict = channel.unary_unary(PREDICT)
    good = text_request(["a bb"], "elmo"), tokens_request([["a"]], [1], "default")
    messages = [changed(rng, rng.choice(good)) for _ in range(400)]
    messages += [rng.randbytes(rng.randrange(60)) for _ in range(100)]
    calls = [predict.future(message, timeout=30) for message in messages]
    codes = {call.code() for call in calls}
    # INTERNAL is gRPC's own word for bytes that are no message.
    assert codes <= {Code.OK, INVALID, Code.NOT_FOUND, Code.INTERNAL}, codes
    assert {Code.OK, INVALID, Code.INTERNAL} <= codes
    caplog.clear()


def test_a_message_that_is_too_large_is_refused(stub):
    with refused(Code.RESOURCE_EXHAUSTED):
        stub.Predict(text_request(["x" * 2**20]))


def test_a_request_that_waits_is_dropped_when_its_time_is_over(server, monkeypatch):
    computed = []
    with server.model.versions.lease() as servable:
        run = servable.run

    def slow(signature, inputs, keys):
        computed.append(keys)
        time.sleep(0.3)
        return run(signature, inputs, keys)

    monkeypatch.setattr(servable, "run", slow)
    with stand_in.asking(server) as stub:
        busy = [stub.Predict.future(text_request(["a"], k)) for k in ("elmo", "layers")]
        while len(computed) < 2:
            time.sleep(0.01)
        late = stub.Predict.future(text_request(["b"], "word_emb"), timeout=0.1)
        gone = stub.Predict.future(text_request(["b"], "default"))
        while not len(server.model.batcher):
            time.sleep(0.01)
        gone.cancel()
        assert late.code() is Code.DEADLINE_EXCEEDED
        assert [call.code() for call in busy] == [Code.OK] * 2
    time.sleep(0.1)
    assert set(computed) == {("elmo",), ("layers",)}


def test_an_unexpected_error_is_internal(server, stub, monkeypatch):
    broken = types.SimpleNamespace(lease=lambda version: 1 / 0)
    with monkeypatch.context() as patch:
        patch.setattr(server.model, "versions", broken)
        with refused(Code.INTERNAL, "ZeroDivisionError"):
            stub.Predict(text_request(["a"]))
