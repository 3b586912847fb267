"""The mix that a model directory keeps."""

import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.layers import ScalarMix
from elmo_keras.model_files.model_directory import save_model
from tests.model_files.conftest import contents, zipped


@pytest.fixture
def elmo(config):
    elmo = Elmo(config)
    elmo.build()
    elmo.mixes[0].assign([0.1, -2.3, 7.0], 0.7)
    return elmo


def test_a_mix_is_read_back_bit_for_bit_from_a_directory_and_a_zip(elmo, tmp_path):
    save_model(tmp_path / "model", elmo.bilm, mix=elmo.mixes[0])
    archive = zipped(tmp_path / "m.zip", contents(tmp_path / "model"))
    for model in (tmp_path / "model", archive):
        [mix] = Elmo.from_pretrained(model).mixes
        np.testing.assert_array_equal(mix.scalars, elmo.mixes[0].scalars)
        assert mix.gamma.numpy() == elmo.mixes[0].gamma.numpy()
    new = Elmo.from_pretrained(tmp_path / "model", scheme="learned").mixes[0]
    assert not np.any(new.scalars) and float(new.gamma) == 1


def test_a_damaged_mix_is_refused_with_its_name(directory):
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
        (directory / "mix.json").write_text(content)
        with pytest.raises(ValueError, match=f"mix.json should hold .*{message}"):
            Elmo.from_pretrained(directory)


def test_a_mix_without_weights_is_not_kept_and_nothing_is_written(bilm, tmp_path):
    mix = ScalarMix("average")
    with pytest.raises(ValueError, match="scheme 'learned'. Received: 'average'"):
        save_model(tmp_path / "model", bilm, mix=mix)
    assert not (tmp_path / "model").exists()
