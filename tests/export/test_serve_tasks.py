"""A served model of a task answers each client as the model does, over gRPC and REST."""

import concurrent.futures
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from export.task_export import export_task
from tests.support.cpp_program import values_of_cpp_program
from tests.support.exported_tasks import SENTENCES, TASKS
from tests.support.rest_clients import PREDICT, ask
from tests.support.stand_in import asking, serving
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow  # exports and servers of several models
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
