"""The model of entailment."""

import numpy as np

from elmo_keras.heads import ESIM, Entailment
from tests.support.task_models import built, text_inputs, token_vectors


def test_it_matters_which_sentence_is_the_premise():
    esim = built(ESIM(token_vectors(), labels=["no", "maybe", "yes"], units=3))
    pairs = [["ein", "drei", "neu"], ["zwei"]], [["drei"], ["vier", "ein"]]
    outputs, exchanged = (
        esim(text_inputs(premise=a, hypothesis=b)) for a, b in (pairs, pairs[::-1])
    )
    assert np.abs(np.array(outputs) - np.array(exchanged)).max() > 1e-4


def test_pairs_may_have_several_labels():
    labels = ["x"], ["y", "z"]
    pairs = [{"premise": ["a"], "hypothesis": ["b"], "labels": x} for x in labels]
    task, sizes = Entailment(), {"units": 2, "dropout": 0.0}
    model = built(task.make_model(token_vectors(), pairs, **sizes))
    model.threshold = 0.0
    (predicted,) = model.predict({"premise": [["a"]], "hypothesis": [["b"]]})
    assert predicted == ["x", "y", "z"]
    assert task.targets(pairs, model)[1].tolist() == [0, 1, 1]
