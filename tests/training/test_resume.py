"""Training that was stopped, killed or damaged goes on as if it had not been."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import ROOT

import train
from elmo_keras import checkpoint, training_run
from elmo_keras.checkpoint import checkpoints, newest_checkpoint
from elmo_keras.training_run import CHECKPOINTS

N_STEPS = 40
ARGUMENTS = ["--preset", "test", "--batch-size", "4", "--negatives", "20"]
ARGUMENTS += ["--steps", str(N_STEPS), "--checkpoint-every", "6"]
ARGUMENTS += ["--evaluate-every", "17", "--warm-up", "3"]


class Killed(Exception):
    """What happens in place of a `kill -9`: nothing is saved on the way out."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    rng = random.Random(0)
    words = [f"w{i}" for i in range(60)]
    lines = (" ".join(rng.choices(words, k=rng.randint(1, 30))) for _ in range(130))
    (folder / "text.txt").write_text("\n".join(lines))
    (folder / "valid.txt").write_text("w1 w2 w3\nw4 w5\n")
    text = ["--train", str(folder / "text.txt"), "--valid", str(folder / "valid.txt")]
    return [*text, *ARGUMENTS]


def at_the_end(folder):
    """All that a run left in its last checkpoint, but for the time it took."""
    arrays, about, path = newest_checkpoint(folder / CHECKPOINTS)
    del about["progress"]["seconds"]
    return arrays, about, path.name


@pytest.fixture(scope="module")
def uninterrupted(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert train.main([*files, "--output", str(folder / "model")]) == 0
    return at_the_end(folder / "model")


def largest_difference(one, other):
    arrays, about, name = one
    others, other_about, other_name = other
    assert name == other_name and about["identity"] == other_about["identity"]
    assert arrays.keys() == others.keys() and len(arrays) > 60
    progress, others_progress = about["progress"], other_about["progress"]
    # A loss is noted every ten steps and whenever training stops.
    for key in progress.keys() - {"losses"}:
        assert progress[key] == others_progress[key]
    return max(np.abs(arrays[k] - others[k]).max() for k in arrays)


def test_killed_five_times_it_ends_bit_for_bit_as_if_it_had_not_been(
    files, uninterrupted, tmp_path, monkeypatch
):
    output = ["--output", str(tmp_path / "model")]
    step, steps = training_run.compiled_step, [0]
    # The number of steps tried at each.
    deaths = sorted(random.Random(1).sample(range(1, N_STEPS + 1), 5))

    def mortal(*args, **kwargs):
        run_step = step(*args, **kwargs)

        def one_step(*batch):
            steps[0] += 1
            if steps[0] in deaths:
                raise Killed
            return run_step(*batch)

        return one_step

    monkeypatch.setattr("elmo_keras.fit.compiled_step", mortal)
    for _ in deaths:
        with pytest.raises(Killed):
            train.main([*files, *output])
    assert train.main([*files, *output]) == 0
    assert steps[0] > N_STEPS + len(deaths)  # steps were lost and done again
    assert largest_difference(at_the_end(tmp_path / "model"), uninterrupted) == 0


@pytest.mark.slow
def test_a_killed_process_goes_on_to_the_same_end(files, uninterrupted, tmp_path):
    command = [sys.executable, ROOT / "train.py", *files]
    command += ["--output", str(tmp_path / "model")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while len(checkpoints(tmp_path / "model" / CHECKPOINTS)) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert train.main([*files, "--output", str(tmp_path / "model")]) == 0
    # The CPU is one device there and two here, so products are cut otherwise.
    assert largest_difference(at_the_end(tmp_path / "model"), uninterrupted) < 1e-5


def test_a_damaged_checkpoint_costs_only_its_steps(
    files, uninterrupted, tmp_path, monkeypatch
):
    folder = tmp_path / "model" / CHECKPOINTS
    stop = iter([False] * 19 + [True])
    monkeypatch.setattr(train, "stopping", lambda: stopping_by(stop))
    assert train.main([*files, "--output", str(tmp_path / "model")]) == 130
    monkeypatch.undo()
    newest = checkpoints(folder)[0]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 0xFF
    newest.write_bytes(content)
    with pytest.warns(UserWarning, match="is damaged.*The one before is taken"):
        assert train.main([*files, "--output", str(tmp_path / "model")]) == 0
    assert largest_difference(at_the_end(tmp_path / "model"), uninterrupted) == 0


class stopping_by:
    """Stands in for `train.stopping`: tells to stop as the iterator says."""

    def __init__(self, answers):
        self.answers = answers

    def __enter__(self):
        return lambda: next(self.answers, False)

    def __exit__(self, *_):
        return False


def test_a_full_disk_loses_no_older_checkpoint(files, tmp_path, monkeypatch, capsys):
    output = ["--output", str(tmp_path / "model")]
    new_hdf5, written = checkpoint.new_hdf5, []

    def full(path, size):
        written.append(path)
        if len(written) > 2:
            raise OSError(28, "No space left on device")
        return new_hdf5(path, size)

    monkeypatch.setattr(checkpoint, "new_hdf5", full)
    with pytest.warns(UserWarning, match="was not written.*No space left"):
        assert train.main([*files, *output]) == 1
    assert "No space left on device" in capsys.readouterr().err
    kept = sorted(p.name for p in (tmp_path / "model" / CHECKPOINTS).iterdir())
    assert kept == ["checkpoint-0000000000.hdf5", "checkpoint-0000000006.hdf5"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--learning-rate", "0.3"], "made with learning_rate 0.2, this run has 0.3"),
        (["--seed", "1"], "made with seed 0, this run has 1"),
        (["--vocabulary-size", "30"], "made with vocabulary"),
        (["--preset", "tiny"], "made with model"),
        (["--batch-size", "5"], "with rows of text in all 4, this run has 5"),
    ],
)
def test_other_options_than_the_checkpoints_are_refused(
    finished, change, message, capsys
):
    files, folder = finished
    before = {p: p.read_bytes() for p in folder.rglob("*.*") if p.is_file()}
    assert train.main([*files, *change]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert before == {p: p.read_bytes() for p in folder.rglob("*.*") if p.is_file()}


@pytest.fixture(scope="module")
def finished(files, tmp_path_factory):
    """A run of two steps that is over."""
    folder = tmp_path_factory.mktemp("finished") / "model"
    files = [*files, "--output", str(folder), "--steps", "2"]
    assert train.main(files) == 0
    return files, folder


def test_a_run_that_is_over_says_so_and_goes_on_with_more_steps(finished, capsys):
    files, folder = finished
    assert train.main(files) == 0
    assert "Going on from step 2" in capsys.readouterr().out
    assert train.main([*files, "--steps", "3"]) == 0
    assert "Going on from step 2" in capsys.readouterr().out
    assert newest_checkpoint(folder / CHECKPOINTS)[1]["progress"]["step"] == 3


def test_a_stop_where_an_evaluation_is_due_does_not_lose_it(
    files, uninterrupted, tmp_path, monkeypatch
):
    stop = iter([False] * 16 + [True])  # at step 17
    monkeypatch.setattr(train, "stopping", lambda: stopping_by(stop))
    output = ["--output", str(tmp_path / "model")]
    assert train.main([*files, *output]) == 130
    progress = newest_checkpoint(tmp_path / "model" / CHECKPOINTS)[1]["progress"]
    assert progress["step"] == 17
    expected = uninterrupted[1]["progress"]["held_out"]
    assert progress["held_out"] == expected[: len(progress["held_out"])]
    assert progress["held_out"][-1][0] == progress["tokens"]


def test_two_processes_do_not_train_in_one_place(finished, capsys):
    files, folder = finished
    with (folder / "training" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert train.main([*files, "--steps", "9"]) == 2
    assert "Another process trains in" in capsys.readouterr().err


def test_weights_that_are_no_numbers_replace_nothing(files, tmp_path, capsys):
    output = ["--output", str(tmp_path / "model"), "--checkpoint-every", "1"]
    assert train.main([*files, *output, "--learning-rate", "1e38"]) == 1
    assert "not finite any more" in capsys.readouterr().err
    arrays, about, _ = newest_checkpoint(tmp_path / "model" / CHECKPOINTS)
    assert all(np.isfinite(array).all() for array in arrays.values())
