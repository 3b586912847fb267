"""Checkpoints of bilm-tf wherever a model is read: by path, in archives, with words."""

import tarfile

import numpy as np
import pytest

from elmo_keras import Elmo, Embedder, LanguageModel, load_bilm
from elmo_keras.model_files.model_directory import find_model
from elmo_keras.model_files.pretrained import find_pretrained
from elmo_keras.model_files.tf1_weights import read_tf1_checkpoint
from tests.support.tf1_checkpoints import WORDS, built, copied

WORD_LIST = "</S>\n<S>\n<UNK>\na\nb\nc\nd\ne\nf\ng\nh\n"


@pytest.fixture(scope="module")
def expected(trained):
    bilm = built()
    read_tf1_checkpoint(bilm, trained / "model.ckpt-9")
    return bilm


@pytest.fixture
def archived(trained, tmp_path):
    """An archive of all that training left, with an older checkpoint too."""
    folder = copied(trained, tmp_path / "output")
    (folder / "elmo-vocab.txt").write_text(WORD_LIST)
    for file in ("index", "data-00000-of-00001"):
        (folder / f"model.ckpt-3.{file}").write_bytes(b"older")
    with tarfile.open(tmp_path / "output.tar.gz", "w:gz") as archive:
        archive.add(folder, "output")
    return tmp_path / "output.tar.gz"


def assert_same(expected, weights):
    for a, b in zip(expected, weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_layer_reads_a_checkpoint_by_directory_prefix_and_archive(
    trained, archived, expected
):
    weights = expected.token_representation.weights + expected.lstm.weights
    for model in (trained, str(trained / "model.ckpt-9"), archived):
        assert_same(weights, Elmo.from_pretrained(model).bilm.weights)
    assert Embedder(str(trained / "model.ckpt-9")).elmo.config == expected.config


def test_its_softmax_is_read_if_its_words_lie_beside_it(trained, archived, expected):
    assert load_bilm(trained).softmax is None
    model = LanguageModel.from_pretrained(archived)
    assert_same(expected.weights, model.bilm.weights)
    assert model.vocabulary.special == (1, 0, 2) and len(model.vocabulary) == WORDS


def test_training_starts_from_an_archive_with_accumulators(archived, expected, trained):
    pretrained = find_pretrained(archived)
    bilm = built()
    accumulators = pretrained.read_into(bilm, with_softmax=True)
    assert_same(expected.weights, bilm.weights)
    assert_same(read_tf1_checkpoint(bilm, trained / "model.ckpt-9"), accumulators)
    folder = pretrained.source.weights.unpacked.folder
    assert "model.ckpt-3.data-00000-of-00001" not in {p.name for p in folder.iterdir()}
    del pretrained
    assert not folder.exists()


def test_hdf5_weights_in_the_same_directory_give_the_vectors(directory, trained):
    copied(trained, directory)
    assert find_model(directory).weights == directory / "weights.hdf5"
    assert (
        find_pretrained(directory / "model.ckpt-9").source.weights.prefix.name
        == "model.ckpt-9"
    )


def test_checkpoints_in_several_folders_are_refused(trained, tmp_path):
    with tarfile.open(tmp_path / "two.tar", "w") as archive:
        archive.add(trained, "one")
        archive.add(trained, "two")
    with pytest.raises(ValueError, match=r"in one folder. Found: \['one', 'two'\]"):
        Elmo.from_pretrained(tmp_path / "two.tar")


def test_a_checkpoint_without_options_or_with_short_data_is_refused(trained, tmp_path):
    (copied(trained, tmp_path / "m") / "options.json").unlink()
    with pytest.raises(FileNotFoundError, match="There is no .*options.json"):
        Elmo.from_pretrained(tmp_path / "m")
    copied(trained, tmp_path / "m")
    data = tmp_path / "m" / "model.ckpt-9.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:500])
    with pytest.raises(ValueError, match="data files have 500 bytes for"):
        Elmo.from_pretrained(tmp_path / "m")
