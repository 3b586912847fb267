"""A model with random weights, its directory, and a checkpoint of bilm-tf."""

import pytest

from elmo_keras import BidirectionalLanguageModel, Vocabulary
from elmo_keras.model_files.model_directory import save_model
from tests.support.models import randomize
from tests.support.tf1_checkpoints import arrays, write_model

VOCABULARY = Vocabulary.count([["a", "b", "a"]])


@pytest.fixture
def bilm(config):
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY))
    bilm.build()
    return randomize(bilm)


@pytest.fixture
def directory(bilm, tmp_path):
    save_model(tmp_path / "model", bilm, VOCABULARY, options={"n_train_tokens": 3})
    return tmp_path / "model"


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A directory as bilm-tf's training leaves it; no test changes it."""
    return write_model(tmp_path_factory.mktemp("trained"), arrays())
