"""Finding the checkpoints that bilm-tf wrote with TensorFlow 1."""

import contextlib
import re
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from elmo_keras.model_files.unpacked_files import UnpackedFiles
from elmo_keras.models.file_names import OPTIONS
from elmo_keras.published_options import read_options


class Tf1Checkpoint(NamedTuple):
    """A trained checkpoint of bilm-tf.

    Attributes:
        prefix: path of its files without `.index`, the argument of
            `tf1_weights.read_tf1_checkpoint`.
        options: the content of the `options.json` beside it.
        unpacked: keeps its files, if they come from an archive.
    """

    prefix: Path
    options: dict[str, Any]
    unpacked: UnpackedFiles | None = None


def is_tf1_checkpoint(path: Path) -> bool:
    """Whether a path is the prefix of a checkpoint, or a directory with one."""
    if path.is_dir():
        return any(path.glob("*.index"))
    return _index(path).exists() if path.name else False


def find_tf1_checkpoint(path: str | Path) -> Tf1Checkpoint:
    """The checkpoint of bilm-tf at a path, with its options.

    Args:
        path: a directory, for its latest checkpoint, or the path of one
            checkpoint's files without `.index`, such as
            `DIRECTORY/model.ckpt-100`.

    Returns:
        The checkpoint. The vocabulary is not part of it.

    Raises:
        FileNotFoundError: there is no checkpoint, or no `options.json` beside it.
        ValueError: the `options.json` is not a JSON object.
    """
    prefix = find_tf1_prefix(Path(path))
    for needed in (_index(prefix), prefix.with_name(OPTIONS)):
        if not needed.exists():
            raise FileNotFoundError(
                f"There is no {needed}. A checkpoint of bilm-tf should hold .index and "
                f".data files with {OPTIONS} beside them."
            )
    return Tf1Checkpoint(prefix, read_options(prefix.with_name(OPTIONS)))


def find_tf1_prefix(path: Path) -> Path:
    """The prefix of the latest checkpoint in a directory, or the path if it is none.

    Raises:
        FileNotFoundError: the directory holds no checkpoint.
    """
    return _latest(path) if path.is_dir() else path


def _latest(directory):
    state = None
    with contextlib.suppress(ValueError):  # a damaged file `checkpoint`
        state = tf.train.get_checkpoint_state(str(directory))
    if state is not None:
        # The file may name a path from before the directory was moved.
        prefix = directory / Path(state.model_checkpoint_path).name
        if _index(prefix).exists():
            return prefix
    prefixes = [path.with_suffix("") for path in directory.glob("*.index")]
    if not prefixes:
        raise FileNotFoundError(
            f"There is no checkpoint (*.index and *.data files) in {directory}."
        )
    return max(prefixes, key=_step_and_time)


def _step_and_time(prefix):
    """Sort key, highest for the latest checkpoint: its step, then its time of writing."""
    step = re.search(r"-(\d+)$", prefix.name)
    return int(step[1]) if step else -1, _index(prefix).stat().st_mtime


def _index(prefix):
    return prefix.with_name(f"{prefix.name}.index")
