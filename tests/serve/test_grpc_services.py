"""The gRPC services: answers, refusals and health."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest
from tensorflow_serving.apis.get_model_metadata_pb2 import (
    GetModelMetadataRequest,
    SignatureDefMap,
)
from tensorflow_serving.apis.get_model_status_pb2 import (
    GetModelStatusRequest,
    ModelVersionStatus,
)
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest
from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub

from elmo_keras.serve.client.remote import to_array
from elmo_keras.serve.signature import fill
from tests.support import stand_in
from tests.support.rest_clients import PREDICT, ask
from tests.support.serving_requests import malformed, text_request, tokens_request
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
    elmo = response.outputs["elmo"]
    assert elmo.float_val and not elmo.tensor_content
    vectors = tf.make_ndarray(elmo)[0]
    np.testing.assert_array_equal(vectors, stand_in.vectors(["a", "bb"]))


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
    with refused(INVALID, "elmo, elmo"):
        stub.Predict(text_request(["a"], "elmo", "elmo"))


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


def test_other_methods_are_unimplemented(stub, channel):
    models = ModelServiceStub(channel)
    for call, request in (
        (stub.Classify, ClassificationRequest()),
        (models.HandleReloadConfigRequest, ReloadConfigRequest()),
    ):
        with refused(Code.UNIMPLEMENTED, "Use Predict"):
            call(request)


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


def test_a_message_that_is_too_large_is_refused(stub):
    with refused(Code.RESOURCE_EXHAUSTED):
        stub.Predict(text_request(["x" * 2**20]))


def test_messages_and_bodies_that_are_held_are_bounded_together(
    server, stub, monkeypatch
):
    large = text_request(["x" * 10**6], "default")  # four fit
    body = b'{"instances": ["%s"]}' % (b"x" * 200_000)
    with stand_in.closed_gate(server, monkeypatch) as gate:
        calls = [stub.Predict.future(large, PATIENCE) for _ in range(4)]
        wait_until(lambda: server.models.held > 4 * 10**6)
        with refused(Code.RESOURCE_EXHAUSTED, "large requests"):
            stub.Predict(large, PATIENCE)
        assert ask(server.rest_port, PREDICT, body).status == 429
        gate.open()
        assert {call.code() for call in calls} == {Code.OK}
    assert ask(server.rest_port, PREDICT, body).status == 200
    wait_until(lambda: not server.models.held)


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


ARRAYS = [
    np.array([[1.5, -0.0, np.float32(1e-45)]], "float32"),
    np.arange(300, dtype="float32").reshape(2, 3, 50) / 7,
    np.zeros([2, 0, 3], "float32"),
    np.array(2.5, "float32"),
    np.array([[3, -7]], "int32"),
    np.array([b"a", b""], object),
    np.array([1.5], "float64"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
@pytest.mark.parametrize("as_content", [False, True])
def test_a_tensor_of_an_answer_has_the_values_of_its_array(array, as_content):
    tensor = TensorProto()
    fill(tensor, array, as_content=as_content)
    received = TensorProto.FromString(tensor.SerializeToString())
    for decoded in (tf.make_ndarray(received), to_array(received)):
        assert decoded.dtype == array.dtype and decoded.shape == array.shape
        np.testing.assert_array_equal(decoded, array)
    if array.dtype == np.float32 and array.size > 1 and not as_content:
        assert list(tensor.float_val) == array.ravel().tolist()
