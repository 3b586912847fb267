"""Training that was stopped, killed or damaged resumes as if nothing had happened."""

import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

from elmo_keras.files import only_process
from elmo_keras.formats.model_directory import load_bilm
from elmo_keras.training import checkpoint, loop
from elmo_keras.training.checkpoint import checkpoints, newest_checkpoint
from elmo_keras.training.run import CHECKPOINTS, ZERO_STATE
from elmo_keras.util.command import CommandFailed
from tests.support.commands import command
from tests.support.paths import ROOT
from tests.support.training_runs import DYING_PROGRAM

train = command("train")

N_STEPS = 12


class Killed(Exception):
    """Takes the place of `kill -9`: nothing is saved on the way out."""


@pytest.fixture(scope="module")
def uninterrupted(reused, tmp_path_factory):
    """The content of the last checkpoint."""
    folder = tmp_path_factory.mktemp("uninterrupted") / "model"
    assert reused.attempt(folder)
    found = newest_checkpoint(folder / CHECKPOINTS)
    progress = found[1]["progress"]
    assert progress["step"] == N_STEPS and progress["epoch"] == 1
    assert len(progress["held_out"]) == 1 + 2 + 1 + 1  # with start, epoch and end
    assert len(progress["losses"]) == 1 and progress["open_steps"] == N_STEPS - 10
    return found


def largest_difference(folder, uninterrupted):
    """Of the last checkpoint's arrays; only the time that training took may differ."""
    arrays, about, path = newest_checkpoint(folder / CHECKPOINTS)
    others, other_about, other_path = uninterrupted
    assert path.name == other_path.name
    assert about["identity"] == other_about["identity"]
    assert arrays.keys() == others.keys() and len(arrays) > 60
    seconds = {"seconds": other_about["progress"]["seconds"]}
    assert about["progress"] | seconds == other_about["progress"]
    return max(np.abs(arrays[k] - others[k]).max() for k in arrays)


def interrupt_at(number):
    """For `attempt(before_step=…)`: Ctrl-C in a step."""
    steps = itertools.count(1)

    def before_step():
        if next(steps) == number:
            os.kill(os.getpid(), signal.SIGINT)

    return before_step


@pytest.mark.slow
def test_killed_five_times_it_ends_bit_for_bit_as_if_it_had_not_been(
    reused, uninterrupted, tmp_path
):
    # Counted over all attempts.
    deaths, steps = random.Random(1).sample(range(1, N_STEPS + 1), 5), []

    def die():
        steps.append(len(steps) + 1)
        if steps[-1] in deaths:
            raise Killed

    for _ in deaths:
        with pytest.raises(Killed):
            reused.attempt(tmp_path / "model", before_step=die)
    assert reused.attempt(tmp_path / "model", before_step=die)
    assert len(steps) > N_STEPS + len(deaths)  # steps were lost and repeated
    assert largest_difference(tmp_path / "model", uninterrupted) == 0


@pytest.mark.slow
def test_a_killed_process_resumes_to_the_same_end(small_run, uninterrupted, tmp_path):
    files = [*small_run, "--output", str(tmp_path / "model")]
    process = subprocess.run(
        [sys.executable, "-c", DYING_PROGRAM, "8", *files], cwd=ROOT
    )
    assert process.returncode == -signal.SIGKILL
    assert newest_checkpoint(tmp_path / "model" / CHECKPOINTS)[2].stem.endswith("06")
    assert train(files) == 0
    # The process has one CPU device, this one has two, so products are cut differently.
    assert largest_difference(tmp_path / "model", uninterrupted) < 1e-5


def test_stops_and_a_damaged_checkpoint_cost_only_steps(
    reused, uninterrupted, tmp_path, capsys
):
    assert not reused.attempt(tmp_path / "model", before_step=interrupt_at(5))
    shown = capsys.readouterr().out
    assert "Interrupted at step 5. The same command resumes there." in shown
    load_bilm(tmp_path / "model")
    progress = newest_checkpoint(tmp_path / "model" / CHECKPOINTS)[1]["progress"]
    assert progress["step"] == 5  # where an evaluation is due, which is not lost
    expected = uninterrupted[1]["progress"]["held_out"]
    assert progress["held_out"] == expected[: len(progress["held_out"])]
    assert progress["held_out"][-1][0] == progress["tokens"]
    assert not reused.attempt(tmp_path / "model", before_step=interrupt_at(3))
    newest = checkpoints(tmp_path / "model" / CHECKPOINTS)[0]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 0xFF
    newest.write_bytes(content)
    with pytest.warns(UserWarning, match="08.hdf5 is damaged.*Trying the previous one"):
        assert reused.attempt(tmp_path / "model")
    assert largest_difference(tmp_path / "model", uninterrupted) == 0


def test_a_full_disk_ends_training_and_loses_no_older_checkpoint(
    reused, uninterrupted, tmp_path, monkeypatch
):
    full = OSError(28, "No space left on device", "a temporary file")
    writes = [checkpoint.new_hdf5, checkpoint.new_hdf5, mock.Mock(side_effect=full)]
    with monkeypatch.context() as patch, pytest.raises(CommandFailed) as failure:
        patch.setattr(checkpoint, "new_hdf5", lambda *args: writes.pop(0)(*args))
        reused.attempt(tmp_path / "model")
    assert str(failure.value) == (
        "[Errno 28] No space left on device: 'a temporary file'. Older checkpoints are "
        "kept: the same command resumes from the newest."
    )
    folder = tmp_path / "model" / CHECKPOINTS
    kept = sorted(p.name for p in folder.iterdir())
    assert kept == ["checkpoint-0000000000.hdf5", "checkpoint-0000000003.hdf5"]
    assert reused.attempt(tmp_path / "model")  # with room again
    assert largest_difference(tmp_path / "model", uninterrupted) == 0


def test_a_model_that_cannot_be_written_is_written_by_the_same_command(
    reused, uninterrupted, tmp_path, monkeypatch
):
    write_model, models = loop.write_model, []

    def full(run, *rest):
        models.append(run.progress.step)
        if len(models) == 2:
            raise OSError(28, "No space left on device")
        write_model(run, *rest)

    monkeypatch.setattr(loop, "write_model", full)
    with pytest.raises(CommandFailed, match="No space left"):
        reused.attempt(tmp_path / "model")
    assert reused.attempt(tmp_path / "model")
    assert models[1] == models[2]  # its checkpoint is from before it
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
        (["--zero-state", "1"], f"made with {ZERO_STATE} 0.1; this"),
        (["--published-state"], f"made with {ZERO_STATE} 0.1; this"),
        (["--seed", "1"], "made with seed 0; this run has 1"),
        (["--vocabulary-size", "30"], "made with vocabulary"),
        (["--preset", "tiny"], "made with model"),
        (["--batch-size", "5"], "with rows of text in all 4; this run has 5"),
        ([], "Another process is training in"),
    ],
)
def test_options_that_differ_and_two_processes_in_a_directory_are_refused(
    small_run, finished, change, message, capsys
):
    before, arguments = content(finished), [*small_run, "--output", str(finished)]
    if change and change[0] in arguments:
        place = arguments.index(change[0])
        del arguments[place : place + 2]
    with (
        contextlib.nullcontext() if change else only_process(finished / "training", "")
    ):
        assert train([*arguments, *change]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert before == content(finished)


def content(folder):
    """All files but the lock and the encoded text, which precede the refusal."""
    training = folder / "training"
    left_out = {training / "lock", *(training / "corpus-0").rglob("*")}
    paths = {p for p in folder.rglob("*") if p.is_file()}
    return {p: p.read_bytes() for p in paths - left_out}


def test_a_finished_run_says_so_and_how_to_continue(reused, finished, capsys):
    before, newest = content(finished), checkpoints(finished / CHECKPOINTS)[0]
    assert reused.attempt(finished, n_steps=2)
    assert (
        f"Training is finished: {newest} has reached --steps 2. To continue, give a "
        "higher --steps.\n"
    ) in capsys.readouterr().out
    assert before == content(finished)
    assert reused.attempt(finished, n_steps=3)
    assert "Resuming from step 2, " in capsys.readouterr().out
    assert newest_checkpoint(finished / CHECKPOINTS)[1]["progress"]["step"] == 3


@pytest.mark.parametrize("change", [{"identity": {}}, {"progress": {"new": 1}}])
def test_a_checkpoint_of_another_version_is_refused(reused, tmp_path, change):
    assert reused.attempt(tmp_path, n_steps=1)
    arrays, about, path = newest_checkpoint(tmp_path / CHECKPOINTS)
    if "progress" in change:
        about["progress"] |= change["progress"]
    else:
        del about["identity"]
    checkpoint.save_checkpoint(path.parent, 1, arrays, metadata=about)
    with pytest.raises(ValueError, match="is of another version: "):
        reused.attempt(tmp_path)


def test_weights_that_are_not_finite_replace_nothing(reused, tmp_path):
    def explode():
        reused.run.optimizer.learning_rate = 1e38

    with pytest.raises(FloatingPointError, match="no longer finite"):
        reused.attempt(tmp_path / "model", before_step=explode)
    arrays, _, path = newest_checkpoint(tmp_path / "model" / CHECKPOINTS)
    assert all(np.isfinite(array).all() for array in arrays.values())
    assert path.stem.endswith("00")
