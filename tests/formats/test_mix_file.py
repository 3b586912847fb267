"""The mix that a model directory keeps."""

import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.formats.model_directory import find_model, save_model
from elmo_keras.layers import ScalarMix
from tests.formats import conftest
from tests.formats.conftest import VOCABULARY, assert_same


@pytest.fixture
def mix():
    mix = ScalarMix(mix=[0.1, -2.3, 7.0], gamma=0.7)
    mix.build([(None, None, 5)] * 3)
    return mix


@pytest.fixture
def model(bilm, mix, tmp_path):
    save_model(tmp_path / "mixed", bilm, VOCABULARY, mix=mix)
    return tmp_path / "mixed"


def test_it_is_read_back_bit_for_bit_from_a_directory_and_a_zip(mix, model):
    path = conftest.zipped(model.with_name("m.zip"), conftest.contents(model))
    for elmo in map(Elmo.from_pretrained, (model, path)):
        [read] = elmo.mixes
        assert_same([read.scalars, read.gamma], [mix.scalars, mix.gamma])
    new = Elmo.from_pretrained(model, mix=[0, 0, 0]).mixes[0]
    assert not np.any(new.scalars) and float(new.gamma) == 1


def test_the_published_files_are_the_same_with_it(model, bilm, tmp_path):
    save_model(tmp_path / "plain", bilm, VOCABULARY)
    plain, kept = map(conftest.contents, (tmp_path / "plain", model))
    assert kept.keys() - plain.keys() == {"mix.json"}
    assert plain.items() <= kept.items()


def test_weights_that_are_written_later_take_it_away(model, bilm):
    save_model(model, bilm, VOCABULARY)
    assert find_model(model).mix is None


def test_a_mix_without_weights_is_not_kept_and_nothing_is_written(bilm, tmp_path):
    with pytest.raises(ValueError, match="layers='mix'`. Received: 'average'"):
        save_model(tmp_path / "model", bilm, mix=ScalarMix("average"))
    assert not (tmp_path / "model").exists()


def test_a_damaged_mix_is_refused_with_its_name(model):
    for content, message in [
        ('{"scalars": [1, 2, 3]}', "a finite `gamma`"),
        ("[]", "a JSON object"),
        ("{", "JSON"),
        ('{"scalars": [1, 2], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, "3"], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, true], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, NaN], "gamma": 1}', "3 finite `scalars`"),
        ('{"scalars": [1, 2, 3], "gamma": 1e39}', "a finite `gamma`"),
    ]:
        (model / "mix.json").write_text(content)
        with pytest.raises(ValueError, match=f"mix.json should hold .*{message}"):
            Elmo.from_pretrained(model)
