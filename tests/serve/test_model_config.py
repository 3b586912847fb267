"""Several models and version policies, from TensorFlow Serving's own file."""

import grpc
import pytest
import tensorflow as tf
from google.protobuf.wrappers_pb2 import Int64Value
from tensorflow_serving.apis.model_pb2 import ModelSpec

from elmo_keras.serve.config import Config, ModelConfig, read_model_configs
from elmo_keras.serve.versions import State, Versions
from tests.support import stand_in
from tests.support.serving_requests import text_request

CONFIG = """
model_config_list {
  config { name: "elmo" base_path: "one" model_platform: "tensorflow" }
  config {
    name: "other"
    base_path: "/models/other"
    model_version_policy { specific { versions: 3 versions: 5 } }
  }
  config { name: "all" base_path: "b" model_version_policy { all {} } }
  config { name: "two" base_path: "b" model_version_policy { latest { num_versions: 2 } } }
}
"""


def test_a_file_lists_models_with_policies(tmp_path):
    path = tmp_path / "models.config"
    path.write_text(CONFIG)
    one, other, every, two = read_model_configs(path)
    assert one == ModelConfig("elmo", tmp_path / "one")
    assert str(other.directory) == "/models/other"
    assert (other.newest, other.allowed) == (None, {3, 5})
    assert (every.newest, two.newest) == (None, 2)


A = "name: 'a' base_path: 'b'"


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        (["nonsense"], "text format of ModelServerConfig"),
        ([], "should list models, each once. Received: \\[]"),
        (["name: 'a'"], "`base_path`"),
        ([A, A], "list models, each once. Received: \\['a', 'a']"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, configs, message):
    path = tmp_path / "models.config"
    listed = " ".join(f"config {{ {config} }}" for config in configs)
    path.write_text(f"model_config_list {{ {listed} }}")
    with pytest.raises(ValueError, match=message):
        read_model_configs(path)


def numbers(versions):
    statuses = versions.statuses().items()
    return {number for number, status in statuses if status.state == State.AVAILABLE}


@pytest.mark.parametrize(
    ("policy", "expected", "later"),
    [((2,), {2, 3}, {3, 4}), ((None, frozenset({1, 7})), {1}, {1})],
)
def test_a_policy_decides_which_versions_are_loaded(tmp_path, policy, expected, later):
    for version in (1, 2, 3):
        stand_in.save(tmp_path, version)
    versions = Versions(ModelConfig("elmo", tmp_path, *policy), Config())
    assert numbers(versions) == expected
    stand_in.save(tmp_path, 4)
    versions.refresh()
    assert numbers(versions) == later


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = stand_in.save(tmp_path_factory.mktemp("one"), 1)
    other = stand_in.save(tmp_path_factory.mktemp("other"), 3, scale=3)
    stand_in.save(other, 5, scale=5)
    models = [ModelConfig("elmo", one), ModelConfig("other", other, 2)]
    with stand_in.serving(one, models=models) as server:
        yield server


def answer(stub, **spec):
    request = text_request(["a"], "elmo")
    request.model_spec.CopyFrom(ModelSpec(**spec))
    response = stub.Predict(request)
    spec = response.model_spec
    scale = tf.make_ndarray(response.outputs["elmo"])[0, 0, 0]
    return spec.name, spec.version.value, int(scale)


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ({"name": "elmo"}, 1),
        ({"name": "other"}, 5),
        ({"name": "other", "version": Int64Value(value=3)}, 3),
    ],
)
def test_several_models_answer_by_name_and_version(server, stub, spec, version):
    assert answer(stub, **spec) == (spec["name"], version, version)
    page = server.models.metrics.page().decode()
    assert f':request_count{{model_name="{spec["name"]}",status="OK"}}' in page


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"name": ""}, "INVALID_ARGUMENT", "should name a model"),
        ({"name": "third"}, "NOT_FOUND", "['elmo', 'other']"),
        ({"name": "elmo", "version": Int64Value(value=8)}, "NOT_FOUND", "8"),
        ({"name": "elmo", "version_label": "x"}, "INVALID_ARGUMENT", "by their number"),
    ],
)
def test_unknown_models_and_versions_are_refused(server, stub, spec, code, message):
    with stand_in.refused(grpc.StatusCode[code], message):
        answer(stub, **spec)
    assert "third" not in server.models.metrics.page().decode()
