"""All programs that load the export, each with its difference from the layer."""

import contextlib
import http.server
import shutil
import sys
import threading
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from export.version_directory import write_archive
from tests.support.cpp_program import answers_to_requests, run, values_of_cpp_program
from tests.support.exported import SENTENCES, STRINGS, expected, padded

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def served_over_http(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.filterwarnings("ignore:pkg_resources:UserWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_code_for_google_elmo_with_another_handle(
    exported_version, check, tmp_path, monkeypatch
):
    hub = pytest.importorskip("tensorflow_hub")
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    archive = write_archive(exported_version)
    with served_over_http(archive.parent) as address:
        elmo = hub.load(f"{address}/{archive.name}").signatures
    vectors = elmo["default"](tf.constant(SENTENCES))["elmo"]
    check("hub.load", vectors.numpy())
    check("hub.load, tokens", elmo["tokens"](**padded())["elmo"].numpy())


def test_keras_tfsm_layer(exported_version, check):
    layer = keras.layers.TFSMLayer(
        str(exported_version), call_endpoint="serving_default"
    )
    model = keras.Model(entry := keras.Input(**STRINGS), layer(entry))
    vectors = model.predict(tf.constant(SENTENCES), verbose=0)["elmo"]
    check("keras.layers.TFSMLayer", vectors)


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
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    values = values_of_cpp_program(tmp_path, exported_version, SENTENCES)
    check("C++, LoadSavedModel", values.reshape(expected(exported_elmo)["elmo"].shape))


def test_a_cpp_program_refuses_columns_without_rows_at_once(exported_version, tmp_path):
    """What a request claims takes no memory, and few bytes can't ask for much."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    requests = {
        ("default", 1, 0): "answered",
        ("tokens", 0, 10**8): "refused",
        ("tokens", 0, 2**31): "refused",
        ("tokens", 201, 2000): "answered",
        ("default", 10_000, 0): "answered",
        ("default", 1, 10**7): "answered",  # spaces
    }
    answers = answers_to_requests(tmp_path, exported_version, requests)
    invalid = tf.errors.INVALID_ARGUMENT
    for wanted, (code, n_values, _) in zip(requests.values(), answers, strict=True):
        assert code == {"answered": tf.errors.OK, "refused": invalid}[wanted]
        assert (n_values > 0) == (wanted == "answered")
    megabytes = [peak for *_, peak in answers]
    assert megabytes[2] - megabytes[0] < 200
    assert megabytes[-1] - megabytes[0] < 1000
