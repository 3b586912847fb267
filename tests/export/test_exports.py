"""Every kind of export gives the answers of its model in every program that loads it."""

import concurrent.futures
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.version_directory import export_elmo, write_archive
from elmo_keras.text.dictionary import TokenDictionary
from tests.support import file_server
from tests.support.cpp_program import lines_of_cpp_program
from tests.support.dictionaries import DICTIONARY, dictionary_config
from tests.support.exported import (
    SENTENCES,
    TOKENS,
    elmo_layer,
    expected,
    padded,
    session_of,
    signatures_of,
)
from tests.support.exported_tasks import TASKS, constants
from tests.support.serving_requests import predict_request
from tests.support.sizes import CONFIG
from tests.support.stand_in import asking, serving
from tests.support.waiting import PATIENCE


class Kind(NamedTuple):
    make: Callable[[], Any]
    inputs: dict[str, dict]  # outputs of each signature
    check: Callable[[Any, str, dict], None]  # of a model: the outputs of a signature
    options: dict = {}


def language(config, tokens=TOKENS, atol=1e-6, **options):
    def check(elmo, signature, outputs):
        reference = expected(elmo, tuple(map(tuple, tokens)))
        assert {*outputs} == {*reference}
        for name, array in reference.items():
            assert outputs[name].shape == array.shape, name
            difference = np.abs(outputs[name] - array)
            np.testing.assert_array_less(difference, atol, f"{signature}, {name}")

    texts = [" ".join(sentence).replace(" '", "'") for sentence in tokens]
    columns = {name: x.numpy() for name, x in padded("junk", tokens).items()}
    inputs = {"default": {"sentences": texts}, "tokens": columns}
    return Kind(lambda: elmo_layer(config), inputs, check, options)


def task(name):
    def check(model, signature, outputs):
        reference = TASKS[name].answers(model)
        assert len(set(map(str, reference))) > 1
        assert TASKS[name].decode(outputs) == reference, signature

    inputs = {"default": TASKS[name].texts, "tokens": TASKS[name].tokens()}
    inputs = {signature: x for signature, x in inputs.items() if x}
    return Kind(TASKS[name].model, inputs, check)


TINY = CONFIG
# Too many words for TensorFlow to copy them into each graph.
MANY = "\n".join([DICTIONARY.words, *(f"word{i}" for i in range(5000))])
DICTIONARY_CONFIG = dataclasses.replace(
    dictionary_config(), dictionary=TokenDictionary(DICTIONARY.characters, MANY)
)
KINDS = {
    "language": language(TINY),
    "dictionary": language(DICTIONARY_CONFIG),
    "words": language(
        dataclasses.replace(TINY, tokenizer="words"), [["It", "'s", "late", "!"], []]
    ),
    # Two or three digits are what bfloat16 has.
    "bfloat16": language(
        dataclasses.replace(TINY, n_layers=3), atol=0.1, arithmetic="bfloat16"
    ),
    **{name: task(name) for name in TASKS},
}


@pytest.fixture(scope="module")
def exported(exported_elmo, exported_version, exported_task, tmp_path_factory):
    """The model and the folder of a kind; each is exported once."""

    @functools.cache
    def export(name):
        if name == "language":
            return exported_elmo, exported_version
        if name in TASKS:
            model, _, version = exported_task(name)
            return model, version
        elmo, folder = KINDS[name].make(), tmp_path_factory.mktemp("exports")
        options = {"warmup": False} | KINDS[name].options
        return elmo, Path(export_elmo(elmo, folder, **options))

    return export


@contextlib.contextmanager
def tensorflow_2(version):
    signatures = signatures_of(version)
    yield lambda name, inputs: arrays(signatures[name](**constants(inputs)))


@contextlib.contextmanager
def session(version):
    """It needs no initialisation but that of the weights."""
    with session_of(version) as run:
        yield lambda name, inputs: run(name, None, inputs)


@contextlib.contextmanager
def hub_load(version):
    hub = pytest.importorskip("tensorflow_hub")
    archive = write_archive(version)
    with file_server.serving() as server:
        server.files["/elmo.tar.gz?tf-hub-format=compressed"] = archive.read_bytes()
        module = hub.load(f"{server.address}/elmo.tar.gz")
    archive.unlink()
    yield lambda name, inputs: arrays(module.signatures[name](**constants(inputs)))


@contextlib.contextmanager
def grpc(version):
    """Each row is a request, and shares its batch with others."""

    def ask(name, inputs):
        def answer(i):
            row = {key: values[i : i + 1] for key, values in inputs.items()}
            request = predict_request(row, signature=name)
            outputs = stub.Predict(request, timeout=PATIENCE).outputs
            return {key: tf.make_ndarray(x) for key, x in outputs.items()}

        n = len(next(iter(inputs.values())))
        results = [*pool.map(answer, [*range(n)] * 4)]
        for first, again in zip(results, results[n:]):
            for key, array in first.items():
                assert array.shape == again[key].shape
        return {key: rows_together([x[key] for x in results[:n]]) for key in results[0]}

    with (
        serving(version.parent, batch_timeout_micros=20_000) as server,
        asking(server) as stub,
        concurrent.futures.ThreadPoolExecutor(8) as pool,
    ):
        yield ask


def rows_together(rows):
    """One array of rows that are padded after their last token."""
    widest = np.max([x.shape for x in rows], axis=0)[1:]
    fill = {"O": b"", "i": -1, "f": 0.0}[rows[0].dtype.kind]
    padding = [
        [(0, 0), *((0, w - n) for w, n in zip(widest, x.shape[1:]))] for x in rows
    ]
    padded = [np.pad(x, p, constant_values=fill) for x, p in zip(rows, padding)]
    return np.concatenate(padded)


def arrays(tensors):
    return {name: x.numpy() for name, x in tensors.items()}


PROGRAMS = tensorflow_2, session, grpc, hub_load
# Without tables, a model of a task has nothing more to initialise than `language`.
OTHERS = [("dictionary", session)]
# Of a text, of a text and an integer, of two texts; the others have the same inputs.
OTHERS += itertools.product(("dictionary", "srl", "qa"), [grpc])
QUICK = "language", grpc  # exporting another model takes seconds
ROWS = [
    pytest.param(*row, marks=() if row == QUICK else pytest.mark.journey)
    for row in itertools.product(KINDS, PROGRAMS)
    if row[0] == "language" or row[1] is tensorflow_2 or row in OTHERS
]


@pytest.mark.parametrize(("kind", "program"), ROWS)
@pytest.mark.filterwarnings("ignore:pkg_resources:UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_program_gets_the_answers_of_the_model(
    exported, kind, program, tmp_path, monkeypatch
):
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    model, version = exported(kind)
    with program(version) as ask:
        for signature, inputs in KINDS[kind].inputs.items():
            KINDS[kind].check(model, signature, ask(signature, inputs))


@pytest.mark.journey
@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_has_no_tables_and_holds_a_dictionary_once(exported, kind):
    _, version = exported(kind)
    content = (version / "saved_model.pb").read_bytes()
    assert b"HashTable" not in content and b"PyFunc" not in content
    assert content.count(b"word4321") == (kind == "dictionary")


@pytest.mark.journey
def test_a_cpp_program_as_tensorflow_serving_gets_the_answers(
    exported_elmo, exported_version, tmp_path
):
    printed = lines_of_cpp_program(tmp_path, exported_version, "elmo", *SENTENCES)
    reference = expected(exported_elmo)["elmo"]
    values = np.array(printed, "float32").reshape(reference.shape)
    np.testing.assert_allclose(values, reference, atol=1e-6)
