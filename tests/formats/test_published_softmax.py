"""Softmax files and vocabularies as published, beside options and weights."""

import json

import h5py
import numpy as np
import pytest

from elmo_keras import LanguageModel
from elmo_keras.formats.model_directory import load_bilm
from elmo_keras.formats.options import to_options
from elmo_keras.formats.variables import array_of, softmax_table, write_weights
from tests.support.models import random_bilm
from tests.support.sizes import CONFIG
from tests.support.training_runs import SENTENCES, VOCABULARY

STEM = "elmo_2x7_5_9cnn_1xhighway"
ORDER = [1, 3, 0, 5, 4, 2]  # `</S>` comes first, `<UNK>` last


@pytest.fixture(scope="module")
def trained():
    """A biLM with its softmax over `VOCABULARY`."""
    return random_bilm(CONFIG, len(VOCABULARY))


@pytest.fixture
def published(trained, tmp_path):
    """The same model under published names, its words in another order."""
    directory = tmp_path / "published"
    directory.mkdir()
    options = json.dumps(to_options(trained.config))
    (directory / f"{STEM}_options.json").write_text(options)
    with h5py.File(directory / f"{STEM}_weights.hdf5", "w") as file:
        write_weights(trained, file)
    with h5py.File(directory / f"{STEM}_softmax_weights.hdf5", "w") as file:
        for name, entry in softmax_table(trained).items():
            file[name] = array_of(entry)[ORDER]
    words = [VOCABULARY.words[i] for i in ORDER]
    (directory / "vocab-2016-09-10.txt").write_text("\n".join(words) + "\n")
    return directory


def test_a_published_softmax_scores_as_an_own_one(trained, published, eagerly):
    ours = LanguageModel(trained, VOCABULARY)
    theirs = LanguageModel.from_pretrained(published)
    assert theirs.vocabulary.words == tuple(VOCABULARY.words[i] for i in ORDER)
    for a, b in zip(ours.score(SENTENCES), theirs.score(SENTENCES), strict=True):
        for part in ("forward", "backward", "boundaries"):
            np.testing.assert_allclose(getattr(a, part), getattr(b, part), atol=1e-5)
        np.testing.assert_array_equal(a.unknown, b.unknown)


def test_without_its_words_a_softmax_is_left_out_and_with_others_refused(published):
    with (published / "vocab-2016-09-10.txt").open("a") as file:
        file.write("surplus\n")
    with pytest.raises(ValueError, match="row for each of the 7 words"):
        load_bilm(published)
    (published / "vocab-2016-09-10.txt").unlink()
    assert load_bilm(published).softmax is None
    with pytest.raises(ValueError, match="should have a softmax and its vocabulary"):
        LanguageModel.from_pretrained(published)
