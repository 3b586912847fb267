"""The mix and the start state that a model directory keeps."""

import h5py
import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.elmo import model_digest
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from elmo_keras.formats.start_state_file import DIGEST
from elmo_keras.layers import ScalarMix
from tests.formats import conftest
from tests.formats.conftest import TOKENS, VOCABULARY, assert_same
from tests.support.models import random_bilm, randomize


@pytest.fixture
def started(config):
    return random_bilm(config, len(VOCABULARY), has_start_state=True)


@pytest.fixture
def mix():
    mix = ScalarMix("learned")
    mix.build([(None, None, 5)] * 3)
    mix.assign([0.1, -2.3, 7.0], 0.7)
    return mix


@pytest.fixture
def model(started, mix, tmp_path):
    save_model(tmp_path / "started", started, VOCABULARY, mix=mix)
    return tmp_path / "started"


def test_they_are_read_back_bit_for_bit_from_a_directory_and_a_zip(started, mix, model):
    path = conftest.zipped(model.with_name("m.zip"), conftest.contents(model))
    expected = [*started.lstm.start_values(), mix.scalars, mix.gamma]
    assert all(np.any(part) for part in expected)
    assert_same(load_bilm(model).lstm.start_values(), expected[:2])
    for elmo in map(Elmo.from_pretrained, (model, path)):
        [found] = elmo.mixes
        state = elmo.bilm.lstm.start_values()
        assert_same([*state, found.scalars, found.gamma], expected)
    new = Elmo.from_pretrained(model, scheme="learned").mixes[0]
    assert not np.any(new.scalars) and float(new.gamma) == 1


def test_the_published_files_are_the_same_with_them(started, model, bilm, tmp_path):
    for weight, value in zip(bilm.weights, started.trainable_weights, strict=True):
        weight.assign(value)
    save_model(tmp_path / "plain", bilm, VOCABULARY)
    plain, kept = map(conftest.contents, (tmp_path / "plain", model))
    assert kept.keys() - plain.keys() == {"start_state.h5", "mix.json"}
    assert plain.items() <= kept.items()


def test_vectors_and_digest_change_with_a_state_and_can_be_had_without_it(model):
    started = Elmo.from_pretrained(model)
    zero = Elmo.from_pretrained(model, has_start_state=False)
    assert np.all(started(TOKENS) != zero(TOKENS))
    assert not load_bilm(model, has_start_state=False).has_start_state
    (model / "start_state.h5").unlink()
    plain = Elmo.from_pretrained(model)
    np.testing.assert_array_equal(plain(TOKENS), zero(TOKENS))
    assert model_digest(plain) == model_digest(zero) != model_digest(started)


def test_weights_that_are_written_later_take_them_away(model, bilm):
    save_model(model, bilm, VOCABULARY)
    assert find_model(model).mix is None and not find_model(model).has_start_state


def test_a_mix_without_weights_is_not_kept_and_nothing_is_written(bilm, tmp_path):
    with pytest.raises(ValueError, match="scheme 'learned'. Received: 'average'"):
        save_model(tmp_path / "model", bilm, mix=ScalarMix("average"))
    assert not (tmp_path / "model").exists()


def test_a_state_belongs_to_its_weights_also_in_half_precision(model, bilm, tmp_path):
    assert Elmo.from_pretrained(model, dtype="bfloat16").has_start_state
    save_model(tmp_path / "other", randomize(bilm, seed=1), VOCABULARY)
    (model / "start_state.h5").rename(tmp_path / "other" / "start_state.h5")
    for load in (load_bilm, Elmo.from_pretrained):
        with pytest.raises(ValueError, match="start_state.h5 is .* of other weights"):
            load(tmp_path / "other")
    Elmo.from_pretrained(tmp_path / "other", has_start_state=False)


def test_a_damaged_mix_is_refused_with_its_name(model):
    for content, message in [
        ('{"scalars": [1, 2, 3]}', "JSON with `scalars` and `gamma`. KeyError"),
        ("[]", "JSON with `scalars` and `gamma`"),
        ("{", "JSON with `scalars` and `gamma`"),
        ('{"scalars": [1, 2], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, "3"], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, true], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, NaN], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, 3], "gamma": 1e39}', "a finite `gamma`"),
    ]:
        (model / "mix.json").write_text(content)
        with pytest.raises(ValueError, match=f"mix.json should hold .*{message}"):
            Elmo.from_pretrained(model)


def test_a_damaged_state_is_refused_with_its_name(model):
    path = model / "start_state.h5"
    whole, cell = path.read_bytes(), conftest.replaced("cell", np.zeros((2, 2, 3)))
    for change, message in [
        (cell, r"`cell` should have the shape \[2, 2, "),
        (conftest.without("output"), "The weights should hold `output`"),
        (conftest.filled("cell", (0, 1, 2), np.nan), "finite numbers. Found: nan at"),
        (lambda file: file.attrs.pop(DIGEST), "of other weights"),
    ]:
        path.write_bytes(whole)
        with h5py.File(path, "r+") as file:
            change(file)
        with pytest.raises(ValueError, match=f"start_state.h5 .*{message}"):
            Elmo.from_pretrained(model)
    path.write_text("text")
    with pytest.raises(ValueError, match="start_state.h5 should be an HDF5 file"):
        load_bilm(model)
