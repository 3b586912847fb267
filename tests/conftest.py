"""Fixtures for all tests, and two logical devices for the tests with replicas."""

import gc
import os
import shutil
import signal
from types import FunctionType

import filelock
import pytest

from tests.support.paths import DATA, ROOT
from tests.support.sizes import CONFIG

# TensorFlow is imported in functions: xdist's first process runs no tests.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if "PYTEST_XDIST_WORKER" in os.environ:
    # As many threads as processors in each worker wait for each other: a fifth of the time.
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
gc.disable()  # until all is imported, which takes a fifth longer with searches

# A doctest run would import the benchmarks, and so the other systems they need.
collect_ignore = ["benchmarks"]


def pytest_sessionstart(session):
    """Two logical devices in processes that run tests; xdist's first one runs none."""
    if session.config.getoption("dist", "no") == "no":
        import tensorflow as tf

        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 2
        )
        for gpu in tf.config.list_physical_devices("GPU"):
            part = tf.config.LogicalDeviceConfiguration(memory_limit=2048)  # MB
            tf.config.set_logical_device_configuration(gpu, [part] * 2)


def pytest_collection_finish():
    """Garbage is looked for among the objects of tests, not in what was imported."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def loaded_graphs_are_freed():
    """TensorFlow keeps each SavedModel that was loaded, 130 MB, by its gradients."""
    from tensorflow.python.framework import ops
    from tensorflow.python.saved_model import function_deserialization

    yield
    gradients = ops.gradient_registry._registry
    loaded = [
        name
        for name, entry in gradients.items()
        if entry["type"].__class__ is FunctionType
        and entry["type"].__module__ == function_deserialization.__name__
    ]
    for name in loaded:
        del gradients[name]
    if loaded:
        gc.collect()


@pytest.fixture
def data():
    """The path of a file of the real data; skips the test if it is missing."""

    def path(name):
        if not (DATA / name).exists():
            pytest.skip(f"needs {name} below ELMO_KERAS_DATA, which is {DATA}")
        return DATA / name

    return path


@pytest.fixture
def config():

    return CONFIG


@pytest.fixture(scope="session")
def model_directory(made_once):
    """The path `…/lm` of a model directory with random weights."""
    from elmo_keras.formats.model_directory import save_model
    from tests.support.models import random_bilm

    make = lambda path: save_model(path, random_bilm(CONFIG, seed=3))
    return made_once("models/lm", make)


@pytest.fixture(scope="session")
def exported_elmo():
    """The layer of `exported_version`."""
    from tests.support.exported import elmo_layer

    return elmo_layer(layer_norm=True, dropout=0.5, l2=0.25)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """Makes what tests only read, once for those of all workers; returns its path."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def path_of(name, make):
        path = folder / "shared" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder / name.replace('/', '-')}.lock"):
            if not path.exists():
                make(path)
        return path

    return path_of


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of the checkout."""
    import hatchling.build

    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return folder / hatchling.build.build_wheel(str(folder))


@pytest.fixture(scope="session")
def site(wheel, tmp_path_factory):
    """A folder with nothing but what the wheel holds."""
    folder = tmp_path_factory.mktemp("site")
    shutil.unpack_archive(wheel, folder, "zip")
    return folder


@pytest.fixture(scope="session")
def exported_version(exported_elmo, made_once):
    """One export for all tests that only read it."""
    from elmo_keras.export.version_directory import export_elmo

    return made_once("exports/1", lambda path: export_elmo(exported_elmo, path.parent))


@pytest.fixture(scope="session")
def elmo_with_mix(model_directory):
    """The layer of the model directory with a mix that is not the first one."""
    from elmo_keras import Elmo

    elmo = Elmo.from_pretrained(model_directory, layer_norm=True)
    elmo.mixes[0].assign(mix=[0.3, -0.2, 1.0], gamma=2.0)
    return elmo


@pytest.fixture(scope="session")
def lite_file(elmo_with_mix, made_once):
    """The path of a file for LiteRT of that layer, in an arithmetic."""
    from tests.support.models import convert_layer

    return lambda arithmetic: made_once(
        f"{arithmetic}.tflite",
        lambda path: convert_layer(elmo_with_mix, path, arithmetic),
    )


@pytest.fixture
def check(exported_elmo):
    """Compares vectors of `SENTENCES` with the layer's."""
    import numpy as np

    from tests.support.exported import expected

    def compare(name, vectors, output="elmo"):
        reference = expected(exported_elmo)[output].numpy()
        assert np.shape(vectors) == reference.shape
        np.testing.assert_allclose(vectors, reference, rtol=0, atol=1e-6, err_msg=name)

    return compare


@pytest.fixture
def usual_handlers():
    """Python's handlers of signals, which a process in the background or of nohup lacks."""
    usual = {signal.SIGINT: signal.default_int_handler}
    usual |= {getattr(signal, name): signal.SIG_DFL for name in ("SIGTERM", "SIGHUP")}
    before = {number: signal.signal(number, usual[number]) for number in usual}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def eagerly():
    """Computes without graphs: tracing that of a layer takes longer than a few calls."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def unoptimized_graphs():
    """Runs graphs as they were traced: optimising one takes longer than running it."""
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


@pytest.fixture
def cells(capsys):
    """Gives the cells of each row of the tables in a text, or else in what was printed."""

    def printed(text=None):
        lines = (text or capsys.readouterr().out).splitlines()
        rows = [line.strip("| ").split("|") for line in lines if "|" in line]
        return [[cell.strip() for cell in row] for row in rows]

    return printed


@pytest.fixture
def error_of(capsys):
    """Runs a command that fails with status 2; gives its one line of standard error."""

    def run(main, arguments):
        capsys.readouterr()
        assert main([*map(str, arguments)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    return run


@pytest.fixture
def conllu(tmp_path):
    """Writes sentences of (word, tag) as a file in ten columns."""

    def write(name, sentences):
        rows = [
            "\n".join(
                "\t".join([str(i), word, "_", tag, *"______"])
                for i, (word, tag) in enumerate(sentence, 1)
            )
            for sentence in sentences
        ]
        path = tmp_path / name
        path.write_text("\n\n".join(rows) + "\n\n", encoding="utf-8")
        return path

    return write
