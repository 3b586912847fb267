"""A model directory belongs to one process, and a new one does not stay empty."""

import pytest

from elmo_keras.training.output_directory import has_model, reserved
from elmo_keras.training.run import CHECKPOINTS


def test_a_new_directory_without_a_result_is_removed(tmp_path):
    output = tmp_path / "a" / "model"
    with pytest.raises(OSError, match="disk"), reserved(output, lock=True):
        assert (output / "training" / "lock").exists()
        raise OSError("disk")
    assert not output.exists()


@pytest.mark.parametrize("kept", ["options.json", f"{CHECKPOINTS}/checkpoint-1.hdf5"])
def test_a_model_or_a_checkpoint_is_kept(tmp_path, kept):
    output = tmp_path / "model"
    with reserved(output, lock=True):
        (output / kept).parent.mkdir(parents=True, exist_ok=True)
        (output / kept).touch()
    assert (output / kept).exists()
    assert has_model(output) == (kept == "options.json")


def test_a_directory_that_was_there_stays(tmp_path):
    with reserved(tmp_path, lock=False):
        pass
    assert tmp_path.exists() and not list(tmp_path.iterdir())


def test_without_the_lock_others_are_let_in(tmp_path):
    with reserved(tmp_path, lock=True), reserved(tmp_path, lock=False):
        pass
    with (
        reserved(tmp_path, lock=True),
        pytest.raises(ValueError, match="Another process is training in"),
        reserved(tmp_path, lock=True),
    ):
        pass
