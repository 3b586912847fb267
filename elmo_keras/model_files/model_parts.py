"""The files of a model, so that no output takes the place of one."""

import glob
from pathlib import Path

from elmo_keras.model_files.model_directory import OPTIONS, VOCABULARY, WEIGHTS

TRAINING = "training"  # a folder
# What training writes to a model directory.
PARTS = OPTIONS, WEIGHTS, VOCABULARY, "model_card.md", "curves.png", TRAINING
# The files of a directory in another layout, such as a checkpoint of bilm-tf.
OF_OTHERS = (
    "*options.json *config.json *.hdf5 *.h5 *.zip *.txt *.pkl *.dic checkpoint "
    "*.index *.meta *.data-*"
).split()


def parts_of_model(model: str | Path) -> list[Path]:
    """The files and folders that belong to a model, whether they exist or not.

    Args:
        model: a model directory, or a directory in another layout; a file, such as a
            zip; or the prefix of a checkpoint of bilm-tf. Anything else has no files
            here.
    """
    model = Path(model)
    if model.is_dir():
        if (model / OPTIONS).exists() and (model / WEIGHTS).exists():
            return [model / part for part in PARTS]
        return [path for pattern in OF_OTHERS for path in model.glob(pattern)]
    if model.exists():
        return [model]
    if not model.with_name(f"{model.name}.index").exists():
        return [model]
    of_prefix = model.parent.glob(f"{glob.escape(model.name)}.*")
    return [*of_prefix, model.with_name(OPTIONS), model.with_name(VOCABULARY)]
