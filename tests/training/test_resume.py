"""Training that was stopped, killed or damaged resumes as if nothing had happened."""

import contextlib
import itertools
import os
import random

import numpy as np
import pytest

from elmo_keras.base.files import only_process
from elmo_keras.formats.model_directory import load_bilm
from elmo_keras.training import checkpoint
from elmo_keras.training.checkpoint import checkpoints, newest_checkpoint
from elmo_keras.training.run import CHECKPOINTS
from elmo_keras.training.streams import ZERO_STATE
from tests.support.commands import command, replaced
from tests.support.training_runs import prepared

train = command("train")

N_STEPS = 12


class Killed(Exception):
    """Takes the place of `kill -9`: nothing is saved on the way out."""


@pytest.fixture(scope="module")
def uninterrupted(reused, tmp_path_factory):
    """The content of the last checkpoint."""
    folder = tmp_path_factory.mktemp("uninterrupted") / "model"
    assert reused.attempt(folder)
    arrays, metadata, path = newest_checkpoint(folder / CHECKPOINTS)
    progress = metadata["progress"]
    assert progress["step"] == N_STEPS and progress["epoch"] == 1
    assert len(progress["held_out"]) == 1 + 2 + 1 + 1  # with start, epoch and end
    assert [row[0] for row in progress["losses"]] == [10, N_STEPS - 10]
    return arrays, metadata, path


def largest_difference(folder, uninterrupted):
    """The largest difference of the last checkpoint's arrays; only times may differ."""
    arrays, metadata, path = newest_checkpoint(folder / CHECKPOINTS)
    others, other_metadata, other_path = uninterrupted
    assert path.name == other_path.name
    seconds = {"seconds": other_metadata["progress"]["seconds"]}
    metadata["progress"] |= seconds
    assert metadata == other_metadata
    assert arrays.keys() == others.keys() and len(arrays) > 60
    return max(np.abs(arrays[k] - others[k]).max() for k in arrays)


def stop_after(n):
    """For `attempt(stop=…)`."""
    steps = itertools.count(1)
    return lambda: next(steps) == n


@pytest.mark.journey  # with 5 kills, and with 100
@pytest.mark.nightly
def test_kills_change_no_bit_of_the_result(small_run, tmp_path):
    """With two replicas, each of which reads its rows in two parts."""
    kills = int(os.environ.get("KILLS", 5))
    n_steps = max(N_STEPS, 3 * kills)
    arguments = "--replicas 2 --parts 2".split()
    run = prepared([*small_run, "--output", str(tmp_path), *arguments])
    assert run.attempt(tmp_path / "whole", n_steps=n_steps)
    # Counted over all attempts.
    deaths, steps = random.Random(1).sample(range(1, n_steps + 1), kills), []

    def die():
        steps.append(len(steps) + 1)
        if steps[-1] in deaths:
            raise Killed

    for _ in deaths:
        with pytest.raises(Killed):
            run.attempt(tmp_path / "model", n_steps=n_steps, before_step=die)
    assert run.attempt(tmp_path / "model", n_steps=n_steps, before_step=die)
    assert len(steps) > n_steps + kills  # steps were lost and repeated
    whole = newest_checkpoint(tmp_path / "whole" / CHECKPOINTS)
    assert largest_difference(tmp_path / "model", whole) == 0


def test_a_stop_before_the_first_evaluation_keeps_what_was_learned(reused, tmp_path):
    assert not reused.attempt(tmp_path, stop=stop_after(4))
    assert len(reused.model.run.progress.held_out) == 2
    progress = newest_checkpoint(tmp_path / CHECKPOINTS)[1]["progress"]
    assert len(progress["held_out"]) == 1
    read, trained = load_bilm(tmp_path).get_weights(), reused.model.bilm.get_weights()
    assert all(np.array_equal(*pair) for pair in zip(read, trained, strict=True))


def test_stops_and_a_damaged_checkpoint_cost_steps(reused, uninterrupted, tmp_path):
    assert not reused.attempt(tmp_path / "model", stop=stop_after(5))
    load_bilm(tmp_path / "model")
    progress = newest_checkpoint(tmp_path / "model" / CHECKPOINTS)[1]["progress"]
    assert progress["step"] == 5  # where an evaluation is due, which is not lost
    expected = uninterrupted[1]["progress"]["held_out"]
    assert progress["held_out"] == expected[: len(progress["held_out"])]
    assert progress["held_out"][-1][0] == progress["tokens"]
    assert not reused.attempt(tmp_path / "model", stop=stop_after(3))
    newest = checkpoints(tmp_path / "model" / CHECKPOINTS)[0]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 0xFF
    newest.write_bytes(content)
    with pytest.warns(UserWarning, match="08.hdf5 is damaged.*Trying the previous one"):
        assert reused.attempt(tmp_path / "model")
    assert largest_difference(tmp_path / "model", uninterrupted) == 0


@pytest.fixture(scope="module")
def finished(reused, tmp_path_factory):
    """A model directory of a finished run of two steps."""
    folder = tmp_path_factory.mktemp("finished") / "model"
    assert reused.attempt(folder, n_steps=2)
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--learning-rate", "0.3"], "made with learning_rate 0.2; this run has 0.3"),
        (["--published-state"], f"made with {ZERO_STATE} 0.1; this"),
        (["--seed", "1"], "made with seed 0; this run has 1"),
        (["--vocabulary-size", "30"], "made with different vocabulary"),
        (["--preset", "tiny"], "made with model"),
        (["--batch-size", "5"], "with rows of text in all 4; this run has 5"),
        ([], "is in use: another process is training there"),
    ],
)
def test_other_options_and_a_second_process_are_refused(
    small_run, finished, change, message, error_of
):
    before = content(finished)
    arguments = replaced([*small_run, "--output", finished], change)
    free = contextlib.nullcontext()
    with free if change else only_process(finished / "training", ""):
        assert message in error_of(train, arguments)
    assert before == content(finished)


def content(folder):
    """All files but the lock, the encoded text and the logs."""
    left_out = {"lock", "corpus-0", "logs"}
    paths = [p for p in folder.rglob("*") if p.is_file()]
    return {p: p.read_bytes() for p in paths if not left_out & set(p.parts)}


def test_a_finished_run_says_so_and_how_to_continue(reused, finished, capsys):
    before = content(finished)
    assert reused.attempt(finished, n_steps=2)
    assert "finished: it has reached steps 2." in capsys.readouterr().out
    assert before == content(finished)
    assert reused.attempt(finished, n_steps=3)
    assert "Resuming from step 2, " in capsys.readouterr().out
    assert newest_checkpoint(finished / CHECKPOINTS)[1]["progress"]["step"] == 3


def test_a_checkpoint_of_another_version_is_refused(reused, tmp_path):
    assert reused.attempt(tmp_path, n_steps=1)
    arrays, metadata, path = newest_checkpoint(tmp_path / CHECKPOINTS)
    metadata["progress"]["new"] = 1
    checkpoint.save_checkpoint(path.parent, 1, arrays, metadata=metadata)
    with pytest.raises(ValueError, match="is of another version: "):
        reused.attempt(tmp_path)


def test_weights_that_are_not_finite_replace_nothing(reused, tmp_path):
    def explode():
        reused.model.optimizer.learning_rate = 1e38

    with pytest.raises(FloatingPointError, match="Training diverged"):
        reused.attempt(tmp_path / "model", before_step=explode)
    arrays, _, path = newest_checkpoint(tmp_path / "model" / CHECKPOINTS)
    assert all(np.isfinite(array).all() for array in arrays.values())
    assert path.stem.endswith("00")
