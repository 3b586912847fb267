"""What to export: an `Elmo` layer of model files or a Keras model, or a task's model."""

from pathlib import Path

from elmo_keras import Elmo
from elmo_keras.formats.keras_files import load_keras_model
from elmo_keras.tasks import models  # noqa: F401, whose files are loaded
from elmo_keras.tasks.layers.task_model import TaskModel


def read_keras_model(path: Path, name: str | None = None) -> Elmo | TaskModel:
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    model = load_keras_model(path)
    if isinstance(model, TaskModel) and name is None:
        return model
    candidates = list(model.layers)
    if isinstance(model, TaskModel):
        candidates.append(model.token_vectors.elmo)
    layers = {layer.name: layer for layer in candidates if isinstance(layer, Elmo)}
    found = [layers.get(name)] if name else [*layers.values()]
    if len(found) != 1 or found[0] is None:
        raise ValueError(
            f"--layer should name one Elmo layer of {path}. It has: {sorted(layers)}"
        )
    return found[0]
