"""Embedding by LiteRT, in programs and by commands, without TensorFlow."""

import errno
import os
import pickle
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

from elmo_keras import Embedder
from elmo_keras.embed.engines import litert
from elmo_keras.formats.model_directory import save_model
from elmo_keras.hub.cache import remove_converted
from elmo_keras.lite.lite_file import LiteFile, read_lite, write_lite
from tests.support.commands import command
from tests.support.exported import elmo_layer
from tests.support.paths import ROOT

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")

SENTENCES = ["A short sentence .", "", ["Two", "tokens"], "한국어 🙂"]


@pytest.fixture(scope="module")
def exact(lite_file):
    """The path of a file of the same model, with float32 arithmetic."""
    return lite_file("float32")


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ELMO_KERAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_model_is_converted_once(model_directory, exact, cache, monkeypatch):
    first = Embedder(model_directory, arithmetic="int8")
    expected = first(SENTENCES)
    files = [*cache.rglob("*.tflite")]
    assert len(files) == 1
    again = pickle.loads(pickle.dumps(Embedder(model_directory, arithmetic="int8")))
    for a, b in zip(again(SENTENCES), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert again == first
    others = {Embedder(model).fingerprint for model in (model_directory, exact)}
    assert len(others | {first.fingerprint}) == 3
    # A file of another model in its place is made again, without a trace.
    shutil.copy(exact, files[0])
    assert Embedder(model_directory, arithmetic="int8") == first
    (model_directory / "weights.hdf5").touch()  # the content is the same
    monkeypatch.setattr(litert, "_convert", None)
    assert Embedder(model_directory, arithmetic="int8") == first


CONVERT = """
import os, pathlib, sys
from elmo_keras.embed.engines import litert
model, go, replace = sys.argv[1:]
if replace == "dies":
    os.replace = lambda *_: os._exit(9)
print("ready", flush=True)
while not os.path.exists(go):
    pass
litert.read_litert(model, None, "float32", 1)
sys.exit("elmo_keras.lite.convert" in sys.modules)
"""


def test_processes_that_start_together_convert_once_also_after_one_was_killed(
    model_directory, cache, tmp_path
):
    def start(replace):
        command = [sys.executable, "-c", CONVERT, model_directory, tmp_path / "go"]
        return subprocess.Popen([*command, replace], cwd=ROOT, stdout=subprocess.PIPE)

    (tmp_path / "go").touch()
    with start("dies") as killed:
        assert killed.wait() == 9
    assert [p.name[0] for p in cache.rglob("*.tflite")] == ["."]  # no whole file
    (tmp_path / "go").unlink()
    with start("works") as first, start("works") as second:
        for process in (first, second):
            process.stdout.readline()
        (tmp_path / "go").touch()
        assert sorted([first.wait(), second.wait()]) == [0, 1]
    assert len([*cache.rglob("*.tflite")]) == 1


def full_disk(path, file):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("reason", ["Not a directory", "No space left on device"])
def test_a_cache_that_cannot_be_written_costs_a_line(
    model_directory, cache, monkeypatch, capsys, reason
):
    expected = Embedder(model_directory, arithmetic="int8")(SENTENCES)
    remove_converted()
    if "directory" in reason:
        shutil.rmtree(cache)
        cache.write_text("a file in its place")
    else:
        monkeypatch.setattr(litert, "write_lite", full_disk)
    capsys.readouterr()
    for a, b in zip(Embedder(model_directory, arithmetic="int8")(SENTENCES), expected):
        np.testing.assert_array_equal(a, b)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{model_directory} is converted at each start. {reason}")
    assert not [*cache.rglob("*.tflite")]


def test_the_models_that_were_used_last_stay_in_the_cache(cache, model_directory):
    for arithmetic in ("float32", "int8"):
        litert.read_litert(model_directory, None, arithmetic, 1)
    files = {p.name.split("-")[1]: p for p in (cache / "litert").glob("*.tflite")}
    for file in files.values():
        os.utime(file, (0, 0))
    litert.read_litert(model_directory, None, "float32", 1)
    sizes = {name: file.stat().st_size for name, file in files.items()}
    assert remove_converted(sum(sizes.values())) == 0
    assert remove_converted(1) == sizes["int8"]  # the last one stays, whatever its size
    assert files["float32"].exists() and not files["int8"].exists()


def test_models_with_equal_names_sizes_and_times_are_two(cache, tmp_path):
    vectors = []
    for parent in ("a", "b"):
        folder = tmp_path / parent / "model"
        save_model(folder, elmo_layer(seed=ord(parent)).bilm)
        for file in folder.iterdir():
            os.utime(file, (0, 0))
        vectors.append(Embedder(folder, arithmetic="int8")("One sentence .".split()))
    assert not np.array_equal(*vectors)


def test_the_command_writes_the_file_of_a_layer(elmo_with_mix, exact, tmp_path):
    words = keras.Input((None,), dtype="string")
    keras.Model(words, elmo_with_mix(words)).save(tmp_path / "m.keras")
    files, options = (tmp_path / "m.keras", tmp_path / "m.tflite"), "--format litert"
    options += " --arithmetic float32"
    assert command("export")([*files, *options.split()]) == 0
    assert files[1].read_bytes() == exact.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arithmetic": "int8"}, "exported with arithmetic float32. Received: int8"),
        ({"weights": "w.hdf5"}, "holds its weights"),
        ({"layers": "mix", "gamma": 1e39}, "should be finite in float32"),
    ],
)
def test_bad_settings(exact, arguments, message):
    with pytest.raises(ValueError, match=message):
        Embedder(exact, **arguments)


def with_config(**values):
    return lambda about: {"config": about["config"] | values}


@pytest.mark.parametrize(
    "change",
    [
        with_config(units=500),
        with_config(units=3),
        with_config(n_layers=3),
        with_config(max_characters_per_token=5),
        with_config(other=1),
        lambda about: {"config": None},
        lambda about: {"mix": {"mix": [1.0], "gamma": 1.0, "layer_norm": False}},
        lambda about: {"mix": about["mix"] | {"gamma": float("nan")}},
    ],
)
def test_a_file_whose_parts_do_not_fit_each_other_is_refused(exact, tmp_path, change):
    """Its checksums are right: LiteRT would compute other numbers."""
    file = read_lite(exact)
    about = dict(file.metadata) | change(file.metadata)
    write_lite(tmp_path / "m.tflite", LiteFile(about, file.graphs, file.arrays))
    with pytest.raises(ValueError, match="is not a whole|has other inputs"):
        Embedder(tmp_path / "m.tflite")(SENTENCES)


def test_nan_in_the_characters_of_a_file_is_refused(exact, tmp_path):
    file = read_lite(exact)
    file.arrays["characters"][7, 1] = np.nan
    write_lite(tmp_path / "m.tflite", file)
    with pytest.raises(ValueError, match="`characters` should hold finite numbers"):
        Embedder(tmp_path / "m.tflite")
