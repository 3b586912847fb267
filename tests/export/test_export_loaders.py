"""All programs that load the export, each with its difference from the layer."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.version_directory import write_archive
from tests.support import file_server
from tests.support.cpp_program import lines_of_cpp_program, run
from tests.support.exported import SENTENCES, expected, padded

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore:pkg_resources:UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_code_for_google_elmo_with_another_handle(
    exported_version, check, tmp_path, monkeypatch
):
    hub = pytest.importorskip("tensorflow_hub")
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    archive = write_archive(exported_version)
    with file_server.serving() as server:
        server.files["/elmo.tar.gz?tf-hub-format=compressed"] = archive.read_bytes()
        elmo = hub.load(f"{server.address}/elmo.tar.gz").signatures
    vectors = elmo["default"](tf.constant(SENTENCES))["elmo"]
    check("hub.load", vectors.numpy())
    check("hub.load, tokens", elmo["tokens"](**padded())["elmo"].numpy())


def test_saved_model_cli(exported_version, check, tmp_path):
    np.savez(tmp_path / "in.npz", sentences=np.array([s.encode() for s in SENTENCES]))
    command = "-m tensorflow.python.tools.saved_model_cli run --tag_set serve".split()
    command += ["--signature_def", "default", "--dir", exported_version]
    command += ["--inputs", f"sentences={tmp_path / 'in.npz'}[sentences]"]
    run(sys.executable, *command, "--outdir", tmp_path)
    check("saved_model_cli", np.load(tmp_path / "elmo.npy"))


def test_a_cpp_program_as_tensorflow_serving_loads_it(
    exported_version, exported_elmo, check, tmp_path
):
    printed = lines_of_cpp_program(tmp_path, exported_version, "elmo", *SENTENCES)
    values = np.array(printed, "float32")
    check("C++, LoadSavedModel", values.reshape(expected(exported_elmo)["elmo"].shape))
