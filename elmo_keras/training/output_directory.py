"""Reserves a model directory for one training process, and cleans up after it."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from elmo_keras.cli.locking import only_process
from elmo_keras.model_files.model_directory import OPTIONS
from elmo_keras.training.checkpoint import checkpoints
from elmo_keras.training.run import CHECKPOINTS


@contextlib.contextmanager
def reserved(output: Path, *, lock: bool) -> Iterator[None]:
    """Reserves a model directory for this process.

    A new directory is removed again if it holds neither a model nor a checkpoint at
    the end.

    Args:
        output: the model directory.
        lock: whether to keep other processes out.

    Raises:
        ValueError: another process is training there, or there is a model without
            the checkpoints to resume its training.
        OSError: the directory can't be written to.
    """
    if has_model(output) and not checkpoints(output / CHECKPOINTS):
        raise ValueError(f"{output} holds a model already. Give another --output.")
    refusal = (
        f"Another process is training in {output}. Wait until it ends, or give another "
        "--output."
    )
    folder, existed = output / "training", output.exists()
    try:
        with only_process(folder, refusal) if lock else contextlib.nullcontext():
            yield
    finally:
        if not (existed or has_model(output) or checkpoints(output / CHECKPOINTS)):
            shutil.rmtree(output, ignore_errors=True)


def has_model(output: Path) -> bool:
    """Whether a model was written to the directory."""
    return (output / OPTIONS).exists()
