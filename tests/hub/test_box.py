"""The models that come with the package."""

import hashlib
import re

import pytest

from elmo_keras.formats.model_directory import find_model
from elmo_keras.hub.catalogue import CARD, SOFTMAX, VOCABULARY, WEIGHTS, catalogue

BOX = [model for model in catalogue() if model.in_package]
FILE = r"^\| `(\S+)` \| ([\d,]+) \| `(\w{64})` \|$"


@pytest.mark.parametrize("model", BOX, ids=[model.name for model in BOX])
def test_the_files_are_those_of_the_card(model):
    folder = model.in_package
    card = (folder / CARD).read_text(encoding="utf-8")
    stated = {name: rest for name, *rest in re.findall(FILE, card, re.M)}
    assert {WEIGHTS, SOFTMAX, VOCABULARY} < stated.keys()
    contents = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != CARD
    }
    actual = {
        name: [f"{len(content):,}", hashlib.sha256(content).hexdigest()]
        for name, content in contents.items()
    }
    assert actual == stated
    size = sum(map(len, contents.values())) / 1e6
    assert size == pytest.approx(model.megabytes, abs=0.5)
    assert f"license: {model.licence.lower().replace(' ', '-')}" in card
    files = find_model(model.name)
    stated = re.search(r"softmax over ([\d,]+) words", card)
    assert files.has_softmax and f"{len(files.vocabulary):,}" == stated[1]


def test_all_models_of_the_box_fit_a_wheel():
    assert sum(model.megabytes for model in BOX) < 45
