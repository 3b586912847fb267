"""A graph that is optimised once gives the answers of one optimised for each choice."""

import numpy as np
import pytest

from elmo_keras.serve.servable import SavedModelServable
from tests.support.exported import SENTENCES, padded, session_of

pytestmark = pytest.mark.slow

KEYS = ("default", "elmo", "layers", "lstm_outputs1", "sequence_len", "word_emb")


def test_each_choice_of_outputs_is_bit_equal_and_operations_are_fused(exported_version):
    servable = SavedModelServable(exported_version)
    nodes = servable._session.graph.as_graph_def().node
    assert "_FusedMatMul" in {node.op for node in nodes}
    texts = {"sentences": np.array([s.encode() for s in SENTENCES], object)}
    tokens = {key: x.numpy() for key, x in padded().items()}
    with session_of(exported_version) as run:
        for name, inputs in (("default", texts), ("tokens", tokens)):
            signature, expected = servable.signature(name), run(name, KEYS, inputs)
            for choice in [*((key,) for key in KEYS), ("default", "elmo")]:
                for key, array in servable.run(signature, inputs, choice).items():
                    np.testing.assert_array_equal(array, expected[key], f"{choice}")
