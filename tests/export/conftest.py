"""The export of all tests that don't change it, loaded in the ways that serve it."""

import functools

import pytest
import tensorflow as tf

from elmo_keras.export.task_export import export_task
from tests.support.exported import session_of, signatures_of
from tests.support.exported_tasks import TASKS


@pytest.fixture(scope="module")
def loaded(exported_version):
    """The export as TensorFlow 2 loads it."""
    return tf.saved_model.load(str(exported_version))


@pytest.fixture(scope="session")
def session(exported_version):
    with session_of(exported_version) as run:
        yield run


@pytest.fixture(scope="session")
def exported_task(made_once):
    """A model, the signatures of its export, and its folder; each is made once."""

    @functools.cache
    def export(kind):
        model = TASKS[kind].model()
        version = made_once(
            f"{kind}/1", lambda path: export_task(model, path.parent, warmup=False)
        )
        return model, signatures_of(version), version

    return export
