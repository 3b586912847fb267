"""The options of the commands that compute vectors."""

import dataclasses
from pathlib import Path

from cyclopts import Parameter

from elmo_keras.base.messages import say, waiting
from elmo_keras.commands.arguments import Count, Finite, Layers, Mix
from elmo_keras.commands.command import import_tensorflow, starting_libraries
from elmo_keras.config import Arithmetic
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.engines.backend import LITERT, Backend, choose_backend
from elmo_keras.hub.catalogue import parts_of_model
from elmo_keras.hub.local_files import local_files
from elmo_keras.lite.layers import probe
from elmo_keras.text.files import lines_of
from elmo_keras.text.scripts import package_model_of


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class EmbedderOptions:
    """Options of an `Embedder`.

    Args:
        model: a model directory, a zip, or a published model's name or address; the
            package's for the text's language if not given
        options: published options.json, with --weights
        weights: published HDF5 weights, with --options
        layers: which layers are kept, or an index; mix, the model's own or the average,
            if not given
        mix: W0,W1,… of the layers, before the softmax
        gamma: factor of the mix; the model's own, or 1, if not given
        keep_sentence_boundaries: keep the vectors of `<S>` and `</S>`, two more of each line
        lower_case: embed the tokens in lower case
        float16: write numbers in 2 bytes, not 4
        arithmetic: float32 if not given; int8 is by LiteRT, bfloat16 by TensorFlow
        backend: library that computes; litert if not given, or tensorflow on a GPU
        tokens_at_once: tokens in a batch
        cache_megabytes: memory for the vectors of words
    """

    model: str | None = None
    options: str | None = None
    weights: str | None = None
    layers: Layers | None = None
    mix: Mix | None = None
    gamma: Finite | None = None
    keep_sentence_boundaries: bool = False
    lower_case: bool = False
    float16: bool = False
    arithmetic: Arithmetic | None = None
    backend: Backend | None = None
    tokens_at_once: Count | None = None
    cache_megabytes: Count = 256

    def for_text(self, text: Path) -> "EmbedderOptions":
        """Names the package's model by the script of a text file, where none is given."""
        text.stat()  # a missing file is reported before the model is read
        if self.model or self.options or self.weights or not text.is_file():
            return self
        with text.open("rb") as file:
            model, _ = package_model_of(lines_of(file, text))
        say(f"The language model is {model}.")
        return dataclasses.replace(self, model=model)

    def inputs(self) -> list[Path]:
        """The files of the model, which no output may replace."""
        no_weights = self.options is not None and self.weights is None
        if (self.model is None) == (self.options is None) or no_weights:
            raise ValueError("Give --model, or --options and --weights.")
        files = [Path(path) for path in (self.options, self.weights) if path]
        return files + (parts_of_model(self.model) if self.model else [])

    def embedder(self, *, pooling: str | None, lazy: bool = False) -> Embedder:
        """Downloads the model if need be, and reads it unless it is `lazy`."""
        model = self.model or self.options or ""
        local_files(model, self.weights)
        if not lazy:
            start_backend(choose_backend(model, self.arithmetic, self.backend))
        with waiting(f"Loading {model}"):
            return Embedder(
                model,
                weights=self.weights,
                layers="mix" if self.layers is None else self.layers,
                mix=self.mix,
                gamma=self.gamma,
                pooling=pooling,
                keep_sentence_boundaries=self.keep_sentence_boundaries,
                lower_case=self.lower_case,
                dtype="float16" if self.float16 else "float32",
                arithmetic=self.arithmetic,
                backend=self.backend,
                tokens_at_once=self.tokens_at_once,
                cache_bytes=self.cache_megabytes * 2**20,
                lazy=lazy,
            )


def start_backend(backend: str) -> None:
    """Starts the backend of a command, without its log."""
    if backend != LITERT:
        import_tensorflow()
        return
    with starting_libraries():  # LiteRT logs with its first model
        probe()
