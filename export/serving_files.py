"""The files that TensorFlow Serving's image wants beside the versions."""

import shutil
from pathlib import Path

FILES = Path(__file__).parent / "tensorflow_serving"
FOLDER = "serving"  # TensorFlow Serving passes over folders that are no numbers


def write_serving_files(output: str | Path) -> Path:
    """Copies them into `output/serving`, where the container reads them.

    They are not written over: what was changed there stays.

    Args:
        output: the folder of all versions.

    Returns:
        `output/serving`.
    """
    folder = Path(output) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for file in FILES.iterdir():
        if not (folder / file.name).exists():
            shutil.copyfile(file, folder / file.name)
    return folder
