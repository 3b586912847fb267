"""A graph that is optimised once gives the answers of one optimised for each choice."""

import itertools

import numpy as np
import pytest

from elmo_keras.serve.servable import Servable, optimized
from tests.support.exported import SENTENCES, padded

pytestmark = pytest.mark.slow

KEYS = ("default", "elmo", "layers", "lstm_outputs1", "sequence_len", "word_emb")


@pytest.fixture(scope="module")
def servable(exported_version):
    servable = Servable(exported_version)
    yield servable
    servable.close()


@pytest.mark.parametrize("name", ["default", "tokens"])
def test_each_choice_of_outputs_is_bit_equal(servable, session, name):
    inputs = {"sentences": np.array([s.encode() for s in SENTENCES], object)}
    if name == "tokens":
        inputs = {key: x.numpy() for key, x in padded().items()}
    signature = servable.signature(name)
    expected = session(name, KEYS, inputs)
    choices = [(key,) for key in KEYS] + list(itertools.combinations(KEYS[:3], 2))
    for choice in choices:
        for key, array in servable.run(signature, inputs, choice).items():
            np.testing.assert_array_equal(array, expected[key], f"{choice}: {key}")


def test_the_session_leaves_the_optimised_graph_as_it_is(exported_version):
    with optimized(exported_version) as folder:
        names = {path.name for path in folder.iterdir()}
        assert {"saved_model.pb", "variables"} <= names
        assert folder != exported_version
    assert not folder.exists()


def test_operations_are_fused_before_the_session_sees_the_graph(servable):
    nodes = servable._session.graph.as_graph_def().node
    assert "_FusedMatMul" in {node.op for node in nodes}


def test_a_graph_that_can_not_be_optimised_is_loaded_as_it_is(
    exported_version, monkeypatch
):
    def fail(*_):
        raise ValueError("no node")

    monkeypatch.setattr("elmo_keras.serve.servable._optimized", fail)
    with optimized(exported_version) as folder:
        assert folder == exported_version
    servable = Servable(exported_version)
    inputs = {"sentences": np.array([b"a"], object)}
    outputs = servable.run(servable.signature(""), inputs, ("sequence_len",))
    assert outputs["sequence_len"] == [1]
    servable.close()
