"""The newest version of a directory answers, and changes without a gap."""

import shutil
import threading

import numpy as np
import pytest

from elmo_keras.serve.config import Config, ModelConfig
from elmo_keras.serve.servable import WARM_UP, SavedModelServable
from elmo_keras.serve.versions import State, Versions
from tests.support import stand_in
from tests.support.waiting import PATIENCE, wait_until


def versions_in(directory, *policy, name="elmo"):
    return Versions(ModelConfig(name, directory, *policy), Config())


def answer(servable):
    """The first value for the token `a`, which is the version's scale."""
    signature = servable.signature("")
    inputs = {"sentences": np.array([b"a"], object)}
    return servable.run(signature, inputs, ("elmo",))["elmo"][0, 0, 0]


def newest(versions):
    with versions.lease() as servable:
        return answer(servable)


def test_the_newest_version_is_picked_by_number(tmp_path, caplog):
    stand_in.save(tmp_path, 9)
    stand_in.save(tmp_path, 10, scale=2)
    (tmp_path / "11").mkdir()  # not complete
    (tmp_path / "12").symlink_to("nowhere")
    (tmp_path / "latest").mkdir()
    (tmp_path / "10" / "notes").symlink_to("nowhere")  # nobody reads it
    versions = versions_in(tmp_path, name="mine")
    versions.refresh()
    with versions.lease() as servable:
        assert (servable.version, answer(servable)) == (10, 2)
    lines = [r.message for r in caplog.records if r.levelname == "ERROR"]
    assert lines == [
        f"mine: version {version} can't be loaded: it lacks saved_model.pb"
        for version in (12, 11)
    ]
    with pytest.raises(ValueError, match="11: .*it lacks saved_model.pb"):
        versions_in(tmp_path, 1, frozenset([11]))


def test_a_new_version_answers_and_the_old_one_is_unloaded_after_its_requests(tmp_path):
    versions = versions_in(stand_in.save(tmp_path, 1))
    versions.refresh()
    with versions.lease() as old:
        stand_in.save(tmp_path, 2, scale=2)
        change = threading.Thread(target=versions.refresh)
        change.start()
        wait_until(lambda: versions.statuses()[1].state == State.UNLOADING)
        assert newest(versions) == 2
        assert answer(old) == 1
    change.join(PATIENCE)
    states = {version: status.state for version, status in versions.statuses().items()}
    assert states == {2: State.AVAILABLE, 1: State.END}
    with pytest.raises(RuntimeError, match="closed"):
        answer(old)


@pytest.mark.parametrize(
    ("missing", "is_link"),
    [("variables", False), ("variables/variables.index", True)],
)
def test_a_broken_version_is_reported_until_it_is_whole(
    tmp_path, caplog, missing, is_link
):
    """A file may still be copied, or be a link to nothing. The old version answers."""
    versions = versions_in(stand_in.save(tmp_path, 1))
    path = stand_in.save(tmp_path, 2, scale=2) / "2" / missing
    shutil.move(path, tmp_path / "elsewhere")
    if is_link:
        path.symlink_to(tmp_path / "not yet")
    versions.refresh()
    assert newest(versions) == 1
    status = versions.statuses()[2]
    assert status.state == State.END and status.status.error_message
    assert str(tmp_path) not in status.status.error_message  # clients read it
    assert "version 2 can't be loaded" in caplog.text
    caplog.clear()
    versions.refresh()
    assert not caplog.text  # tried once
    shutil.move(tmp_path / "elsewhere", tmp_path / "not yet" if is_link else path)
    versions.refresh()
    assert newest(versions) == 2


def test_a_version_whose_warm_up_fails_is_broken(tmp_path):
    versions = versions_in(stand_in.save(tmp_path, 1, warm_up=["a", "b c"]))
    stand_in.save(tmp_path, 2, warm_up=["bad"])
    versions.refresh()
    assert "a bad token" in versions.statuses()[2].status.error_message
    (tmp_path / "1" / WARM_UP).write_bytes(b"no records" * 9)
    with versions.lease() as old, pytest.raises(Exception, match="corrupted|truncated"):
        old.warm_up()


def test_the_version_before_answers_when_the_newest_disappears(tmp_path):
    stand_in.save(tmp_path, 1)
    versions = versions_in(stand_in.save(tmp_path, 2, scale=2))
    shutil.rmtree(tmp_path / "2")
    versions.refresh()
    assert newest(versions) == 1
    shutil.rmtree(tmp_path / "1")
    versions.refresh()
    assert newest(versions) == 1


def test_the_memory_of_many_choices_of_outputs_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("elmo_keras.serve.servable.MAX_CHOICES", 2)
    servable = SavedModelServable(stand_in.save(tmp_path) / "1")
    signature = servable.signature("")
    inputs = {"sentences": np.array([b"a"], object)}
    for keys in (("elmo",), ("default",), ("layers",), ("elmo",), ("elmo", "layers")):
        assert tuple(servable.run(signature, inputs, keys)) == keys
    assert len(servable._choices) == 2
