"""The files of a model, which no output may replace."""

from elmo_keras.formats.model_parts import PARTS, parts_of_model
from elmo_keras.training.report import CARD, CURVES


def made(folder, names):
    for name in names.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def names(folder, model):
    return sorted(str(path.relative_to(folder)) for path in parts_of_model(model))


def test_a_model_directory_has_the_files_that_training_writes(tmp_path):
    made(tmp_path, "options.json weights.hdf5 vectors.hdf5 results.json")
    assert names(tmp_path, tmp_path) == sorted(PARTS)
    assert {CARD, CURVES} <= set(PARTS)


def test_a_directory_in_another_layout_has_files_like_a_model(tmp_path):
    made(tmp_path, "elmo_options.json elmo_weights.hdf5 vocab.txt tagger/x.hdf5")
    made(tmp_path, "checkpoint model.ckpt-7.index model.ckpt-7.data-00000-of-00001")
    expected = names(tmp_path, tmp_path)
    made(tmp_path, "results.json baseline-1.keras text.npy")
    assert names(tmp_path, tmp_path) == expected
    assert len(expected) == 6


def test_a_zip_is_a_file_and_a_checkpoint_has_a_prefix_which_a_wrong_name_is_not(
    tmp_path,
):
    made(
        tmp_path, "m.zip [m].index [m].data-0 m.index options.json vocab.txt wrong.npy"
    )
    assert names(tmp_path, tmp_path / "wrong") == ["wrong"]
    assert names(tmp_path, str(tmp_path / "m.zip")) == ["m.zip"]
    assert names(tmp_path, tmp_path / "[m]") == (
        "[m].data-0 [m].index options.json vocab.txt".split()
    )
