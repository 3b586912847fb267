"""The command `export`."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from elmo_keras.base.extras import import_extra
from elmo_keras.base.messages import waiting
from elmo_keras.commands.arguments import (
    Count,
    Finite,
    Index,
    Mix,
    NonNegative,
    OneLayer,
    Rate,
)
from elmo_keras.commands.command import (
    CommandFailed,
    import_tensorflow,
    starting_libraries,
)
from elmo_keras.commands.outputs import check_apart, check_file, check_folder
from elmo_keras.config import Splitting
from elmo_keras.export.version_paths import check_export, export_metadata
from elmo_keras.heads.find import local_head
from elmo_keras.heads.head import KERAS, keras_model, read_head
from elmo_keras.heads.kinds import load_models
from elmo_keras.hub.catalogue import parts_of_model
from elmo_keras.lite.lite_file import MIN_COSINE

if TYPE_CHECKING:
    from elmo_keras.config import ElmoConfig
    from elmo_keras.elmo import Elmo
    from elmo_keras.formats.model_files import ModelFiles
    from elmo_keras.heads.model import TaskModel

MIX = Parameter(group="Mix of the layers")
SAVED = Parameter(group="SavedModel")
USE = Parameter(group="Programs that use it")


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class Choices:
    """Choices of what is exported, and for which programs.

    Args:
        arithmetic: arithmetic of the biLM; float32 if not given, int8 for LiteRT
        min_cosine: lowest mean cosine of a layer's int8 vectors to exact ones
        layers: the output `elmo`: the mix, the average, or one layer
        mix: W0,W1,… of the layers, before the softmax
        gamma: factor of the mix
        layer_norm: normalise layers before the mix
        dropout: rate on the mix, in training
        l2: the paper's λ, in training
        layer: name of the Elmo layer of a .keras model
        representation: index of the mix in that layer
        version: the next one if not given
        archive: also write a .tar.gz, for hub.load
        serving_files: also write files for TensorFlow Serving
        no_warmup: write no warm-up requests
        trainable: the variables that a program can train after loading
        tokenizer: how strings are split, by default as the model's text was;
            unicode_script needs tensorflow-text
        normalization: Unicode normal form, by tensorflow-text
        as_dict: a call returns all outputs as a dict unless it says as_dict=False
        input_name: name of the sentences in requests; google/elmo has text
    """

    arithmetic: Literal["float32", "bfloat16", "int8"] | None = None
    min_cosine: Annotated[Rate, Parameter(group="LiteRT")] = MIN_COSINE
    layers: Annotated[OneLayer, MIX] = "mix"
    mix: Annotated[Mix | None, MIX] = None
    gamma: Annotated[Finite | None, MIX] = None
    layer_norm: Annotated[bool, MIX] = False
    dropout: Annotated[Rate, MIX] = 0.0
    l2: Annotated[NonNegative, MIX] = 0.0
    layer: Annotated[str | None, MIX] = None
    representation: Annotated[Index, MIX] = 0
    version: Annotated[Count | None, SAVED] = None
    archive: Annotated[bool, SAVED] = False
    serving_files: Annotated[bool, SAVED] = False
    no_warmup: Annotated[bool, SAVED] = False
    trainable: Annotated[Literal["nothing", "mix", "all"], SAVED] = "mix"
    tokenizer: Annotated[Splitting | None, SAVED] = None
    normalization: Annotated[Literal["NFC"] | None, SAVED] = None
    as_dict: Annotated[bool, USE] = False
    input_name: Annotated[Literal["sentences", "text"], USE] = "sentences"


DEFAULTS = Choices()
MIXED = "layers", "mix", "gamma", "layer_norm"
TRAINED = "dropout", "l2"
LANGUAGE_MODEL = "trainable", "as_dict"
SAVED_MODEL = "version", "archive", "serving_files", "no_warmup", *LANGUAGE_MODEL
SAVED_MODEL += "tokenizer", "normalization", "input_name"
# Options that formats and models don't read.
UNUSED = {
    "--format saved_model": ("min_cosine",),
    "--format litert": (*SAVED_MODEL, *TRAINED),
    "--format packed": tuple(field.name for field in dataclasses.fields(Choices)),
    "a head": (*MIXED, *TRAINED, "layer"),
    "a .keras MODEL": (*MIXED, *TRAINED),
    "a MODEL that is no .keras file": ("layer",),
    "a model of a task": (*LANGUAGE_MODEL, "arithmetic", "representation"),
}


def refuse_unused(choices: Choices, what: str) -> None:
    for name in UNUSED[what]:
        if getattr(choices, name) != getattr(DEFAULTS, name):
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is not for {what}. Leave it out.")


def export(
    model_or_output: str,
    output: Path | None = None,
    /,
    *,
    format: Literal["saved_model", "litert", "packed"] = "saved_model",
    options: str | None = None,
    weights: str | None = None,
    choices: Choices = DEFAULTS,
) -> None:
    """Writes a model for TensorFlow Serving, TF Hub and Keras, or for LiteRT.

    MODEL is a model directory, a .zip of one, the name or address of a published model,
    a Keras model saved with an `Elmo` layer, whose language model and mix are exported,
    or a model or a head that `train-head` made, which is exported itself. The export is a
    SavedModel in OUT_DIR/VERSION, a new folder each time. OUT.tflite is one file, which
    `Embedder` and `embed --model OUT.tflite` read without TensorFlow. `packed` is a model
    directory with matrices in int8, a quarter of the size, which all commands read.

        elmo-keras export MODEL OUT_DIR
        elmo-keras export MODEL OUT.tflite --format litert
        elmo-keras export MODEL OUT_DIR --format packed
        elmo-keras export OUT_DIR --options options.json --weights weights.hdf5
        elmo-keras export tagger.keras OUT_DIR

    Args:
        model_or_output: MODEL; or OUT, with --options and --weights
        output: OUT
        format: SavedModel, LiteRT, or a model directory in int8
        options: published options.json, with --weights
        weights: published HDF5 weights, with --options
    """
    model = None if output is None else model_or_output
    output = output or Path(model_or_output)
    if (model is None) != (None not in (options, weights)):
        raise ValueError("Give either MODEL and OUT, or OUT, --options and --weights.")
    source = model or options or ""
    head, file = local_head(source), None
    if head is not None and head.suffix == KERAS:
        head, file = None, head
    kind = "a head" if head else "a MODEL that is no .keras file"
    for what in f"--format {format}", kind if file is None else "a .keras MODEL":
        refuse_unused(choices, what)
    other = {"saved_model": "int8", "litert": "bfloat16"}.get(format)
    if other and choices.arithmetic == other:
        raise ValueError(f"--arithmetic {other} is not for --format {format}.")
    paths = [path for path in (model, options, weights) if path]
    inputs = [part for path in paths for part in parts_of_model(path)]
    _check_output(output, format, choices, inputs)
    by_litert = format == "litert" and file is None and head is None
    if not by_litert:
        import_tensorflow()
    with waiting(f"Exporting {source}"):
        if by_litert:
            from elmo_keras.formats.model_directory import find_model

            files = find_model(source, weights=weights)
            mix = mix_of_layers(choices, files)
            with starting_libraries():  # LiteRT checks an int8 model
                lines = write_litert(files.config, files.datasets, mix, output, choices)
        elif format == "packed":
            lines = pack(source, output, weights)
        else:
            if head is not None:
                layer = keras_model(read_head(head))
            elif file is not None:
                layer = read_keras_model(file, choices.layer)
            else:
                layer = read_elmo(source, weights, choices)
            write = write_saved_model if format == "saved_model" else write_litert_layer
            lines = write(layer, output, choices)
    print(*lines, sep="\n")


def read_elmo(source: str, weights: str | None, choices: Choices) -> "Elmo":
    from elmo_keras.elmo import Elmo

    arguments: dict[str, Any] = {
        name: getattr(choices, name) for name in (*MIXED, *TRAINED)
    }
    return Elmo.from_pretrained(source, weights=weights, **arguments)


def _check_output(output, format, choices, inputs):
    """Refuses an output that can't be written, exists, or would change an input."""
    if format == "saved_model":
        check_export(
            output, choices.version, inputs, choices.archive, choices.serving_files
        )
        if not choices.no_warmup:
            import_extra("tensorflow_serving.apis", "A warm-up")
        return
    if format == "packed":
        check_folder(output)
    elif output.suffix == ".tflite":
        check_file(output)
    else:
        raise ValueError(f"The output should end in .tflite. Received: {output}")
    check_apart([output], inputs)
    if output.exists():
        raise FileExistsError(f"{output} exists. Move it, or give another name.")


def pack(source: str, output: Path, weights: str | None) -> list[str]:
    """Writes a model directory as it is, with its softmax, vocabulary and mix.

    As the other writers, it returns the lines to print.
    """
    from elmo_keras.formats.model_directory import find_model, save_model

    files = find_model(source, weights=weights)
    save_model(
        output,
        files.bilm(),
        files.vocabulary,
        options=files.options,
        mix=files.mix,
        packed=True,
    )
    return [f"The model is in {output}"]


def mix_of_layers(choices: Choices, files: "ModelFiles") -> dict[str, Any]:
    """The weights that `Elmo.from_pretrained` gives to the layers, without TensorFlow."""
    from elmo_keras.lite.scalar_mix import mix_values

    mix, gamma = files.initial_mix(choices.layers, choices.mix, choices.gamma)
    return mix_values(
        files.config.n_layers + 1,
        choices.layers,
        mix=mix,
        gamma=gamma,
        layer_norm=choices.layer_norm,
    )


def write_litert_layer(
    source: "Elmo | TaskModel", output: Path, choices: Choices
) -> list[str]:
    from elmo_keras.elmo import Elmo
    from elmo_keras.formats.variables import published_arrays

    if not isinstance(source, Elmo):
        raise ValueError(
            "LiteRT gets language models, not models of tasks. Give --layer for the "
            "Elmo layer of the model."
        )
    mix: Any = source.mixes[choices.representation].values()
    arrays = published_arrays(source.bilm)
    return write_litert(source.config, arrays, mix, output, choices)


def write_litert(
    config: "ElmoConfig",
    arrays: Mapping[str, Any],
    mix: Mapping[str, Any],
    output: Path,
    choices: Choices,
) -> list[str]:
    from elmo_keras.lite.convert import convert
    from elmo_keras.lite.lite_file import write_lite

    file = convert(
        config,
        arrays,
        choices.arithmetic or "int8",
        min_cosine=choices.min_cosine,
        mix=mix,
    )
    write_lite(output, file)
    lines = [f"The model is in {output}"]
    if cosines := file.metadata["cosines"]:
        lowest = f"{min(cosines):.4f}"
        lines.insert(0, f"The lowest mean cosine of a layer to exact vectors: {lowest}")
    return lines


def write_saved_model(
    source: "Elmo | TaskModel", output: Path, choices: Choices
) -> list[str]:
    import tensorflow as tf

    from elmo_keras.elmo import Elmo
    from elmo_keras.export import version_directory
    from elmo_keras.export.task_export import export_task

    names = "tokenizer", "normalization", "input_name", "version"
    shared: dict[str, Any] = {name: getattr(choices, name) for name in names}
    shared["warmup"] = not choices.no_warmup
    if not isinstance(source, Elmo):
        refuse_unused(choices, "a model of a task")
    try:
        if isinstance(source, Elmo):
            arithmetic: Any = choices.arithmetic or "float32"
            folder = version_directory.export_elmo(
                source,
                output,
                representation=choices.representation,
                trainable=choices.trainable,
                arithmetic=arithmetic,
                as_dict=choices.as_dict,
                **shared,
            )
        else:
            folder = export_task(source, output, **shared)
    except tf.errors.OpError as error:  # such as a full disk
        raise CommandFailed(error) from error
    lines = [f"The export is in {folder}"]
    for name, signature in export_metadata(folder)["signatures"].items():
        if name != "serving_default":
            inputs, outputs = signature["inputs"], signature["outputs"]
            lines.append(f"`{name}`: {', '.join(inputs)} → {', '.join(outputs)}")
    if choices.archive:
        lines.append(f"The archive is {version_directory.write_archive(folder)}")
    if choices.serving_files:
        files = version_directory.write_serving_files(output)
        lines.append(f"TF Serving's files are in {files}")
    return lines


def read_keras_model(path: Path, name: str | None = None) -> "Elmo | TaskModel":
    """A task's model, or the only `Elmo` layer, or the one with this name."""
    from elmo_keras.elmo import Elmo
    from elmo_keras.formats.keras_files import load_keras_model
    from elmo_keras.heads.model import TaskModel

    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    load_models()
    model = load_keras_model(path)
    candidates = list(model.layers)
    if isinstance(model, TaskModel):
        if name is None:
            return model
        candidates.append(model.token_vectors.elmo)
    layers = {layer.name: layer for layer in candidates if isinstance(layer, Elmo)}
    matches = [layer for key, layer in layers.items() if name in (None, key)]
    if len(matches) != 1:
        raise ValueError(
            f"--layer should name one Elmo layer of {path}. It has: {sorted(layers)}"
        )
    return matches[0]
