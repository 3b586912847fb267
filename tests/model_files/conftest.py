"""A model with random weights, and its directory."""

import pytest

from elmo_keras import BidirectionalLanguageModel, Vocabulary
from elmo_keras.model_files.model_directory import save_model
from tests.support.models import randomize

VOCABULARY = Vocabulary.count([["a", "b", "a"]])


@pytest.fixture
def bilm(config):
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY))
    bilm.build()
    return randomize(bilm)


@pytest.fixture
def directory(bilm, tmp_path):
    options = {"n_train_tokens": 3}
    save_model(tmp_path / "model", bilm, VOCABULARY, options=options)
    return tmp_path / "model"
