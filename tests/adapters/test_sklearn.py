"""The transformer of scikit-learn."""

import copy
import pickle

import numpy as np
import pytest

from elmo_keras import Embedder

pytest.importorskip("sklearn", reason="needs scikit-learn")
pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")

from sklearn.base import clone

from elmo_keras.adapters.sklearn import ElmoVectorizer

TEXTS = ["The bank of the river", "한국어 :-)", "", "One more"]


@pytest.fixture(scope="module")
def vectorizer(lite_file):
    return ElmoVectorizer(str(lite_file("float32"))).fit()


def test_the_vectors_are_the_embedders(lite_file, vectorizer):
    embedder = Embedder(lite_file("float32"), pooling="mean")
    means = embedder.encode(TEXTS, normalize=True)
    normalized = copy.copy(vectorizer).set_params(normalize=True)
    for texts in TEXTS, np.array(TEXTS), [text.split() for text in TEXTS]:
        np.testing.assert_allclose(normalized.transform(texts), means, atol=1e-6)
    assert clone(clone(vectorizer).set_params(mix=(0, 1, 2))).mix == (0, 1, 2)
    every = clone(vectorizer).set_params(layers="all")
    side_by_side = every.fit_transform(TEXTS).reshape(4, 3, -1)
    average = Embedder(lite_file("float32"), layers="average", pooling="mean")
    np.testing.assert_allclose(side_by_side.mean(axis=1), average(TEXTS), atol=1e-6)


def test_columns_have_names_and_a_pickle_gives_the_same(vectorizer):
    pytest.importorskip("pandas", reason="needs pandas")
    frame = clone(vectorizer).set_output(transform="pandas").fit(TEXTS)
    actual = pickle.loads(pickle.dumps(frame)).transform(TEXTS)
    assert list(actual.columns[:2]) == ["elmovectorizer0", "elmovectorizer1"]
    np.testing.assert_array_equal(actual, vectorizer.transform(TEXTS))


def test_what_is_no_list_of_texts_is_refused(vectorizer):
    for wrong in "One text", np.array([TEXTS]):
        with pytest.raises(
            ValueError, match="`X` should be a list, series or array of"
        ):
            vectorizer.transform(wrong)
    with pytest.raises(ValueError, match="`pooling` should be one of"):
        clone(vectorizer).set_params(pooling=None).fit(TEXTS)
