"""The server gives the vectors of the layer, and the answers of models of tasks."""

import concurrent.futures
import itertools
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from export.saved_model import ExportOptions
from export.task_export import export_task
from export.version_directory import export_elmo
from tests.support.cpp_program import values_of_cpp_program
from tests.support.exported import TOKENS, elmo_layer
from tests.support.exported_tasks import SENTENCES, TASKS
from tests.support.rest_clients import PREDICT, ask
from tests.support.serving_load import Load
from tests.support.serving_requests import text_request
from tests.support.stand_in import asking, serving, serving_process
from tests.support.waiting import PATIENCE


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


CLIENTS = 8
OF_ANSWERS = {"entities with ELMo": "tags", "roles": "tags", "entailment": "label"}


def request(texts, output):
    message = PredictRequest(output_filter=[output])
    message.model_spec.name = "elmo"
    for name, values in texts.items():
        dtype = tf.int32 if name == "predicate" else tf.string
        message.inputs[name].CopyFrom(tf.make_tensor_proto(values, dtype))
    return message


def row(texts, i):
    return {name: values[i : i + 1] for name, values in texts.items()}


def text_of(value):
    """An answer over gRPC in the form of one over REST."""
    if isinstance(value, np.ndarray):
        return [item.decode() for item in value]
    return value.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["entities with ELMo", "roles", "entailment", "questions"]
)
def test_clients_get_the_answers_of_the_model(kind, tmp_path):
    task, output = TASKS[kind], OF_ANSWERS.get(kind, "answer")
    model = task.model()
    export_task(model, tmp_path / "out")
    expected = task.answers(model)
    order = [i % len(expected) for i in range(CLIENTS * len(expected))]
    with (
        serving(tmp_path / "out", batch_timeout_micros=20_000) as server,
        asking(server) as stub,
        concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool,
    ):

        def over_grpc(i):
            message = request(row(task.texts, i), output)
            answer = stub.Predict(message, timeout=PATIENCE).outputs[output]
            return text_of(tf.make_ndarray(answer)[0])

        def over_rest(i):
            body = json.dumps({"inputs": row(task.texts, i)}).encode()
            reply = ask(server.rest_port, PREDICT, body)
            assert reply.status == 200, reply
            return json.loads(reply.content)["outputs"][output][0]

        for found in (pool.map(over_grpc, order), pool.map(over_rest, order)):
            assert [*found] == [expected[i] for i in order]


@pytest.mark.slow
def test_a_cpp_program_as_tensorflow_serving_gets_the_tags(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    model = TASKS["entities with ELMo"].model()
    version = export_task(model, tmp_path / "out")
    printed = values_of_cpp_program(tmp_path, version, SENTENCES, output="tags")
    expected = TASKS["entities with ELMo"].answers(model)
    longest = max(map(len, expected))
    assert printed == [
        tag for tags in expected for tag in (*tags, *[""] * longest)[:longest]
    ]
