"""Damaged files of every layout: each is loaded, or refused in one line, within bounds."""

import copy
import json
import shutil
from random import Random

import keras
import pytest

from elmo_keras import Elmo
from elmo_keras.formats.keras_files import load_keras_model
from elmo_keras.formats.model_directory import find_model, save_model
from tests.formats.conftest import VOCABULARY, contents, tarred, zipped
from tests.support.many_langs_models import model_files, write_files
from tests.support.models import random_bilm
from tests.support.processes import takes_less_than
from tests.support.sizes import CONFIG
from tests.support.tf1_checkpoints import arrays, write_model

NUMBERS = 0, 1, 2**15, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1
NESTED = "NESTED"  # stands for 100,000 lists in each other, which `json` can't write
VALUES = None, True, "", "x" * 10_000, [], {}, [1], {"dim": 1}, -1, 2**31, 10**400, 0.5
VALUES += float("nan"), float("inf"), NESTED


def damaged(content, random):
    """The content with one to three damages."""
    content = bytearray(content)
    for _ in range(random.randint(1, 3)):
        start, other = random.randrange(len(content) or 1), random.randrange(10**6)
        size = random.choice((1, 4, 8, 64, 512))
        match random.randrange(5):
            case 0:
                content[start : start + 1] = bytes([random.randrange(256)])
            case 1:
                del content[start:]
            case 2:
                del content[start : start + size]
            case 3:
                content[start : start + size] = content[other % (start + 1) :][:size]
            case 4:
                content[start : start + 8] = random.choice(NUMBERS).to_bytes(
                    8, "little"
                )
    return bytes(content)


def damaged_json(content, random):
    """JSON with some values replaced or removed."""
    tree = json.loads(content)
    for _ in range(random.randint(1, 3)):
        node = tree
        key = random.choice([*node])
        while isinstance(node[key], dict) and node[key] and random.random() < 0.8:
            node = node[key]
            key = random.choice([*node])
        if random.random() < 0.2 and len(node) > 1:
            del node[key]
        else:
            node[key] = copy.deepcopy(random.choice(VALUES))
    return json.dumps(tree).replace(f'"{NESTED}"', "[" * 10**5 + "]" * 10**5).encode()


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder with a small model in each layout."""
    folder = tmp_path_factory.mktemp("sound")
    config = CONFIG
    bilm = random_bilm(config, len(VOCABULARY))
    save_model(folder / "own", bilm, VOCABULARY)
    zipped(folder / "m.zip", contents(folder / "own"))
    tarred(folder / "m.tar.gz", folder / "own", "model")
    write_model(folder / "tf1", arrays())
    for name in "torch", "torch_of_2018":
        write_files(folder / name, model_files(legacy=name != "torch"))
    tokens = keras.Input((None,), dtype="string")
    keras.Model(tokens, Elmo(config)(tokens)).save(folder / "m.keras")
    return folder


def load(path, folder):
    """Loads all that the model of a damaged file holds."""
    if path.suffix == ".keras":
        return load_keras_model(path)
    files = find_model(folder if folder.name in LAYOUTS else path)
    for dataset in files.datasets.values():
        dataset[...]
    return files.bilm() if folder.name == "own" else files.vocabulary


LAYOUTS = "own", "tf1", "torch", "torch_of_2018"


# Files, their damages, and the seeds of eight that reach every line that sixty reach.
ROWS = [
    ("own/options.json", damaged_json, (0, 1, 2, 4, 5, 8, 9, 54)),
    ("own/weights.hdf5", damaged, (0, 2, 3, 5, 6, 10, 16, 30)),
    ("own/training/softmax.hdf5", damaged, (0, 1, 2, 3, 4, 5, 7, 9)),
    ("m.zip", damaged, range(8)),
    ("m.tar.gz", damaged, (0, 1, 2, 3, 4, 5, 6, 36)),
    ("m.keras", damaged, range(8)),
    ("tf1/model.ckpt-9.index", damaged, range(8)),
    ("tf1/model.ckpt-9.data-00000-of-00001", damaged, range(9)),
    ("torch/encoder.pkl", damaged, range(8)),
    ("torch_of_2018/token_embedder.pkl", damaged, (0, 1, 2, 6, 8, 16, 46, 58)),
]
ROWS += [
    pytest.param(name, damage, range(60), marks=pytest.mark.nightly)
    for name, damage, _ in ROWS
]


@pytest.mark.filterwarnings("ignore")  # of vocabularies, and of Keras
@pytest.mark.parametrize(("name", "damage", "seeds"), ROWS)
def test_a_damaged_file_is_loaded_or_refused_in_one_line(
    name, damage, seeds, sound, tmp_path
):
    shutil.copytree(sound, tmp_path / "model")
    path, content = tmp_path / "model" / name, (sound / name).read_bytes()
    load(path, path.parents[name.count("training")])
    refused = 0
    with takes_less_than(megabytes=500):
        for seed in seeds:
            path.write_bytes(damage(content, Random(seed)))
            try:
                load(path, path.parents[name.count("training")])
            except (ValueError, OSError) as error:
                line = " ".join(str(error).split())
                assert 0 < len(line) < 5000, seed
                refused += 1
    assert refused > len(seeds) // 4
