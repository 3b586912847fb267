"""The server gives the vectors of the layer, and the answers of models of tasks."""

import concurrent.futures
import itertools
import json

import pytest
import tensorflow as tf

from elmo_keras.export.task_export import export_task
from elmo_keras.export.version_directory import export_elmo
from tests.support.cpp_program import lines_of_cpp_program
from tests.support.exported import TOKENS, elmo_layer
from tests.support.exported_tasks import SENTENCES, TASKS
from tests.support.rest_clients import PREDICT, ask
from tests.support.serving_load import Load
from tests.support.serving_requests import predict_request
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


@pytest.mark.slow
def test_a_new_process_serves_operations_of_tensorflow_text(tmp_path):
    pytest.importorskip("tensorflow_text")
    elmo = elmo_layer(seed=1)
    export_elmo(elmo, tmp_path, tokenizer="unicode_script", normalization="NFC")
    with serving_process(tmp_path) as (_, line, port):
        assert line.startswith("Serving version 1")
        assert_right_answers(port, elmo, 50)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("entities with ELMo", "tags"),
        ("roles", "tags"),
        ("entailment", "label"),
        ("questions", "answer"),
    ],
)
def test_clients_get_the_answers_of_the_model(kind, output, tmp_path):
    task = TASKS[kind]
    model = task.model()
    export_task(model, tmp_path / "out")
    expected = task.answers(model)
    order = [*range(len(expected))] * 8
    with (
        serving(tmp_path / "out", batch_timeout_micros=20_000) as server,
        asking(server) as stub,
        concurrent.futures.ThreadPoolExecutor(8) as pool,
    ):

        def row(i):
            return {name: values[i : i + 1] for name, values in task.texts.items()}

        def over_grpc(i):
            response = stub.Predict(predict_request(row(i), output), timeout=PATIENCE)
            answer = tf.make_ndarray(response.outputs[output])[0]
            return answer.decode() if output != "tags" else [t.decode() for t in answer]

        def over_rest(i):
            body = json.dumps({"inputs": row(i)}).encode()
            reply = ask(server.rest_port, PREDICT, body)
            assert reply.status == 200, reply
            return json.loads(reply.content)["outputs"][output][0]

        for found in (pool.map(over_grpc, order), pool.map(over_rest, order)):
            assert [*found] == [expected[i] for i in order]


@pytest.mark.slow
def test_a_cpp_program_as_tensorflow_serving_gets_the_tags(tmp_path):
    model = TASKS["entities with ELMo"].model()
    version = export_task(model, tmp_path / "out")
    printed = lines_of_cpp_program(tmp_path, version, "tags", *SENTENCES)
    expected = TASKS["entities with ELMo"].answers(model)
    rows = zip(*itertools.zip_longest(*expected, fillvalue=""))
    assert printed == [tag for tags in rows for tag in tags]
