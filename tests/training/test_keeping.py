"""What training keeps when files can't be written."""

import types

import pytest

from elmo_keras.cli.command import CommandFailed
from elmo_keras.training.keeping import finish, keep_if_better
from elmo_keras.training.monitor import Monitor
from elmo_keras.training.options import Limits
from elmo_keras.training.progress import Progress


class Disk:
    """Takes a model, or fails; `models` are the steps of those that it took."""

    def __init__(self, tmp_path):
        strategy = types.SimpleNamespace(cluster_resolver=None)
        self.run = types.SimpleNamespace(strategy=strategy, progress=Progress())
        self.monitor = Monitor(self.run, tmp_path, Limits(n_epochs=1))
        self.folder, self.full, self.models = tmp_path, False, []

    def keep(self):
        if self.full:
            raise OSError(28, "No space left on device")
        self.models.append(self.run.progress.step)

    def evaluated(self, step, mean, *, full=False):
        self.run.progress.step, self.full = step, full
        keep_if_better(self.monitor, mean, self.keep)
        progress = self.run.progress
        return progress.best, progress.unwritten, progress.not_better

    def finish(self):
        finish(self.monitor, self.folder, self.keep, changed=False)


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


def test_the_model_with_the_lowest_perplexity_is_kept(disk):
    assert disk.evaluated(1, 9.0) == (9.0, None, 0)
    assert disk.evaluated(2, 9.0) == (9.0, None, 1)
    assert disk.evaluated(3, 8.0) == (8.0, None, 0)
    assert disk.models == [1, 3]
    disk.finish()


def test_every_model_that_is_not_written_is_reported(disk, capsys):
    disk.evaluated(1, 9.0)
    assert disk.evaluated(2, 7.0, full=True) == (9.0, (2, 7.0), 0)
    assert disk.evaluated(3, 8.0, full=True) == (9.0, (2, 7.0), 1)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"Warning: The model of step {step} was not written (the older one is kept): "
        "No space left on device"
        for step in (2, 3)
    ]


def test_training_fails_at_its_end_if_the_best_model_is_lost(disk):
    disk.evaluated(1, 9.0)
    disk.evaluated(2, 7.0, full=True)
    # Better than the one that was written, but no improvement.
    assert disk.evaluated(3, 8.0) == (8.0, (2, 7.0), 1)
    with pytest.raises(CommandFailed) as failure:
        disk.finish()
    assert str(failure.value) == (
        "The best model, of step 2 with a held-out perplexity of 7.0, was not written: "
        "its weights are lost, unless training continues to better ones. What is left: "
        "no checkpoint and a model with held-out perplexity 8.0."
    )


def test_a_better_model_makes_up_for_a_lost_one(disk):
    disk.evaluated(1, 9.0, full=True)
    assert disk.evaluated(2, 8.0) == (8.0, None, 0)
    disk.finish()


def test_the_last_model_is_written_when_there_is_room_again(disk, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "elmo_keras.training.keeping.save", lambda *args: saved.append(args)
    )
    disk.evaluated(5, 9.0, full=True)
    with pytest.raises(CommandFailed, match="make room, and give the same command"):
        disk.finish()
    disk.run.progress.unwritten = [5, 9.0]  # as read from a checkpoint
    disk.full = False
    disk.finish()
    progress = disk.run.progress
    assert (progress.best, progress.unwritten, disk.models) == (9.0, None, [5])
    assert len(saved) == 1
