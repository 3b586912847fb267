"""The start state that a model directory keeps."""

import h5py
import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel, Elmo
from elmo_keras.embed.embedder import model_digest
from elmo_keras.model_files.model_directory import load_bilm, save_model
from elmo_keras.model_files.start_state_file import DIGEST
from tests.model_files.conftest import (
    TOKENS,
    VOCABULARY,
    assert_same,
    contents,
    filled,
    replaced,
    without,
    zipped,
)
from tests.support.models import randomize


@pytest.fixture
def started(config):
    bilm = BidirectionalLanguageModel(config, len(VOCABULARY), has_start_state=True)
    bilm.build()
    return randomize(bilm)


@pytest.fixture
def model(started, tmp_path):
    save_model(tmp_path / "started", started, VOCABULARY)
    return tmp_path / "started"


def test_it_is_read_back_bit_for_bit_from_a_directory_and_a_zip(started, model):
    path = zipped(model.with_name("m.zip"), contents(model))
    expected = started.lstm.start_values()
    assert all(np.any(part) for part in expected)
    for found in (
        load_bilm(model),
        *(Elmo.from_pretrained(m).bilm for m in (model, path)),
    ):
        assert_same(found.lstm.start_values(), expected)


def test_the_published_files_are_the_same_with_it(started, model, bilm, tmp_path):
    for weight, value in zip(bilm.weights, started.trainable_weights, strict=True):
        weight.assign(value)
    save_model(tmp_path / "plain", bilm, VOCABULARY)
    names = {path.name for path in (tmp_path / "plain").glob("*.*")}
    assert {path.name for path in model.glob("*.*")} == {*names, "start_state.h5"}
    for name in names:
        assert (model / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_vectors_and_digest_change_with_it_and_can_be_had_without_it(model):
    started = Elmo.from_pretrained(model)
    zero = Elmo.from_pretrained(model, has_start_state=False)
    assert np.all(started(TOKENS) != zero(TOKENS))
    assert not load_bilm(model, has_start_state=False).has_start_state
    (model / "start_state.h5").unlink()
    plain = Elmo.from_pretrained(model)
    np.testing.assert_array_equal(plain(TOKENS), zero(TOKENS))
    assert model_digest(plain) == model_digest(zero) != model_digest(started)


def test_weights_that_are_written_later_take_it_away(model, bilm):
    save_model(model, bilm, VOCABULARY)
    assert not (model / "start_state.h5").exists()


def test_it_belongs_to_its_weights_also_in_half_precision(model, bilm, tmp_path):
    assert Elmo.from_pretrained(model, dtype="bfloat16").has_start_state
    save_model(tmp_path / "other", randomize(bilm, seed=1), VOCABULARY)
    (model / "start_state.h5").rename(tmp_path / "other" / "start_state.h5")
    for load in (load_bilm, Elmo.from_pretrained):
        with pytest.raises(ValueError, match="start_state.h5 is .* of other weights"):
            load(tmp_path / "other")
    Elmo.from_pretrained(tmp_path / "other", has_start_state=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            replaced("cell", np.zeros((2, 2, 3))),
            r"`cell` should have the shape \[2, 2, ",
        ),
        (without("output"), "The weights should hold `output`"),
        (filled("cell", (0, 1, 2), np.nan), "finite numbers. Found: nan at"),
        (lambda file: file.attrs.pop(DIGEST), "of other weights"),
    ],
)
def test_a_damaged_one_is_refused_with_its_name(model, change, message):
    with h5py.File(model / "start_state.h5", "r+") as file:
        change(file)
    with pytest.raises(ValueError, match=f"start_state.h5 .*{message}"):
        Elmo.from_pretrained(model)
    (model / "start_state.h5").write_text("text")
    with pytest.raises(ValueError, match="start_state.h5 should be an HDF5 file"):
        load_bilm(model)
