"""Finding the checkpoints of bilm-tf."""

import os

import pytest

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.model_files.tf1_checkpoint import find_tf1_checkpoint
from elmo_keras.model_files.tf1_weights import read_tf1_checkpoint
from tests.support.tf1_checkpoints import WORDS, copied


def test_a_checkpoint_is_found_by_directory_and_by_prefix(trained):
    for path in (trained, str(trained), trained / "model.ckpt-9"):
        found = find_tf1_checkpoint(path)
        assert found.prefix == trained / "model.ckpt-9"
        assert found.options["n_tokens_vocab"] == WORDS
    config = ElmoConfig.from_options(found.options)
    bilm = BidirectionalLanguageModel(config, found.options["n_tokens_vocab"])
    bilm.build()
    read_tf1_checkpoint(bilm, found.prefix)


def touch(directory, *steps):
    """Makes files named like checkpoints, the last one the youngest."""
    for time, step in enumerate(steps):
        file = directory / f"model.ckpt-{step}.index"
        file.touch()
        os.utime(file, (time, time))


def test_the_file_named_checkpoint_names_the_latest(trained, tmp_path):
    touch(copied(trained, tmp_path), 100)
    named = 'model_checkpoint_path: "{}"\n'
    for place in ("model.ckpt-9", "/moved/from/here/model.ckpt-9"):
        (tmp_path / "checkpoint").write_text(named.format(place))
        assert find_tf1_checkpoint(tmp_path).prefix == tmp_path / "model.ckpt-9"


@pytest.mark.parametrize(
    "content",
    [None, b"", b"\xff", b"no such format", b'model_checkpoint_path: "gone-100"\n'],
)
def test_without_a_usable_file_checkpoint_the_highest_step_is_taken(
    trained, tmp_path, content
):
    touch(copied(trained, tmp_path), 8, 20, 10)
    (tmp_path / "checkpoint").unlink()
    if content is not None:
        (tmp_path / "checkpoint").write_bytes(content)
    assert find_tf1_checkpoint(tmp_path).prefix == tmp_path / "model.ckpt-20"


def test_without_steps_in_their_names_the_youngest_is_taken(trained, tmp_path):
    (tmp_path / "options.json").write_bytes((trained / "options.json").read_bytes())
    for time, name in enumerate(("older.index", "newer.index")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time, time))
    assert find_tf1_checkpoint(tmp_path).prefix == tmp_path / "newer"


def test_missing_files_beside_a_checkpoint_are_named(trained, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no checkpoint \(\*.index and"):
        find_tf1_checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no .*model.ckpt-9.index"):
        find_tf1_checkpoint(tmp_path / "model.ckpt-9")
    (copied(trained, tmp_path) / "options.json").write_text("[]")
    with pytest.raises(ValueError, match="options.json should hold a JSON object"):
        find_tf1_checkpoint(tmp_path)
    (tmp_path / "options.json").unlink()
    for path in (tmp_path, tmp_path / "model.ckpt-9"):
        with pytest.raises(FileNotFoundError, match="There is no .*options.json"):
            find_tf1_checkpoint(path)
