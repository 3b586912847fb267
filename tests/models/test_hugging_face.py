"""Models of repositories at Hugging Face, from a hub on this machine."""

import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

from elmo_keras import find_model
from elmo_keras.models.__main__ import main
from elmo_keras.models.local_files import local_files
from tests.support.file_server import status

FIRST, SECOND = "a" * 40, "b" * 40  # commits


@pytest.fixture
def files(model_directory):
    """Name → content of a tiny model."""
    names = "options.json", "weights.hdf5"
    return {name: (model_directory / name).read_bytes() for name in names}


@pytest.fixture
def hub(server, files, monkeypatch):
    """A server that is the hub, with the tiny model as owner/name."""
    publish(server, files)
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    return server


def publish(hub, files, commit=FIRST, revision="main", base=""):
    """Publishes name → content as a commit of owner/name, and as a branch or tag."""
    for at in revision, commit:
        for name, content in files.items():
            path = f"{base}/owner/name/resolve/{at}/{name}"
            hub.files[path] = content
            hub.headers[path] = {"X-Repo-Commit": commit}


def test_options_and_weights_are_downloaded_once_to_the_cache_of_the_hub(
    hub, files, hub_cache, model_directory, monkeypatch
):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    for _ in range(2):
        options, weights = local_files("hf://owner/name")
        assert options.read_bytes() == files["options.json"]
        assert weights.read_bytes() == files["weights.hdf5"]
        assert hub_cache in options.parents and FIRST in weights.parts
    asked = [r.token for r in hub.requests if "/resolve/" in r.path]
    assert asked == 2 * ["Bearer hf_secret"]
    found = find_model("hf://owner/name")
    assert found.options == find_model(model_directory).options


def test_a_revision_is_a_branch_a_tag_or_a_commit(hub, files):
    publish(hub, {**files, "weights.hdf5": b"second"}, SECOND, "refs%2Fpr%2F1")
    for revision in "refs%2Fpr%2F1", SECOND:
        _, weights = local_files(f"hf://owner/name@{revision}")
        assert weights.read_bytes() == b"second"
    hub.files["/owner/name/resolve/main/weights.hdf5"] = b"of the next commit"
    assert local_files("hf://owner/name")[1].read_bytes() == files["weights.hdf5"]


def test_files_of_other_names_and_archives_are_named(hub, files):
    options, weights = files.values()
    named = {"en/x_options.json": options, "en/x_weights.hdf5": weights, "b.zip": b"b"}
    publish(hub, named)
    found = local_files("hf://owner/name/en/x_options.json")
    assert [path.read_bytes() for path in found] == [options, weights]
    found = local_files(*(f"hf://owner/name/{name}" for name in list(named)[:2]))
    assert [path.read_bytes() for path in found] == [options, weights]
    path, none = local_files("hf://owner/name/b.zip")
    assert path.read_bytes() == b"b" and none is None
    with pytest.raises(ValueError, match="should be hf://OWNER/NAME/FILE"):
        local_files("hf://owner/name", "hf://owner/name/en/x_weights.hdf5")
    with pytest.raises(ValueError, match="should name a repository, hf://OWNER/NAME"):
        local_files("hf://../..")


def test_a_mirror_is_asked_in_place_of_the_hub_and_offline_the_cache(
    mirror, files, monkeypatch
):
    publish(mirror, files, base="/huggingface.co")
    found = local_files("hf://owner/name")
    assert found[1].read_bytes() == files["weights.hdf5"]
    monkeypatch.setenv("ELMO_KERAS_OFFLINE", "1")
    mirror.files.clear()
    assert local_files("hf://owner/name") == found
    with pytest.raises(FileNotFoundError, match="is not in the cache .* forbids down"):
        local_files("hf://owner/other")


OPTIONS = "/owner/name/resolve/main/options.json"
MISSING = {OPTIONS: {"X-Error-Code": "RepoNotFound"}}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda hub: hub.files.clear() or hub.headers.update(MISSING), ""),
        (lambda hub: hub.headers.clear(), ".*X-Repo-Commit"),  # it is no hub
        (lambda hub: hub.fail(OPTIONS, *9 * [status(403)]), ".*403"),
    ],
)
def test_a_hub_that_refuses_is_said_with_the_address(spoil, message, hub, files):
    spoil(hub)
    address = "hf://owner/name/options.json"
    with pytest.raises(ConnectionError, match=f"{address} could not be.*{message}"):
        local_files("hf://owner/name")


def test_the_command_fetches_from_the_hub_and_says_who_removes_and_what_is_missing(
    hub, files, capsys, monkeypatch
):
    assert main(["fetch", "hf://owner/name"]) == 0
    folder = Path(capsys.readouterr().out.split(" is in ")[1].strip())
    assert (folder / "weights.hdf5").read_bytes() == files["weights.hdf5"]
    assert main(["remove", "hf://owner/name"]) == 2
    assert "`hf cache` manages that of Hugging Face" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"pip install 'elmo-keras\[hub\]'"):
        local_files("hf://owner/name")
