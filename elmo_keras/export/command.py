"""The command `export`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from elmo_keras.export.version_paths import check_export
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.util.arguments import (
    Count,
    Finite,
    Index,
    Layers,
    Mix,
    NonNegative,
    Rate,
)
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
    layers: Annotated[Layers, MIX] = "mix",
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
        layers: what is exported as `elmo`: the mix, the average, or one layer
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
    if layers == "all":
        raise ValueError("--layers all has no mix. Each export has all layers besides.")
    sources = [source for source in (model, options, weights) if source]
    parts = [part for source in sources for part in parts_of_model(source)]
    of_language_model = {
        "--trainable": trainable != "mix",
        "--dtype": dtype != "float32",
        "--as-dict": as_dict,
    }
    of_training = {"--dropout": dropout is not None, "--l2": l2 is not None}
    of_saved_model = {
        "--version": version is not None,
        "--archive": archive,
        "--serving-files": serving_files,
        "--no-warmup": not warmup,
        "--tokenizer": tokenizer != "spaces",
        "--normalization": normalization is not None,
        "--input-name": input_name != "sentences",
        **of_language_model,
        **of_training,
    }
    of_mix = {
        "--layers": layers != "mix",
        "--mix": mix is not None,
        "--gamma": gamma is not None,
        "--layer-norm": layer_norm,
    }
    of_keras_model = {"--layer": layer is not None}
    of_litert = {"--arithmetic": arithmetic is not None}
    if format == "saved_model":
        refuse(of_litert, "--format saved_model")
    elif format == "litert":
        refuse(of_saved_model, "--format litert")
    else:
        unused = of_saved_model | of_mix | of_keras_model | of_litert
        unused["--representation"] = representation != 0
        refuse(unused, "--format packed")
    source_path = model or options or ""
    is_keras_model = Path(source_path).suffix == ".keras"
    if is_keras_model:
        refuse(of_mix | of_training, "a .keras MODEL, whose layer has its own")
    else:
        refuse(of_keras_model, "a MODEL that is no .keras file")
    if format == "saved_model":
        check_export(
            output, version, parts, archive=archive, serving_files=serving_files
        )
    else:
        check_new(output, parts, is_folder=format == "packed")
    import_tensorflow()
    if format == "packed":
        write_packed(source_path, weights, output)
        return
    import tensorflow as tf

    from elmo_keras import Elmo
    from elmo_keras.export.task_export import export_task
    from elmo_keras.export.version_directory import (
        export_elmo,
        read_metadata,
        write_archive,
        write_serving_files,
    )
    from elmo_keras.lite.convert import convert
    from elmo_keras.tasks.layers.task_model import TaskModel

    if is_keras_model:
        source = read_keras_model(Path(source_path), layer)
    else:
        source = Elmo.from_pretrained(
            source_path,
            weights=weights,
            layers=layers,
            mix=mix,
            gamma=gamma,
            layer_norm=layer_norm,
            dropout=dropout or 0.0,
            l2=l2 or 0.0,
        )
    if isinstance(source, TaskModel):
        name = type(source).__name__
        refuse(of_language_model, f"a {name}; --layer exports the Elmo layer in it")
        refuse({"--representation": representation != 0}, f"a {name}")
        if format == "litert":
            raise ValueError(
                "LiteRT gets language models, not models of tasks. Give --layer for the "
                "Elmo layer of the model."
            )
    elif format == "litert":
        convert(source, output, arithmetic or "int8", mix=source.mixes[representation])
        print(f"The model is in {output}")
        return
    try:
        if isinstance(source, TaskModel):
            folder = export_task(
                source,
                output,
                tokenizer=tokenizer,
                normalization=normalization,
                input_name=input_name,
                version=version,
                warmup=warmup,
            )
            use = describe_signatures(read_metadata(folder))
        else:
            folder = export_elmo(
                source,
                output,
                representation=representation,
                trainable=trainable,
                dtype=dtype,
                tokenizer=tokenizer,
                normalization=normalization,
                as_dict=as_dict,
                input_name=input_name,
                version=version,
                warmup=warmup,
            )
            use = describe_use(as_dict, input_name)
    except tf.errors.OpError as error:  # such as a full disk
        raise CommandFailed(error) from error
    print(f"The export is in {folder}", *use, sep="\n")
    if archive:
        print(f"The archive is {write_archive(folder)}")
    if serving_files:
        print(f"TF Serving's files are in {write_serving_files(output)}")


def refuse(options: Mapping[str, bool], what: str) -> None:
    """Refuses options that are given and have no use for an export or a model."""
    for option, is_given in options.items():
        if is_given:
            raise ValueError(f"{option} is not for {what}. Leave it out.")


def check_new(output: Path, inputs: Sequence[Path], *, is_folder: bool) -> None:
    if is_folder:
        check_folder(output)
    else:
        if output.suffix != ".tflite":
            raise ValueError(f"The output should end in .tflite. Received: {output}")
        check_file(output)
    check_apart([output], inputs)
    if output.exists():
        raise FileExistsError(f"{output} exists. Move it, or give another name.")


def write_packed(model: str, weights: str | None, output: Path) -> None:
    """Writes the model as it is, with its softmax, vocabulary and mix."""
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


def read_keras_model(path: Path, name: str | None = None) -> "Elmo | TaskModel":
    """A model of a task, or the only `Elmo` layer, or the one of a name."""
    from elmo_keras import Elmo
    from elmo_keras.formats.keras_files import load_keras_model
    from elmo_keras.tasks import models  # noqa: F401, whose files are loaded
    from elmo_keras.tasks.layers.task_model import TaskModel

    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
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


def describe_use(as_dict: bool, input_name: str) -> tuple[str, str]:
    """How the export is called, where other choices suit other programs."""
    call = (
        "A call returns `default`, or all outputs with as_dict=True (--as-dict: always)"
    )
    if as_dict:
        call = "A call returns all outputs, or `default` with as_dict=False"
    request = f"Requests name the sentences `{input_name}`"
    if input_name != "text":
        request += " (--input-name text: as for google/elmo)"
    return call, request


def describe_signatures(metadata: dict) -> list[str]:
    return [
        f"`{name}`: {', '.join(signature['inputs'])} → {', '.join(signature['outputs'])}"
        for name, signature in metadata["signatures"].items()
        if name != "serving_default"
    ]
