"""All programs that load the export, each with its difference from the layer."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.version_directory import write_archive
from tests.support import file_server
from tests.support.cpp_program import lines_of_cpp_program, run, values_of_cpp_program
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
    values = values_of_cpp_program(tmp_path, exported_version, SENTENCES)
    check("C++, LoadSavedModel", values.reshape(expected(exported_elmo)["elmo"].shape))


def test_a_cpp_program_refuses_columns_without_rows_at_once(exported_version, tmp_path):
    """What a request claims takes no memory, and few bytes can't ask for much."""
    requests = {
        ("default", 1, 0): "answered",
        ("tokens", 0, 10**8): "refused",
        ("tokens", 0, 2**31): "refused",
        ("tokens", 201, 2000): "answered",
        ("default", 10_000, 0): "answered",
        ("default", 1, 10**7): "answered",  # spaces
    }
    arguments = [str(x) for request in requests for x in request]
    printed = lines_of_cpp_program(tmp_path, exported_version, "", *arguments)
    answers = [tuple(map(int, line.split())) for line in printed]
    invalid = tf.errors.INVALID_ARGUMENT
    for wanted, (code, n_values, _) in zip(requests.values(), answers, strict=True):
        assert code == {"answered": tf.errors.OK, "refused": invalid}[wanted]
        assert (n_values > 0) == (wanted == "answered")
    megabytes = [peak for *_, peak in answers]
    assert megabytes[2] - megabytes[0] < 200
    assert megabytes[-1] - megabytes[0] < 1000
