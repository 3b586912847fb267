"""Writes the ELMo vectors of a text file, or of many files by a Ray cluster.

    python -m elmo_keras.embed INPUT.txt OUTPUT.hdf5 --model MODEL
    python -m elmo_keras.embed INPUT.txt OUTPUT.parquet --model MODEL
    python -m elmo_keras.embed INPUT.txt OUTPUT.npy --model MODEL
    python -m elmo_keras.embed INPUT… OUTPUT_DIR --engine ray --model MODEL

INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped; `-` is
standard input.
OUTPUT.hdf5 has a dataset for each line, named by its number from 0; OUTPUT.parquet
has a row for each line; OUTPUT.npy has one array with the mean over the tokens of
each line. With Ray, INPUT can also be JSON lines or Parquet, and OUTPUT_DIR is a
folder of Parquet files. After an interruption the same command resumes.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmo_keras.embed.checked_outputs import checked_folder, checked_output
from elmo_keras.embed.corpus import pooling_of, write_vectors
from elmo_keras.embed.embedder import LITE, Embedder
from elmo_keras.embed.sentence_vectors import CHOICES, POOLINGS
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.hub.local_files import ARITHMETIC, MODEL_HELP, local_files
from elmo_keras.util.argument_types import finite_number, layer_or, numbers, positive
from elmo_keras.util.command import (
    DISK_ERRORS,
    INTERRUPTED,
    CommandFailed,
    command_parser,
    fail,
    run_command,
    stopping,
)

PROGRAM = "elmo_keras.embed"
OF_RAY = "address", "workers", "text_column", "id_column", "part_kilobytes"


def parser() -> argparse.ArgumentParser:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    text = "several only with Ray"
    add("inputs", nargs="+", type=_input, metavar="INPUT", help=text)
    help_of_output = "….hdf5, ….h5 or ….parquet, or ….npy for means"
    add("output", type=Path, metavar="OUTPUT", help=help_of_output)
    add("--model", metavar="MODEL", help=MODEL_HELP)
    add("--options", metavar="FILE", help="published options.json, with --weights")
    add("--weights", metavar="FILE", help="published HDF5 weights, with --options")
    layers = "all (default), average, top, mix, 0, 1, …"
    add("--layers", type=layer_or(*CHOICES), help=layers)
    mix = "w0,w1,… before the softmax, or a JSON file with `scalars` and `gamma`"
    add("--mix", type=_mix, metavar="WEIGHTS", help=mix)
    add("--gamma", type=finite_number, help="the factor of the mix (default: 1)")
    pooled = "one vector of each line in .npy (default: mean) or .parquet"
    add("--pooling", choices=sorted(POOLINGS), help=pooled)
    add("--float16", action="store_true", help="write numbers in 2 bytes, not 4")
    add("--arithmetic", "--dtype", **ARITHMETIC)
    add("--shard", type=_shard, default=(1, 1), metavar="I/N", help="every N-th line")
    add("--tokens-at-once", type=positive(int), metavar="N")
    add("--cache-megabytes", type=positive(int), default=256, help="for word vectors")
    add("--forget-sentences", action="store_true", help="leave out their texts")
    overwrite = "replace an earlier output as soon as the new one is finished"
    add("--overwrite", action="store_true", help=overwrite)
    add = p.add_argument_group("with Ray (pip install 'elmo-keras[ray]')").add_argument
    add("--engine", choices=["ray"], help="compute on the machines of a Ray cluster")
    where = "of a cluster, or auto (default: RAY_ADDRESS, or this machine alone)"
    add("--address", help=where)
    number = "processes that compute (default: one on each GPU, or each processor)"
    add("--workers", type=positive(int), metavar="N", help=number)
    column = "of JSON lines and Parquet: strings or lists of tokens (default: text)"
    add("--text-column", metavar="NAME", help=column)
    ids = "of JSON lines and Parquet: numbers or strings (default: numbers from 0)"
    add("--id-column", metavar="NAME", help=ids)
    size = "text of a part, the least work that a kill can cost (default: 256)"
    add("--part-kilobytes", type=positive(int), metavar="N", help=size)
    return p


def _input(text):
    return Path("/dev/stdin" if text == "-" else text)


def _mix(text):
    try:
        path = Path(text)
        if not path.exists():
            return {"scalars": numbers(text), "gamma": 1.0}
        mix = json.loads(path.read_text())
        weights = [finite_number(weight) for weight in mix["scalars"]]
        gamma = finite_number(mix.get("gamma", 1.0))
        return {"scalars": weights, "gamma": gamma, "files": [path]}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise argparse.ArgumentTypeError(
            f"should be numbers w0,w1,… or a JSON file with `scalars`: {error!r}"
        ) from None


def _shard(text):
    try:
        index, count = map(int, text.split("/"))
    except ValueError:
        index, count = 0, 0
    if not 1 <= index <= count:
        raise argparse.ArgumentTypeError(f"should be I/N, I from 1 to N, not {text}")
    return index, count


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: embed(options))


def embed(options: argparse.Namespace) -> int:
    check_options(options)
    with contextlib.ExitStack() as files:
        # Opened before the model is read: a missing file is reported at once, and the
        # writer of a pipe keeps its reader.
        for path in options.inputs if options.engine is None else []:
            files.enter_context(path.open("rb"))
        output = output_of(options)
        # A published model is downloaded while Ctrl-C still ends the command at once.
        model = options.model or options.options
        local_files(model, options.weights)
        settings = chosen_mix(options) | {
            "weights": options.weights,
            "pooling": pooling_of(output, options.pooling),
            "dtype": "float16" if options.float16 else "float32",
            "arithmetic": options.arithmetic,
            "tokens_at_once": options.tokens_at_once,
            "cache_bytes": options.cache_megabytes * 2**20,
        }
        ways = {
            "forget_sentences": options.forget_sentences,
            "overwrite": options.overwrite,
            "verbose": 1,
        }
        with stopping() as stop:
            ways |= {"stop": stop.is_set}
            try:
                if options.engine is None:
                    ways |= {"shard": options.shard}
                    embedder = Embedder(model, **settings)
                    summary = write_vectors(embedder, *options.inputs, output, **ways)
                else:
                    summary = write_folder(model, options, **settings, **ways)
            except OSError as error:
                if error.errno not in DISK_ERRORS:
                    raise
                raise CommandFailed(
                    f"{error}. What was written is kept; the same command resumes."
                ) from error
    print(summary)
    if summary.finished:
        return 0
    return fail(PROGRAM, INTERRUPTED, "Interrupted. The same command resumes.")


def check_options(options: argparse.Namespace) -> None:
    if options.engine is None:
        given = [name for name in OF_RAY if getattr(options, name) is not None]
        if given or len(options.inputs) > 1:
            what = f"--{given[0].replace('_', '-')}" if given else "More than one INPUT"
            raise ValueError(f"{what} works only with --engine ray.")
    elif options.shard != (1, 1):
        raise ValueError("--shard works without --engine; Ray divides the text itself.")
    if options.layers not in (None, "mix") and options.mix:
        raise ValueError("--mix works only with --layers mix.")
    if options.gamma is not None and not (options.mix or options.layers == "mix"):
        raise ValueError(
            "--gamma needs --mix, or --layers mix for the model's own mix."
        )
    given = options.model, options.options, options.weights
    if [path is not None for path in given] not in ([1, 0, 0], [0, 1, 1]):
        raise ValueError("Give --model, or --options and --weights.")


def output_of(options: argparse.Namespace) -> Path:
    inputs = [*options.inputs, *(options.mix or {}).get("files", [])]
    if options.model:
        inputs += parts_of_model(options.model)
    else:
        inputs += Path(options.options), Path(options.weights)
    if options.engine is not None:
        return checked_folder(options.output, inputs, overwrite=options.overwrite)
    return checked_output(
        options.output,
        inputs,
        shard=options.shard,
        pooling=options.pooling,
        overwrite=options.overwrite,
    )


def chosen_mix(options: argparse.Namespace) -> dict[str, Any]:
    mix = options.mix
    if not mix and options.layers != "mix":
        return {"layers": "all" if options.layers is None else options.layers}
    if not mix and Path(options.model or "").suffix == LITE:
        return {"layers": "mix", "gamma": options.gamma}
    if not mix:
        from elmo_keras.formats.model_directory import find_model

        model = options.model or options.options
        own = find_model(model, options.weights).mix
        if own is None:
            raise ValueError(f"{model} comes with no mix. Give its weights as --mix.")
        mix = own._asdict()
    gamma = mix["gamma"] if options.gamma is None else options.gamma
    return {"layers": mix["scalars"], "gamma": gamma}


def write_folder(model: str, options: argparse.Namespace, **given: Any) -> Any:
    try:
        from elmo_keras.embed.on_ray.ray_job import embed_on_ray
    except ModuleNotFoundError as error:
        raise ImportError(
            f"--engine ray needs {error.name}: pip install 'elmo-keras[ray]'."
        ) from error
    of_ray = {name: getattr(options, name) for name in OF_RAY if getattr(options, name)}
    if kilobytes := of_ray.pop("part_kilobytes", None):
        of_ray |= {"piece_bytes": kilobytes * 2**10}
    return embed_on_ray(model, options.inputs, options.output, **of_ray, **given)


if __name__ == "__main__":
    sys.exit(main())
