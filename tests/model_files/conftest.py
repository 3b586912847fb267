"""A model with random weights, its directory, and a checkpoint of bilm-tf."""

import tarfile
import zipfile

import pytest
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel, Vocabulary
from elmo_keras.model_files.model_directory import save_model
from tests.support.models import randomize
from tests.support.tf1_checkpoints import arrays, write_model

VOCABULARY = Vocabulary.count([["a", "b", "a"]])
TOKENS = tf.constant([["a", "b", "unseen"]])


def zipped(path, files, folder="", **options):
    """Writes a zip of files, name → content, and returns its path."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in files.items():
            archive.writestr(folder + name, content)
    return path


def tarred(path, folder, name):
    """Writes a tar of a folder under a name, and returns its path."""
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, name)
    return path


def contents(folder):
    """Name → content of the files in a folder itself."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


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
