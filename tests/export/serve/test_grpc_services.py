"""The gRPC services, and the requests that they refuse."""

import random

import grpc
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf.wrappers_pb2 import Int64Value
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
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
from tensorflow_serving.apis.regression_pb2 import RegressionRequest

from tests.support import stand_in
from tests.support.mutations import mutated
from tests.support.serving_requests import (
    PREDICT,
    malformed,
    text_request,
    tokens_request,
)
from tests.support.stand_in import refused
from tests.support.waiting import PATIENCE, wait_until

Code = grpc.StatusCode
INVALID = Code.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(f"localhost:{server.port}") as opened:
        yield opened


@pytest.fixture(autouse=True)
def a_good_request_is_answered_after_each_test(stub):
    yield
    response = stub.Predict(text_request(["a bb"], "elmo"), timeout=PATIENCE)
    found = tf.make_ndarray(response.outputs["elmo"])
    np.testing.assert_array_equal(found, [stand_in.vectors(["a", "bb"])])


def test_all_outputs_are_returned_with_the_version_and_signature(stub):
    response = stub.Predict(text_request(["a bb", "c"]))
    outputs = {key: tf.make_ndarray(value) for key, value in response.outputs.items()}
    assert sorted(outputs) == ["default", "elmo", "layers", "sequence_len", "word_emb"]
    assert outputs["layers"].shape == (2, 2, 2, 3)
    np.testing.assert_array_equal(outputs["sequence_len"], [2, 1])
    spec = response.model_spec
    assert (spec.name, spec.version.value) == ("elmo", 7)
    assert spec.signature_name == "serving_default"


def test_only_the_outputs_in_the_filter_are_returned(stub):
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


def test_the_requested_version_answers(stub):
    request = text_request(["a"])
    request.model_spec.version.value = 7
    assert stub.Predict(request).model_spec.version.value == 7


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"name": "elmo", "version": Int64Value(value=8)}, Code.NOT_FOUND, "8"),
        ({"name": "other"}, Code.NOT_FOUND, "other"),
        ({"name": ""}, INVALID, "should name a model"),
        ({"name": "elmo", "version_label": "stable"}, INVALID, "labels"),
    ],
)
def test_another_model_version_or_label_is_refused(stub, spec, code, message):
    request = text_request(["a"])
    request.model_spec.CopyFrom(ModelSpec(**spec))
    with refused(code, message):
        stub.Predict(request)


def test_the_metadata_hold_the_signatures_of_the_version(stub):
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


def test_the_status_covers_all_versions_or_one(channel):
    status = ModelServiceStub(channel).GetModelStatus
    request = GetModelStatusRequest()
    request.model_spec.name = "elmo"
    (only,) = status(request).model_version_status
    assert (only.version, only.state) == (7, ModelVersionStatus.AVAILABLE)
    request.model_spec.version.value = 1
    with refused(Code.NOT_FOUND, "[7]"):
        status(request)


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("Classify", ClassificationRequest()),
        ("Regress", RegressionRequest()),
        ("MultiInference", MultiInferenceRequest()),
        ("HandleReloadConfigRequest", ReloadConfigRequest()),
    ],
)
def test_other_methods_are_unimplemented(stub, channel, method, request_):
    call = getattr(stub, method, None) or getattr(ModelServiceStub(channel), method)
    with refused(Code.UNIMPLEMENTED, "Use Predict"):
        call(request_)


@pytest.mark.parametrize("name", malformed())
def test_a_malformed_request_is_an_invalid_argument(stub, name):
    code = Code.FAILED_PRECONDITION if name == "signature" else INVALID
    with refused(code):
        stub.Predict(malformed()[name], timeout=PATIENCE)


def test_one_value_may_be_given_for_all_elements(stub):
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
    messages = [mutated(rng.choice(good).SerializeToString(), rng) for _ in range(400)]
    messages += [rng.randbytes(rng.randrange(60)) for _ in range(100)]
    codes = set()
    for i in range(0, len(messages), 100):  # more at a time could be too many
        calls = [predict.future(m, timeout=PATIENCE) for m in messages[i : i + 100]]
        codes |= {call.code() for call in calls}
    # INTERNAL is gRPC's status for bytes that are no message.
    refusals = {INVALID, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.INTERNAL}
    assert codes <= {Code.OK, *refusals}, codes
    assert {Code.OK, INVALID, Code.INTERNAL} <= codes
    caplog.clear()


def test_a_message_that_is_too_large_is_refused(stub):
    with refused(Code.RESOURCE_EXHAUSTED):
        stub.Predict(text_request(["x" * 2**20]))


def test_a_waiting_request_is_dropped_after_its_deadline_or_cancellation(
    server, stub, monkeypatch
):
    def all_cancelled():
        waiting = tuple(server.models.batcher._waiting)
        return all(request.future.cancelled() for request in waiting)

    with stand_in.closed_gate(server, monkeypatch) as gate:
        busy = [stub.Predict.future(text_request(["a"], k)) for k in ("elmo", "layers")]
        gate.wait_for(2)
        cancelled = stub.Predict.future(text_request(["b"], "default"))
        wait_until(lambda: len(server.models.batcher) == 1)
        cancelled.cancel()
        late = stub.Predict.future(text_request(["b"], "word_emb"), timeout=1)
        assert late.code() is Code.DEADLINE_EXCEEDED
        wait_until(all_cancelled)
        gate.open()
        assert [call.code() for call in busy] == [Code.OK] * 2
        stub.Predict(text_request(["c"], "sequence_len"))
    computed = {keys for _, keys in gate.batches}
    assert computed == {("elmo",), ("layers",), ("sequence_len",)}


def test_an_unexpected_error_is_internal(server, stub, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(server.models["elmo"], "lease", lambda version: 1 / 0)
        with refused(Code.INTERNAL, "ZeroDivisionError"):
            stub.Predict(text_request(["a"]))
