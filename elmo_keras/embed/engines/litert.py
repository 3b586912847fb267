"""The vectors of sentences by LiteRT, without TensorFlow."""

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.base.argument_checks import check_finite
from elmo_keras.base.files import file_digest
from elmo_keras.base.messages import say
from elmo_keras.embed.engines.engine import LITE, Engine
from elmo_keras.hub.cache import converted_folder, only_writer, remove_converted
from elmo_keras.hub.catalogue import files_of_vectors
from elmo_keras.hub.local_files import local_files, model_title
from elmo_keras.lite.engine import LiteElmo
from elmo_keras.lite.lite_file import VERSION, write_lite
from elmo_keras.lite.runtime import library
from elmo_keras.lite.scalar_mix import mix_values, normalize, weighted_sum

MAX_CONVERTED = 2**32  # bytes of converted models in the cache


class LiteRTEngine(Engine):
    """The biLM of `lite`; `mix` and `gamma` replace those of the file."""

    def __init__(
        self,
        lite: LiteElmo,
        layers: str | int,
        *,
        mix: Sequence[float] | None = None,
        gamma: float | None = None,
        **output: Any,
    ):
        super().__init__(lite.config, layers, **output)
        self.mix = dict(lite.metadata["mix"])
        if mix is not None:
            self.mix = mix_values(self.config.n_layers + 1, mix=mix)
        if gamma is not None:
            check_finite("The factor of the mix", gamma)
            self.mix["gamma"] = float(gamma)
        self.model = lite.metadata["model"]
        self.arithmetic = f"{lite.metadata['arithmetic']} by LiteRT"
        self.word_vectors = lite.word_vectors
        self.all_layers = lite.layers_of_vectors

    def compute(self, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        layers = self.all_layers(x, lengths, keep_boundaries=bool(self.n_boundaries))
        if self.layers == "all":
            return layers
        if self.layers == "average":
            equal = np.full(len(layers), np.float32(1 / len(layers)))
            return weighted_sum(layers, equal)[None]
        if self.layers == "mix":
            return self.apply_mix(layers)[None]
        return layers[-1 if isinstance(self.layers, str) else self.layers][None]

    def apply_mix(self, layers: Iterable[np.ndarray]) -> np.ndarray:
        if self.mix["layer_norm"]:
            layers = map(normalize, layers)
        weights = np.array(self.mix["mix"], np.float32) * np.float32(self.mix["gamma"])
        with np.errstate(over="ignore"):  # `embed` refuses what is infinite
            return weighted_sum(layers, weights)


def read_litert(
    model: str | Path,
    weights: str | Path | None,
    arithmetic: str | None,
    threads: int | None,
) -> LiteElmo:
    """The model of a `.tflite` file, or of a file in the cache, made at the first use."""
    if Path(model).suffix != LITE:
        return _read_or_convert(model, weights, arithmetic or "float32", threads)
    if weights:
        raise ValueError(f"{model} holds its weights. Leave out {weights}.")
    lite = LiteElmo.read(Path(model), threads)
    exported = lite.metadata["arithmetic"]
    if arithmetic not in (None, exported):
        raise ValueError(
            f"{model} was exported with arithmetic {exported}. Received: {arithmetic}. "
            "Leave it out, or export the model again."
        )
    return lite


def _read_or_convert(model, weights, arithmetic, threads):
    library()  # before a model is downloaded and converted
    options, weights_file = local_files(model, weights)
    source = hashlib.sha256(f"{VERSION} {arithmetic}".encode())
    for file in files_of_vectors(options, weights_file):
        source.update(f" {file.name} {file_digest(file)}".encode())
    source = source.hexdigest()
    folder = converted_folder()
    path = folder / f"{model_title(model)}-{arithmetic}-{source[:16]}.tflite"
    if lite := _read_cached(path, source, threads):
        return lite
    convert = functools.partial(_convert, options, weights_file, arithmetic, source)
    with contextlib.ExitStack() as stack:
        message = f"Waiting for another process, which converts {model}."
        try:
            stack.enter_context(only_writer(folder, message))
        except OSError as error:
            _say_it_is_not_kept(model, error)
            return LiteElmo(convert(), threads)
        if lite := _read_cached(path, source, threads):
            return lite
        file = convert()
        try:
            write_lite(path, file)
        except OSError as error:  # such as a full disk
            _say_it_is_not_kept(model, error)
            return LiteElmo(file, threads)
        remove_converted(MAX_CONVERTED)
        return LiteElmo.read(path, threads)


def _say_it_is_not_kept(model, error):
    say(f"{model} is converted at each start. {error.strerror}")


def _convert(options, weights, arithmetic, source):
    from elmo_keras.formats.model_directory import find_model
    from elmo_keras.lite.convert import convert

    files = find_model(options, weights=weights)
    mix, gamma = files.initial_mix()
    values = mix_values(files.config.n_layers + 1, mix=mix, gamma=gamma)
    return convert(files.config, files.datasets, arithmetic, mix=values, source=source)


def _read_cached(path, source, threads):
    """The model of a file in the cache; None if it is damaged, or of another model."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, ValueError):
        lite = LiteElmo.read(path, threads)
        if lite.metadata.get("source") == source:
            with contextlib.suppress(OSError):  # the folder may be only read
                os.utime(path)  # files that were used last are kept
            return lite
    return None
