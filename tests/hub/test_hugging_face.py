"""Models of repositories at Hugging Face, from and to a hub on this machine."""

import hashlib
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import huggingface_hub
import pytest
from huggingface_hub import CommitOperationDelete, ModelCard, constants

from elmo_keras import find_model, push_to_hub
from elmo_keras.heads.find import find_head
from elmo_keras.hub.catalogue import MAX_OPTIONS
from elmo_keras.hub.local_files import local_files
from tests.support.heads import make_head
from tests.support.paths import ROOT, contents

TOKEN = "hf_secret"
FIRST = "a" * 40  # a commit


@pytest.fixture
def files(model_directory):
    """Name → content of a tiny model."""
    names = "options.json", "weights.hdf5"
    return {name: (model_directory / name).read_bytes() for name in names}


def publish(server, files, commit=FIRST, revision="main", *, at="/owner/name"):
    """Publishes name → content as a commit, and as a branch or tag."""
    for path in [*server.files]:
        if path.startswith(f"{at}/resolve/{revision}/"):
            del server.files[path]
    for name, content in files.items():
        for version in revision, commit:
            path = f"{at}/resolve/{version}/{quote(name)}"
            server.files[path] = content
            server.headers[path] = {"X-Repo-Commit": commit}


class Api:
    """The methods of `HfApi` that `push_to_hub` calls; they publish on the server."""

    def __init__(self, server):
        self.server, self.trees, self.private = server, {}, set()

    def create_repo(self, repository, *, private, exist_ok):
        if repository not in self.trees and private:
            self.private.add(repository)
        self.trees.setdefault(repository, {})

    def list_repo_files(self, repository):
        return [*self.trees[repository]]

    def create_commit(self, repository, changes, *, commit_message):
        tree = self.trees[repository]
        for change in changes:
            if isinstance(change, CommitOperationDelete):
                del tree[change.path_in_repo]
            else:
                with change.as_file() as file:
                    tree[change.path_in_repo] = file.read()
        commit = hashlib.sha1(repr(tree).encode()).hexdigest()
        publish(self.server, tree, commit, at=f"/{repository}")
        return SimpleNamespace(oid=commit)


@pytest.fixture
def hub(server, files, monkeypatch):
    """A server that is the hub, with the tiny model as owner/name."""
    publish(server, files)
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    return server


@pytest.fixture
def api(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    api = Api(hub)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda *_, **__: api)
    return api


def test_options_and_weights_are_downloaded_once_to_the_cache_of_the_hub(
    hub, files, hub_cache, model_directory
):
    for _ in range(2):
        folder, none = local_files("hf://owner/name")
        assert contents(folder) == files and none is None
        assert hub_cache in folder.parents and folder.name == FIRST
    assert sum("/resolve/" in path for path in hub.requests) == 2
    model = find_model("hf://owner/name")
    assert model.options == find_model(model_directory).options


def test_files_of_other_names_and_archives_are_named(hub, files):
    options, weights = files.values()
    named = {"en/x_options.json": options, "en/x_weights.hdf5": weights, "b.zip": b"b"}
    publish(hub, named)
    paths = local_files("hf://owner/name/en/x_options.json")
    assert [path.read_bytes() for path in paths] == [options, weights]
    paths = local_files(*(f"hf://owner/name/{name}" for name in list(named)[:2]))
    assert [path.read_bytes() for path in paths] == [options, weights]
    path, none = local_files("hf://owner/name/b.zip")
    assert path.read_bytes() == b"b" and none is None


def test_a_mirror_is_asked_in_place_of_the_hub_and_offline_the_cache(
    mirror, files, monkeypatch
):
    publish(mirror, files, at="/huggingface.co/owner/name")
    paths = local_files("hf://owner/name")
    assert contents(paths[0]) == files
    monkeypatch.setenv("ELMO_KERAS_OFFLINE", "1")
    mirror.files.clear()
    assert local_files("hf://owner/name") == paths
    with pytest.raises(FileNotFoundError, match="is not in the cache .* forbids down"):
        local_files("hf://owner/other")


OPTIONS = "/owner/name/resolve/main/options.json"


def test_a_hub_that_refuses_is_said_with_the_address(hub):
    hub.statuses[OPTIONS] = 403
    address = "hf://owner/name/options.json"
    with pytest.raises(ConnectionError, match=f"{address} could not be"):
        local_files("hf://owner/name")


MIX = b'{"scalars": [1, 2, 3], "gamma": 1}'


def test_a_model_is_pushed_and_comes_back_byte_for_byte(
    api, files, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    first = files | {"vocab.txt": b"a\n", "mix.json": MIX}
    first["training/softmax.hdf5"] = 10_000 * b"softmax"
    perplexity = "as `Elmo` reads it: forward 49.3, backward 46.5, mean 47.9"
    others = {"model_card.md": perplexity.encode(), "training/checkpoint": b"large"}
    Path("my_model", "training").mkdir(parents=True)
    for name, content in (first | others).items():
        Path("my_model", name).write_bytes(content)
    names = {}
    page = (ROOT / "docs/pages/how-to/push.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(code, names)
    assert api.private == {"me/my_model"}
    card = ModelCard(api.trees["me/my_model"]["README.md"].decode())
    assert names["metadata"].items() <= card.data.to_dict().items()
    (result,) = card.data.eval_results
    assert (result.metric_type, result.metric_value) == ("perplexity", 47.9)
    assert card.text.strip() == perplexity
    second = files | {"weights.hdf5": b"second", "vocab.txt": b"b\n"}
    for name in first.keys() - second.keys():
        Path("my_model", name).unlink()
    for name, content in second.items():
        Path("my_model", name).write_bytes(content)
    assert push_to_hub("my_model", "me/my_model") != names["address"]
    assert contents(local_files(names["address"])[0]) == first
    assert contents(local_files("hf://me/my_model")[0]) == second


def test_what_can_not_be_pushed_is_said_before_anything_is_sent(
    api, model_directory, monkeypatch
):
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(ValueError, match="needs a token: set HF_TOKEN"):
        push_to_hub(model_directory, "me/my_model")
    monkeypatch.setenv("ELMO_KERAS_OFFLINE", "1")
    with pytest.raises(ConnectionError, match="ELMO_KERAS_OFFLINE forbids it"):
        push_to_hub(model_directory, "me/my_model")
    assert not api.trees


@pytest.mark.parametrize("size", ["1,048,577", "an unknown number"])
def test_a_file_above_the_bound_of_its_kind_is_refused_before_it_is_downloaded(
    hub, size
):
    if size == "1,048,577":
        hub.headers[OPTIONS]["X-Linked-Size"] = str(MAX_OPTIONS + 1)
    else:
        hub.headers[OPTIONS]["Content-Length"] = ""
    with pytest.raises(ValueError, match=f"at most 1,048,576 bytes. It has {size}"):
        local_files("hf://owner/name")
    assert not hub.requests


def test_a_head_is_pushed_and_found_by_its_address(api, model_directory, tmp_path):
    head = make_head("srl", model_directory, tmp_path)
    with pytest.raises(ValueError, match="Push that one first, and train the head"):
        push_to_hub(head, "me/roles")
    for card in head.rglob("head.json"):
        card.write_text(card.read_text().replace(str(model_directory), "hf://me/lm"))
    (head / "model_card.md").write_text("# roles\n")
    address = push_to_hub(head, "me/roles", language="en")
    assert {*api.trees["me/roles"]} == {"README.md", *contents(head)} - {
        "model_card.md"
    }
    (head / "model_card.md").unlink()
    assert contents(find_head(address)) == contents(head)
    plain = head / "predicates"
    push_to_hub(model_directory, "me/roles")
    assert {*api.trees["me/roles"]} == {"README.md", *contents(model_directory)}
    push_to_hub(plain, "me/roles")
    assert {*api.trees["me/roles"]} == {"README.md", *contents(plain)}
