"""Writes a model as a SavedModel for TensorFlow Serving, TF Hub and Keras, or for LiteRT.

    python -m export MODEL OUT_DIR
    python -m export MODEL OUT.tflite --format litert
    python -m export MODEL OUT_DIR --format packed
    python -m export OUT_DIR --options options.json --weights weights.hdf5
    python -m export tagger.keras OUT_DIR

MODEL is a model directory, a .zip of one, the name or address of a published model, a
Keras model saved with an `Elmo` layer, whose language model and mix are exported, or a
model of a task (tag, classify, entail, similarity, answer), which is exported itself.
The export is written to OUT_DIR/<version>, a new folder each time. OUT.tflite is one
file, which `Embedder` and `embed --model OUT.tflite` read without TensorFlow. `packed` is
a model directory with matrices in int8, a quarter of the size, for all that reads models.
"""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_keras.export.options import (
    DTYPES,
    GOOGLE_INPUT_NAME,
    INPUT_NAMES,
    TOKENIZERS,
    TRAINABLE,
    ExportOptions,
)
from elmo_keras.export.version_paths import check_export
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.lite.lite_file import ARITHMETICS
from elmo_keras.util.argument_types import (
    finite_number,
    non_negative,
    numbers,
    positive,
    rate,
)
from elmo_keras.util.command import CommandFailed, command_parser, run_command
from elmo_keras.util.outputs import check_apart, check_file, check_folder

if TYPE_CHECKING:
    from elmo_keras import Elmo
    from elmo_keras.tasks.layers.task_model import TaskModel

# Options that a format has no use for.
OF_SAVED_MODEL = (
    "version archive serving_files warmup dropout l2 trainable dtype "
    "tokenizer normalization as_dict input_name"
).split()
OF_MIX = "mix gamma layer_norm layer representation".split()
UNUSED = {"litert": OF_SAVED_MODEL, "packed": [*OF_SAVED_MODEL, *OF_MIX, "arithmetic"]}
PROGRAM = __package__  # `export`, or `elmo_keras.export` when installed


def main(arguments=None) -> int:
    arguments = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: export(arguments))


def export(arguments: argparse.Namespace) -> None:
    given = filter(None, (arguments.model, arguments.options, arguments.weights))
    parts = [part for path in given for part in parts_of_model(path)]
    if arguments.format != "saved_model":
        check_options(arguments)
    if arguments.format == "packed":
        return export_packed(arguments, parts)
    if arguments.format == "litert":
        return export_lite(arguments, parts)
    if arguments.arithmetic:
        raise ValueError("--arithmetic needs --format litert; see --dtype.")
    check_export(
        arguments.output,
        arguments.version,
        parts,
        archive=arguments.archive,
        serving_files=arguments.serving_files,
    )
    import tensorflow as tf

    from elmo_keras.export.version_directory import write_archive, write_serving_files

    source = read_source(arguments)
    try:
        version, use = write(source, arguments)
    except tf.errors.OpError as error:  # such as a full disk
        raise CommandFailed(error) from error
    print(f"The export is in {version}", *use, sep="\n")
    if arguments.archive:
        print(f"The archive is {write_archive(version)}")
    if arguments.serving_files:
        print(f"TF Serving's files are in {write_serving_files(arguments.output)}")


def check_options(arguments: argparse.Namespace) -> None:
    default = parser().get_default
    only = "for a SavedModel, " if arguments.format == "litert" else ""
    for name in UNUSED[arguments.format]:
        if getattr(arguments, name) != default(name):
            option = "no-warmup" if name == "warmup" else name.replace("_", "-")
            raise ValueError(
                f"--{option} is {only}not for --format {arguments.format}."
            )


def export_packed(arguments: argparse.Namespace, inputs: Sequence[Path]) -> None:
    """Writes the model as it is, with its softmax, vocabulary and mix."""
    output = arguments.output
    check_folder(output)
    check_new(output, inputs)
    from elmo_keras.formats.model_directory import find_model, save_model

    files = find_model(*given_model(arguments))
    kept = {"options": files.options, "mix": files.mix}
    save_model(output, files.bilm(), files.vocabulary, **kept, packed=True)
    print(f"The model is in {output}")


def export_lite(arguments: argparse.Namespace, inputs: Sequence[Path]) -> None:
    output = arguments.output
    if output.suffix != ".tflite":
        raise ValueError(f"The output should end in .tflite. Received: {output}")
    check_file(output)
    check_new(output, inputs)
    from elmo_keras.lite.convert import convert
    from elmo_keras.tasks.layers.task_model import TaskModel

    source = read_source(arguments)
    if isinstance(source, TaskModel):
        raise ValueError(
            "LiteRT gets language models, not models of tasks. Give --layer for the "
            "Elmo layer of the model."
        )
    mix = source.mixes[arguments.representation]
    convert(source, output, arguments.arithmetic or "int8", mix=mix)
    print(f"The model is in {output}")


def check_new(output: Path, inputs: Sequence[Path]) -> None:
    check_apart([output], inputs)
    if output.exists():
        raise FileExistsError(f"{output} exists. Move it, or give another name.")


def write(
    source: "Elmo | TaskModel", arguments: argparse.Namespace
) -> tuple[Path, Sequence[str]]:
    from elmo_keras.export.task_export import export_task
    from elmo_keras.export.version_directory import export_elmo
    from elmo_keras.export.version_info import read_info
    from elmo_keras.tasks.layers.task_model import TaskModel

    fields = dataclasses.fields(ExportOptions)
    options = ExportOptions(**{f.name: getattr(arguments, f.name) for f in fields})
    more = {"version": arguments.version, "warmup": arguments.warmup}
    if isinstance(source, TaskModel):
        version = export_task(source, arguments.output, options, **more)
        return version, about_signatures(read_info(version))
    more["representation"] = arguments.representation
    version = export_elmo(source, arguments.output, options, **more)
    return version, about_use(arguments)


def about_use(arguments: argparse.Namespace) -> tuple[str, str]:
    """How the export is called, where other choices suit other programs."""
    call = (
        "A call returns `default`, or all outputs with as_dict=True (--as-dict: always)"
    )
    if arguments.as_dict:
        call = "A call returns all outputs, or `default` with as_dict=False"
    request = f"Requests name the sentences `{arguments.input_name}`"
    if arguments.input_name != GOOGLE_INPUT_NAME:
        request += f" (--input-name {GOOGLE_INPUT_NAME}: as for google/elmo)"
    return call, request


def about_signatures(info: dict) -> list[str]:
    return [
        f"`{name}`: {', '.join(signature['inputs'])} → {', '.join(signature['outputs'])}"
        for name, signature in info["signatures"].items()
        if name != "serving_default"
    ]


def given_model(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """MODEL and None, or the options and the weights."""
    published = None not in (arguments.options, arguments.weights)
    if (arguments.model is None) != published:
        if not published and arguments.options is arguments.weights is None:
            raise ValueError(
                f"Give MODEL and OUT, such as: {PROGRAM} {arguments.output} exported"
            )
        raise ValueError("Give either MODEL, or --options and --weights.")
    return arguments.model or arguments.options, arguments.weights


def read_source(arguments: argparse.Namespace) -> "Elmo | TaskModel":
    from elmo_keras import Elmo
    from elmo_keras.export.source_model import read_keras_model
    from elmo_keras.tasks.layers.task_model import TaskModel

    model, weights = given_model(arguments)
    choices = {
        "mix": arguments.mix,
        "gamma": arguments.gamma,
        "layer_norm": arguments.layer_norm or None,
        "dropout": arguments.dropout,
        "l2": arguments.l2,
    }
    choices = {name: value for name, value in choices.items() if value is not None}
    if Path(model).suffix == ".keras":
        if choices:
            raise ValueError(
                "--mix, --gamma, --layer-norm, --dropout and --l2 come from the layer in "
                "a .keras MODEL. Leave them out."
            )
        found = read_keras_model(Path(model), arguments.layer)
        if arguments.representation and isinstance(found, TaskModel):
            raise ValueError("--representation needs --layer for a model of a task.")
        return found
    if arguments.layer is not None:
        raise ValueError("--layer needs a .keras MODEL.")
    return Elmo.from_pretrained(model, weights=weights, **choices)


def parser() -> argparse.ArgumentParser:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("model", nargs="?", metavar="MODEL")
    add("output", type=Path, metavar="OUT")
    add("--format", choices=["saved_model", *UNUSED], default="saved_model")
    kind = "of LiteRT's products (default: int8)"
    add("--arithmetic", choices=ARITHMETICS, help=kind)
    add("--options", metavar="FILE", help="options.json, with --weights")
    add("--weights", metavar="FILE", help="HDF5 weights, with --options")
    add("--version", type=positive(int), help="default: the next number")
    add("--archive", action="store_true", help="also write a .tar.gz, for hub.load")
    add("--serving-files", action="store_true", help="also write files for TF Serving")
    add("--no-warmup", dest="warmup", action="store_false", help="no warm-up requests")
    add = p.add_argument_group("mix of the layers").add_argument
    add("--mix", type=numbers, metavar="W0,W1,…", help="weights before the softmax")
    add("--gamma", type=finite_number, help="factor of the mix (default: 1)")
    add("--layer-norm", action="store_true", help="normalise layers before the mix")
    add("--dropout", type=rate, help="dropout rate on the mix, in training")
    add("--l2", type=float, help="the paper's λ, in training")
    add("--layer", metavar="NAME", help="the Elmo layer of a .keras model")
    mix = "index of the mix in that layer (default: 0)"
    add("--representation", type=non_negative(int), default=0, help=mix)
    add = p.add_argument_group("SavedModel").add_argument
    add("--trainable", choices=TRAINABLE, default="mix", help="default: mix")
    add("--dtype", choices=DTYPES, default="float32", help="dtype of the biLM")
    add("--tokenizer", choices=TOKENIZERS, default="spaces", help="default: spaces")
    add("--normalization", choices=["NFC"], help="needs tensorflow-text")
    add = p.add_argument_group("programs that use it").add_argument
    add(
        "--as-dict",
        action="store_true",
        help="a call returns all outputs as a dict unless it says as_dict=False",
    )
    add(
        "--input-name",
        choices=INPUT_NAMES,
        default=INPUT_NAMES[0],
        help="name of the sentences in requests (default: sentences; google/elmo: text)",
    )
    return p


if __name__ == "__main__":
    sys.exit(main())
