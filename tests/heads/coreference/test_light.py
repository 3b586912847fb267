"""Coreference without TensorFlow, against the model by Keras."""

import numpy as np
import pytest

from elmo_keras import Elmo, Embedder, pipeline
from elmo_keras.heads.coreference.light import LightCoreference
from elmo_keras.heads.coreference.model import CoreferenceModel
from elmo_keras.heads.head import read_head, save_head
from elmo_keras.heads.token_batch import TokenBatch
from elmo_keras.heads.token_vectors import TokenVectors
from tests.support.task_models import built

DOCUMENT = {
    "sentences": ["Ann saw the bank .".split(), ["She"], "Seungmin 은 saw her".split()],
    "speakers": [["a"] * 5, ["b"], ["a"] * 4],
}
# All spans are kept, and all earlier ones are scored.
EVERYTHING = {"mentions_per_token": 9.0, "max_antecedents": 99, "singletons": True}


@pytest.fixture(scope="module", params=["input", "both"])
def networks(request, model_directory, tmp_path_factory):
    """The network without TensorFlow and the one by Keras, with random weights."""
    n = 2 if request.param == "both" else 1
    elmo = Elmo.from_pretrained(model_directory, num_representations=n)
    weights = elmo.bilm.get_weights()
    vectors = TokenVectors(["the", "bank"], 5, 4, elmo=elmo, elmo_at=request.param)
    sizes = {"units": 3, "hidden_units": 7, "longest": 3}
    model = built(CoreferenceModel(vectors, **sizes, **EVERYTHING))
    elmo.bilm.set_weights(weights)
    model.run_eagerly = True
    folder = tmp_path_factory.mktemp("head")
    save_head(model, str(model_directory), folder)
    head = read_head(folder)
    for name, weight in model.named_weights().items():
        weight.assign(head.weight(name, *weight.shape))  # in int8, as the head has them
    return folder, LightCoreference(head), model


def scores_of_pairs(scores):
    """The score of each mention with each other one."""
    n = len(scores["first"])
    pairs = np.zeros((n, n), np.float32)
    np.put_along_axis(pairs, scores["antecedents"], scores["scores"][:, 1:], axis=1)
    return np.tril(pairs, -1)


def test_all_scores_are_those_by_keras(networks, model_directory):
    folder, light, model = networks
    sentences = DOCUMENT["sentences"]
    layers = Embedder(model_directory, layers="all").encode(sentences)
    actual = light.scores(TokenBatch(sentences, layers), DOCUMENT["speakers"])
    [expected] = model.example_scores(model.batches([DOCUMENT]))
    assert actual.keys() == expected.keys() and len(actual["first"]) == 22
    for name in "first", "last":
        np.testing.assert_array_equal(actual[name], expected[name])
    for read in (lambda scores: scores["mention_scores"], scores_of_pairs):
        a, b = read(actual), read(expected)
        assert np.ptp(b) > 1
        np.testing.assert_allclose(a, b, atol=0.01 * np.abs(b).max())  # int8 LSTMs
    assert not actual["scores"][:, 0].any()


def test_a_document_is_read_with_its_speakers(networks):
    find = pipeline(networks[0])
    (clusters,) = find.predict_examples([DOCUMENT])
    same = DOCUMENT | {"speakers": [["a"] * len(s) for s in DOCUMENT["sentences"]]}
    without = {"sentences": DOCUMENT["sentences"]}
    assert find.predict_examples([same]) == find.predict_examples([without])
    assert sorted(sum(clusters, [])) == sorted({*sum(clusters, [])})
