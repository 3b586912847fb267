"""The model directory: checked, reserved for one training process, and written."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from elmo_keras.files import only_process
from elmo_keras.formats.model_directory import OPTIONS
from elmo_keras.formats.model_parts import PARTS, TRAINING, parts_of_model
from elmo_keras.text.files import text_files
from elmo_keras.training.checkpoint import checkpoints
from elmo_keras.training.options import RunSettings, TextData
from elmo_keras.util.outputs import check_apart, check_file, check_folder

CHECKPOINTS, LOGS = "training/checkpoints", "training/logs"


def check_output(output: Path, data: TextData, settings: RunSettings) -> None:
    """Refuses a model directory that can't be written, or would replace an input."""
    check_folder(output)
    patterns = [data.train, data.valid, data.vocabulary_text]
    inputs = [path for names in patterns for path in text_files(names or [])]
    inputs += [Path(file) for file in (data.vocabulary, settings.weights) if file]
    if settings.model is not None:
        inputs += parts_of_model(settings.model)
    check_apart([output / part for part in PARTS], inputs)
    if output.exists():
        for part in set(PARTS) - {TRAINING}:
            check_file(output / part)


@contextlib.contextmanager
def reserve(output: Path, *, lock: bool) -> Iterator[None]:
    """Reserves a model directory, keeping other processes out if `lock`.

    A new directory is removed again if it holds neither a model nor a checkpoint.
    """
    if has_model(output) and not checkpoints(output / CHECKPOINTS):
        raise ValueError(f"{output} holds a model already. Give another `output`.")
    refusal = (
        f"Another process is training in {output}. Wait until it ends, or give another "
        "`output`."
    )
    folder, existed = output / TRAINING, output.exists()
    try:
        with only_process(folder, refusal) if lock else contextlib.nullcontext():
            yield
    finally:
        if not (existed or has_model(output) or checkpoints(output / CHECKPOINTS)):
            shutil.rmtree(output, ignore_errors=True)


def has_model(output: Path) -> bool:
    return (output / OPTIONS).exists()
