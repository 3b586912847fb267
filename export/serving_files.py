"""Files for the image of TensorFlow Serving, kept beside the versions."""

import shutil
from pathlib import Path

from elmo_keras.cli.replacing import replacing

FILES = Path(__file__).parent / "tensorflow_serving"
FOLDER = "serving"  # TensorFlow Serving ignores folders whose names are not numbers


def write_serving_files(output: str | Path) -> Path:
    """Copies the files to `output/serving`, where the container reads them.

    Existing files are not overwritten, so that changes to them stay. A new one appears
    only when it is complete.

    Args:
        output: the folder of all versions.

    Returns:
        `output/serving`.
    """
    folder = Path(output) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for file in FILES.iterdir():
        if not (folder / file.name).exists():
            with replacing(folder / file.name) as temporary:
                shutil.copyfile(file, temporary)
    return folder
