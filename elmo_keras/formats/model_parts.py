"""The files of a model, so that no output takes the place of one."""

import glob
from pathlib import Path

from elmo_keras.hub.catalogue import MIX, OPTIONS, VOCABULARY, WEIGHTS

TRAINING = "training"  # a folder
# What training and `save_model` write to a model directory.
PARTS = OPTIONS, WEIGHTS, VOCABULARY, MIX, TRAINING
PARTS += "model_card.md", "curves.png"
# The softmax and the vocabulary beside published options and weights.
OF_SOFTMAX = "*softmax*.hdf5", "*vocab*.txt"
# The files of a directory in another layout, such as a checkpoint of bilm-tf.
OF_OTHERS = (
    "*options.json *config.json *.hdf5 *.h5 *.zip *.txt *.pkl *.dic checkpoint "
    "*.index *.meta *.data-* *.pb variables"
).split()


def parts_of_model(model: str | Path) -> list[Path]:
    """The files and folders of a model (directory, file or prefix), if they exist or not."""
    model = Path(model)
    if model.is_dir():
        if (model / OPTIONS).exists() and (model / WEIGHTS).exists():
            parts = [model / part for part in PARTS]
            others = {path for pattern in OF_SOFTMAX for path in model.glob(pattern)}
            return parts + sorted(others - {*parts})
        return [path for pattern in OF_OTHERS for path in model.glob(pattern)]
    if model.exists():
        return [model]
    if not model.with_name(f"{model.name}.index").exists():
        return [model]
    of_prefix = model.parent.glob(f"{glob.escape(model.name)}.*")
    return [*of_prefix, model.with_name(OPTIONS), model.with_name(VOCABULARY)]
