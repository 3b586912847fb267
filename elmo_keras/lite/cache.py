"""Models converted for LiteRT, kept in the cache."""

import hashlib
import json
from pathlib import Path

from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.hub.cache import LITERT, cache_folder
from elmo_keras.hub.local_files import local_files, model_title
from elmo_keras.lite.lite_file import VERSION
from elmo_keras.util.files import file_stamp, only_process

ARITHMETIC = "int8"


def convert_once(model: str | Path, weights: str | Path | None = None) -> Path:
    """The path of a model's `.tflite` file, made at the first use and when its files change."""
    options, weights_file = local_files(model, weights)
    parts = [p for p in (options, weights_file) if p is not None]
    files = sorted({f for part in parts for f in parts_of_model(part) if f.is_file()})
    stamps = [file_stamp(file) for file in files]
    key = hashlib.sha256(json.dumps([VERSION, ARITHMETIC, stamps]).encode()).hexdigest()
    folder = cache_folder() / LITERT
    path = folder / f"{model_title(model)}-{ARITHMETIC}-{key[:16]}.tflite"
    if not path.exists():
        waiting = f"Waiting for another process, which converts {model}."
        with only_process(folder, waiting, wait=True):
            if not path.exists():
                from elmo_keras.elmo import Elmo
                from elmo_keras.lite.convert import convert

                elmo = Elmo.from_pretrained(options, weights=weights_file)
                convert(elmo, path, ARITHMETIC)
    return path
