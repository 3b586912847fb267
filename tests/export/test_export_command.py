"""The command that exports, and the files that it writes beside the graph."""

import errno
import json
import shutil
import tarfile

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, find_model
from elmo_keras.export.command import Choices, mix_of_layers
from elmo_keras.export.version_directory import write_archive, write_serving_files
from elmo_keras.export.version_paths import export_metadata
from elmo_keras.formats.options import to_options
from tests.support.commands import command
from tests.support.exported import SENTENCES, TOKENS, elmo_layer

main = command("export")


def test_a_version_describes_itself(exported_version, exported_elmo):
    info = export_metadata(exported_version)
    assert info["options"] == json.loads(json.dumps(to_options(exported_elmo.config)))
    weights = exported_elmo.mixes[0].layer_weights()
    np.testing.assert_allclose(info["mix"]["layer_weights"], weights, atol=1e-7)
    assert info["signatures"]["tokens"]["inputs"] == {
        "tokens": {"dtype": "string", "shape": [None, None]},
        "sequence_len": {"dtype": "int32", "shape": [None]},
    }
    layers = info["signatures"]["default"]["outputs"]["layers"]
    assert layers["shape"] == [None, 3, None, 10]


@pytest.fixture(scope="module")
def keras_model(tmp_path_factory):
    """A saved model with two layers, and the second of them."""
    elmo = elmo_layer(name="second", seed=1, layer_norm=True, dropout=0.5, l2=0.25)
    entry = keras.Input((None,), dtype="string")
    model = keras.Model(entry, [elmo_layer(name="first")(entry), elmo(entry)])
    path = tmp_path_factory.mktemp("model") / "tagger.keras"
    model.save(path)
    return path, elmo


def test_a_failing_export_with_a_mix_is_one_line_and_leaves_no_files(
    model_directory, tmp_path, capsys, monkeypatch
):
    def full(elmo, *_, **__):
        weights = elmo.mixes[0].scalars.numpy().tolist(), float(elmo.mixes[0].gamma)
        assert weights == ([1, 0, -1], 2)
        raise tf.errors.ResourceExhaustedError(None, None, "No space\nleft")

    monkeypatch.setattr("elmo_keras.export.version_directory.make_saved_model", full)
    mix = "--mix", "1,0,-1", "--gamma", "2"
    assert main([str(model_directory), str(tmp_path), *mix]) == 1
    assert capsys.readouterr().err == "elmo-keras export: No space left\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"layers": "top"},
        {"layers": 1, "gamma": 2.0},
        {"layers": "average", "layer_norm": True},
        {"mix": [1.0, 0.0, -1.0], "gamma": 0.5},
    ],
)
def test_the_mix_of_a_file_for_litert_is_that_of_the_layer(chosen, model_directory):
    mix = mix_of_layers(Choices(**chosen), find_model(model_directory))
    expected = Elmo.from_pretrained(model_directory, **chosen).mixes[0].values()
    assert mix.pop("mix") == pytest.approx(expected.pop("mix"), abs=1e-7)
    assert mix == expected


@pytest.mark.journey
def test_a_layer_of_a_keras_model_is_the_next_version_with_its_archive(
    keras_model, tmp_path
):
    path, elmo = keras_model
    (tmp_path / "7").mkdir()
    options = "--layer", "second", "--no-warmup", "--archive"
    assert main([str(path), str(tmp_path), *options]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["7", "8", "elmo-8.tar.gz"]
    mix = export_metadata(tmp_path / "8")["mix"]
    assert (mix["dropout"], mix["l2"], mix["layer_norm"]) == (0.5, 0.25, True)
    loaded = tf.saved_model.load(str(tmp_path / "8"))
    vectors = loaded(tf.constant(SENTENCES), as_dict=True)["elmo"]
    np.testing.assert_allclose(vectors, elmo(TOKENS), atol=1e-6)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ("model", "Give either MODEL and OUT, or OUT, --options and --weights"),
        ("MODEL out --mix 1,2", "The mix should have 3 weights"),
        ("MODEL out --layer elmo", "--layer is not for a MODEL that is no .keras file"),
        ("MODEL out --representation 1", "should be an integer from 0 to 0"),
        ("MODEL out --layers all", "Must be mix, average, top, or a number"),
        ("nowhere.keras out", "There is no nowhere.keras"),
        ("KERAS out", "It has: ['first', 'second']"),
        ("KERAS out --layer second --l2 1", "--l2 is not for a .keras MODEL"),
        ("MODEL taken.tflite --format litert", "taken.tflite exists"),
        ("MODEL out --format litert", "should end in .tflite"),
        ("MODEL o.tflite --format litert --archive", "--archive is not for --format"),
    ],
)
def test_wrong_input_leaves_no_version(
    model_directory, keras_model, tmp_path, monkeypatch, error_of, arguments, expected
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.tflite").touch()
    paths = {"MODEL": model_directory, "KERAS": keras_model[0]}
    assert expected in error_of(main, [paths.get(a, a) for a in arguments.split()])
    assert not list(tmp_path.glob("out/*"))


def test_a_file_beside_the_versions_is_whole_or_missing(tmp_path, monkeypatch):
    """Also the file of a process that was killed is no obstacle to the next one."""
    model = tmp_path / "1" / "saved_model.pb"
    model.parent.mkdir()
    model.write_bytes(b"x" * 100)

    def full(source, target, *_, **__):
        getattr(target, "write_bytes", lambda _: None)(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        patch.setattr(tarfile, "copyfileobj", full)
        for write, path in (
            (write_archive, model.parent),
            (write_serving_files, tmp_path),
        ):
            with pytest.raises(OSError, match="No space left"):
                write(path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [model]
    files = write_archive(model.parent), *write_serving_files(tmp_path).iterdir()
    assert all(path.stat().st_size for path in files)


def test_the_serving_files_name_the_model_and_keep_changes(tmp_path):
    config = pytest.importorskip("tensorflow_serving.config.model_server_config_pb2")
    from google.protobuf import text_format

    (tmp_path / "serving").mkdir()
    (tmp_path / "serving" / "batching.config").write_text("mine")
    folder = write_serving_files(tmp_path)
    text = (folder / "models.config").read_text()
    (model,) = text_format.Parse(
        text, config.ModelServerConfig()
    ).model_config_list.config
    assert (model.name, model.base_path) == ("elmo", "/models/elmo")
    assert (folder / "batching.config").read_text() == "mine"
    for name in ("compose.yaml", "kubernetes.yaml"):
        assert "/models/elmo/serving/models.config" in (folder / name).read_text()
