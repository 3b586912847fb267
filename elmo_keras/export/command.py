"""The command `export`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from elmo_keras.export.options import GOOGLE_INPUT_NAME, ExportOptions
from elmo_keras.export.version_paths import check_export
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.util.arguments import Count, Finite, Index, Mix, NonNegative, Rate
from elmo_keras.util.command import CommandFailed, import_tensorflow
from elmo_keras.util.outputs import check_apart, check_file, check_folder

if TYPE_CHECKING:
    from elmo_keras import Elmo
    from elmo_keras.tasks.layers.task_model import TaskModel

MIX = Parameter(group="Mix of the layers")
SAVED = Parameter(group="SavedModel")
USE = Parameter(group="Programs that use it")


def export(
    model_or_output: str,
    output: Path | None = None,
    /,
    *,
    format: Literal["saved_model", "litert", "packed"] = "saved_model",
    arithmetic: Literal["int8", "float32"] | None = None,
    options: str | None = None,
    weights: str | None = None,
    mix: Annotated[Mix | None, MIX] = None,
    gamma: Annotated[Finite | None, MIX] = None,
    layer_norm: Annotated[bool, MIX] = False,
    dropout: Annotated[Rate | None, MIX] = None,
    l2: Annotated[NonNegative | None, MIX] = None,
    layer: Annotated[str | None, MIX] = None,
    representation: Annotated[Index, MIX] = 0,
    version: Annotated[Count | None, SAVED] = None,
    archive: Annotated[bool, SAVED] = False,
    serving_files: Annotated[bool, SAVED] = False,
    warmup: Annotated[bool, SAVED, Parameter(negative="--no-warmup")] = True,
    trainable: Annotated[Literal["nothing", "mix", "all"], SAVED] = "mix",
    dtype: Annotated[Literal["float32", "bfloat16"], SAVED] = "float32",
    tokenizer: Annotated[
        Literal["spaces", "whitespace", "unicode_script"], SAVED
    ] = "spaces",
    normalization: Annotated[Literal["NFC"] | None, SAVED] = None,
    as_dict: Annotated[bool, USE] = False,
    input_name: Annotated[Literal["sentences", "text"], USE] = "sentences",
) -> None:
    """Writes a model for TensorFlow Serving, TF Hub and Keras, or for LiteRT.

    MODEL is a model directory, a .zip of one, the name or address of a published model,
    a Keras model saved with an `Elmo` layer, whose language model and mix are exported,
    or a model of a task (tag, classify, entail, similarity, answer), which is exported
    itself. The export is a SavedModel in OUT_DIR/<version>, a new folder each time.
    OUT.tflite is one file, which `Embedder` and `embed --model OUT.tflite` read without
    TensorFlow. `packed` is a model directory with matrices in int8, a quarter of the
    size, for all that reads models.

        elmo-keras export MODEL OUT_DIR
        elmo-keras export MODEL OUT.tflite --format litert
        elmo-keras export MODEL OUT_DIR --format packed
        elmo-keras export OUT_DIR --options options.json --weights weights.hdf5
        elmo-keras export tagger.keras OUT_DIR

    Args:
        model_or_output: MODEL; or OUT, with --options and --weights
        output: OUT
        format: what is written
        arithmetic: of LiteRT's products; int8 if not given
        options: published options.json, with --weights
        weights: published HDF5 weights, with --options
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
        warmup: write warm-up requests
        trainable: what a program that loads it can train
        dtype: of the biLM
        tokenizer: how strings are split; all but spaces need tensorflow-text
        normalization: Unicode normal form, by tensorflow-text
        as_dict: a call returns all outputs as a dict unless it says as_dict=False
        input_name: of the sentences in requests; google/elmo has text
    """
    model = None if output is None else model_or_output
    output = output or Path(model_or_output)
    if model is None and options is weights is None:
        raise ValueError(
            f"Give MODEL and OUT, such as: elmo-keras export {output} exported"
        )
    if (model is None) != (None not in (options, weights)):
        raise ValueError("Give either MODEL, or --options and --weights.")
    sources = [source for source in (model, options, weights) if source]
    parts = [part for source in sources for part in parts_of_model(source)]
    of_saved_model = {
        "--version": version is not None,
        "--archive": archive,
        "--serving-files": serving_files,
        "--no-warmup": not warmup,
        "--dropout": dropout is not None,
        "--l2": l2 is not None,
        "--trainable": trainable != "mix",
        "--dtype": dtype != "float32",
        "--tokenizer": tokenizer != "spaces",
        "--normalization": normalization is not None,
        "--as-dict": as_dict,
        "--input-name": input_name != "sentences",
    }
    of_mix = {
        "--mix": mix is not None,
        "--gamma": gamma is not None,
        "--layer-norm": layer_norm,
        "--layer": layer is not None,
        "--representation": representation != 0,
    }
    of_litert = {"--arithmetic": arithmetic is not None}
    unused = {
        "saved_model": of_litert,
        "litert": of_saved_model,
        "packed": of_saved_model | of_mix | of_litert,
    }[format]
    if wrong := [option for option, is_given in unused.items() if is_given]:
        raise ValueError(f"{wrong[0]} is not for --format {format}.")
    if format == "packed":
        return _export_packed(model or options, weights, output, parts)
    if format == "litert":
        check_lite_output(output, parts)
    else:
        check_export(
            output, version, parts, archive=archive, serving_files=serving_files
        )
    import_tensorflow()
    import tensorflow as tf

    from elmo_keras.export.task_export import export_task
    from elmo_keras.export.version_directory import (
        export_elmo,
        write_archive,
        write_serving_files,
    )
    from elmo_keras.export.version_info import read_info
    from elmo_keras.lite.convert import convert
    from elmo_keras.tasks.layers.task_model import TaskModel

    source = read_source(
        model or options,
        weights,
        mix=mix,
        gamma=gamma,
        layer_norm=layer_norm,
        dropout=dropout,
        l2=l2,
        layer=layer,
        representation=representation,
    )
    if format == "litert":
        if isinstance(source, TaskModel):
            raise ValueError(
                "LiteRT gets language models, not models of tasks. Give --layer for the "
                "Elmo layer of the model."
            )
        convert(source, output, arithmetic or "int8", mix=source.mixes[representation])
        print(f"The model is in {output}")
        return None
    choices = ExportOptions(
        trainable=trainable,
        dtype=dtype,
        tokenizer=tokenizer,
        normalization=normalization,
        as_dict=as_dict,
        input_name=input_name,
    )
    try:
        if isinstance(source, TaskModel):
            folder = export_task(
                source, output, choices, version=version, warmup=warmup
            )
            use: Sequence[str] = about_signatures(read_info(folder))
        else:
            folder = export_elmo(
                source,
                output,
                choices,
                version=version,
                warmup=warmup,
                representation=representation,
            )
            use = about_use(as_dict, input_name)
    except tf.errors.OpError as error:  # such as a full disk
        raise CommandFailed(error) from error
    print(f"The export is in {folder}", *use, sep="\n")
    if archive:
        print(f"The archive is {write_archive(folder)}")
    if serving_files:
        print(f"TF Serving's files are in {write_serving_files(output)}")


def _export_packed(model, weights, output, inputs):
    """Writes the model as it is, with its softmax, vocabulary and mix."""
    check_folder(output)
    check_new(output, inputs)
    import_tensorflow()
    from elmo_keras.formats.model_directory import find_model, save_model

    files = find_model(model, weights=weights)
    save_model(
        output,
        files.bilm(),
        files.vocabulary,
        options=files.options,
        mix=files.mix,
        packed=True,
    )
    print(f"The model is in {output}")


def check_lite_output(output: Path, inputs: Sequence[Path]) -> None:
    if output.suffix != ".tflite":
        raise ValueError(f"The output should end in .tflite. Received: {output}")
    check_file(output)
    check_new(output, inputs)


def check_new(output: Path, inputs: Sequence[Path]) -> None:
    check_apart([output], inputs)
    if output.exists():
        raise FileExistsError(f"{output} exists. Move it, or give another name.")


def about_use(as_dict: bool, input_name: str) -> tuple[str, str]:
    """How the export is called, where other choices suit other programs."""
    call = (
        "A call returns `default`, or all outputs with as_dict=True (--as-dict: always)"
    )
    if as_dict:
        call = "A call returns all outputs, or `default` with as_dict=False"
    request = f"Requests name the sentences `{input_name}`"
    if input_name != GOOGLE_INPUT_NAME:
        request += f" (--input-name {GOOGLE_INPUT_NAME}: as for google/elmo)"
    return call, request


def about_signatures(info: dict) -> list[str]:
    return [
        f"`{name}`: {', '.join(signature['inputs'])} → {', '.join(signature['outputs'])}"
        for name, signature in info["signatures"].items()
        if name != "serving_default"
    ]


def read_source(
    model: str,
    weights: str | None = None,
    *,
    mix: Sequence[float] | None = None,
    gamma: float | None = None,
    layer_norm: bool = False,
    dropout: float | None = None,
    l2: float | None = None,
    layer: str | None = None,
    representation: int = 0,
) -> "Elmo | TaskModel":
    from elmo_keras import Elmo
    from elmo_keras.export.source_model import read_keras_model
    from elmo_keras.tasks.layers.task_model import TaskModel

    choices = {
        "mix": mix,
        "gamma": gamma,
        "layer_norm": layer_norm or None,
        "dropout": dropout,
        "l2": l2,
    }
    choices = {name: value for name, value in choices.items() if value is not None}
    if Path(model).suffix == ".keras":
        if choices:
            raise ValueError(
                "--mix, --gamma, --layer-norm, --dropout and --l2 come from the layer in "
                "a .keras MODEL. Leave them out."
            )
        source = read_keras_model(Path(model), layer)
        if representation and isinstance(source, TaskModel):
            raise ValueError("--representation needs --layer for a model of a task.")
        return source
    if layer is not None:
        raise ValueError("--layer needs a .keras MODEL.")
    return Elmo.from_pretrained(model, weights=weights, **choices)
