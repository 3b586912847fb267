"""Programs of AllenNLP's `ElmoEmbedder` and of simple_elmo's `ElmoModel`."""

import json

import h5py
import numpy as np
import pytest

from elmo_keras import LanguageModel, Vocabulary, load_bilm
from elmo_keras.adapters.embedders import ElmoEmbedder, ElmoModel
from elmo_keras.formats.model_directory import save_model
from tests.support.models import assert_all_close, published_weights, random_bilm
from tests.support.reference import bilm_layers

TEXTS = ["The bank of the river", "한국어 :-)", "One"]
SENTENCES = [text.split() for text in TEXTS]


@pytest.fixture(scope="module")
def expected(model_directory):
    """All layers of each sentence by the equations."""
    bilm = load_bilm(model_directory)
    weights = published_weights(bilm)
    bounded = [["<S>", *sentence, "</S>"] for sentence in SENTENCES]
    return [bilm_layers(tokens, weights, bilm.config)[:, 1:-1] for tokens in bounded]


@pytest.fixture(scope="module")
def embedder(model_directory):
    return ElmoEmbedder(
        str(model_directory / "options.json"), str(model_directory / "weights.hdf5")
    )


@pytest.fixture(scope="module")
def model(model_directory):
    model = ElmoModel()
    assert model.load(str(model_directory), max_batch_size=2) == (
        "The model is now loaded."
    )
    return model


def test_the_vectors_of_elmo_embedder_are_those_of_the_equations(embedder, expected):
    for _ in range(2):  # no state is carried
        assert_all_close(embedder.embed_batch(SENTENCES), expected, 1e-5)
    assert_all_close(embedder.embed_sentences(iter(SENTENCES), 2), expected, 1e-5)
    assert_all_close([embedder.embed_sentence(SENTENCES[1])], expected[1:2], 1e-5)
    assert embedder.embed_batch([[]])[0].shape == (3, 0, 10)


@pytest.mark.parametrize("output_format", ["all", "top", "average"])
def test_a_file_is_written_as_by_allennlp(embedder, expected, tmp_path, output_format):
    text, output = tmp_path / "text.txt", tmp_path / "vectors.hdf5"
    text.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    with text.open(encoding="utf-8") as file:
        with pytest.raises(ValueError, match="text.txt is an input"):
            embedder.embed_file(file, text)
        embedder.embed_file(file, str(output), output_format)
        assert file.closed
    chosen = {"all": expected, "top": [v[-1] for v in expected]}
    chosen["average"] = [v.mean(axis=0) for v in expected]
    with h5py.File(output) as hdf5:
        actual = [hdf5[str(i)][()] for i in range(len(TEXTS))]
        index = json.loads(hdf5["sentence_to_index"][0])
    assert_all_close(actual, chosen[output_format], 1e-5)
    assert index == {text: str(i) for i, text in enumerate(TEXTS)}


def test_elmo_model_pads_the_vectors_of_all_sentences(model, expected):
    every = model.get_elmo_vectors(SENTENCES, layers="all")
    assert every.shape == (3, model.n_layers, 5, model.vector_size)
    for actual, layers in zip(every, expected):
        n_tokens = layers.shape[1]
        np.testing.assert_allclose(actual[:, :n_tokens], layers, atol=1e-5)
        assert not actual[:, n_tokens:].any()
    vectors = model.get_elmo_vectors(SENTENCES, warmup=False)
    np.testing.assert_allclose(vectors, every.mean(axis=1), atol=1e-6)
    top = model.get_elmo_vectors(SENTENCES, layers="top")
    np.testing.assert_array_equal(top, every[:, -1])


def test_the_mean_of_a_sentence_has_length_1(model, expected):
    means = np.stack([v.mean(axis=(0, 1)) for v in expected])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    average = model.get_elmo_vector_average([*SENTENCES, []])
    np.testing.assert_allclose(average, [*means, np.zeros(10)], atol=1e-5)
    by_layer = model.get_elmo_vector_average(SENTENCES, layers="all")
    assert by_layer.shape == (3, 3, 10)
    np.testing.assert_allclose(np.linalg.norm(by_layer, axis=(1, 2)), 1, atol=1e-6)


def test_substitutes_are_the_likeliest_words_of_each_direction(config, tmp_path):
    vocabulary = Vocabulary.count([["the", "river", "bends", "again"]])
    language_model = LanguageModel(random_bilm(config, len(vocabulary)), vocabulary)
    save_model(tmp_path, language_model.bilm, vocabulary)
    model = ElmoModel()
    model.load(tmp_path, full=True)
    [first, second] = model.get_elmo_substitutes(["the river", "again"], topn=2)
    assert [token["word"] for token in first + second] == ["the", "river", "again"]
    for direction in ("forward", "backward"):
        best = language_model.likeliest(["the", "river"], 1, top=2, direction=direction)
        substitutes = first[1][direction]
        assert substitutes["candidate_words"] == [word for word, _ in best]
        assert substitutes["logp"] == pytest.approx([log for _, log in best], abs=1e-4)
        words = [vocabulary.words[i] for i in substitutes["candidates"]]
        assert words == substitutes["candidate_words"]


def test_other_layers_are_refused(embedder, model, tmp_path):
    message = r"Layers should be one of \('all', 'top', 'average'\). Received: 'last'"
    with pytest.raises(ValueError, match=message):
        model.get_elmo_vectors(SENTENCES, layers="last")
    with pytest.raises(ValueError, match=message):
        embedder.embed_file(None, tmp_path / "vectors.hdf5", "last")
