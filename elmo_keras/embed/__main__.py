"""Writes the ELMo vectors of a text file, or of many files by a Ray cluster.

    python -m elmo_keras.embed INPUT.txt OUTPUT.hdf5 --model MODEL
    python -m elmo_keras.embed INPUT.txt OUTPUT.parquet --model MODEL
    python -m elmo_keras.embed INPUT.txt OUTPUT.npy --model MODEL
    python -m elmo_keras.embed INPUT… OUTPUT_DIR --engine ray --model MODEL

INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped.
OUTPUT.hdf5 has a dataset for each line, named by its number from 0; OUTPUT.parquet
has a row for each line; OUTPUT.npy has one array with the mean over the tokens of
each line. With Ray, INPUT can also be JSON lines or Parquet, and OUTPUT_DIR is a
folder of Parquet files. After an interruption the same command resumes.
"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmo_keras.cli.command import (
    DISK_ERRORS,
    INTERRUPTED,
    CommandFailed,
    fail,
    run_command,
    stopping,
)
from elmo_keras.elmo import Elmo
from elmo_keras.embed import Summary, embed_corpus
from elmo_keras.embed.corpus_output import checked_output, checked_pooling
from elmo_keras.embed.embed_arguments import embed_parser
from elmo_keras.embed.numbered_batches import Shard
from elmo_keras.embed.on_ray.job_folder import checked_folder
from elmo_keras.model_files.model_directory import find_model
from elmo_keras.model_files.model_parts import parts_of_model
from elmo_keras.models.local_files import local_files

PROGRAM = "elmo_keras.embed"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    return embed_parser(PROGRAM, __doc__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: embed(options))


def embed(options: argparse.Namespace) -> int:
    """Reads the model and writes the vectors; returns the exit status."""
    check_engine(options)
    # Opened before the model is read: a missing file is reported at once, and the
    # writer of a pipe keeps its reader.
    with contextlib.ExitStack() as files:
        for path in options.inputs if options.engine is None else []:
            files.enter_context(path.open("rb"))
        layers = chosen_layers(options)
        check_output(options)
        # A published model is downloaded while Ctrl-C still ends the command at once.
        given = options.model or options.options, options.weights
        local_files(*given)
        if layers == "mix" and not options.mix:
            own = find_model(*given).mix
            if own is None:
                raise ValueError(
                    f"{given[0]} comes with no mix. Give its weights as --mix."
                )
            options.mix = own._asdict()
        return write_vectors(options, layers)


def check_engine(options: argparse.Namespace) -> None:
    """Refuses options that the chosen engine doesn't have."""
    of_ray = "address workers text_column id_column part_kilobytes".split()
    if options.engine is None:
        given = [name for name in of_ray if getattr(options, name) is not None]
        if given or len(options.inputs) > 1:
            what = f"--{given[0].replace('_', '-')}" if given else "More than one INPUT"
            raise ValueError(f"{what} works only with --engine ray.")
    elif options.shard != (1, 1):
        raise ValueError("--shard works without --engine; Ray divides the text itself.")


def write_vectors(options: argparse.Namespace, layers: str | int) -> int:
    """Writes the vectors until a signal stops it; returns the exit status."""
    write = write_file if options.engine is None else write_folder
    shared = {
        "pooling": options.pooling,
        "dtype": "float16" if options.float16 else "float32",
        "tokens_at_once": options.tokens_at_once,
        "cache_bytes": options.cache_megabytes * 2**20,
        "forget_sentences": options.forget_sentences,
        "overwrite": options.overwrite,
        "verbose": 1,
    }
    with stopping() as stop:
        try:
            summary = write(options, layers, shared | {"stop": stop.is_set})
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


def write_file(
    options: argparse.Namespace, layers: str | int, shared: dict[str, Any]
) -> Summary:
    """Writes the vectors to a file, by this process."""
    elmo, (source,) = read_model(options, layers), options.inputs
    shard = options.shard
    return embed_corpus(
        elmo, source, options.output, layers=layers, shard=shard, **shared
    )


def write_folder(
    options: argparse.Namespace, layers: str | int, shared: dict[str, Any]
) -> Any:
    """Writes the vectors to a folder of Parquet files, by workers of Ray."""
    try:
        from elmo_keras.embed.on_ray.ray_job import embed_on_ray
    except ModuleNotFoundError as error:
        raise ImportError(
            f"--engine ray needs {error.name}: pip install 'elmo-keras[ray]'."
        ) from error
    layers, gamma = chosen_mix(options, layers)
    columns = {"text_column": options.text_column, "id_column": options.id_column}
    size = {"piece_bytes": (options.part_kilobytes or 0) * 2**10}
    return embed_on_ray(
        options.model or options.options,
        options.inputs,
        options.output,
        weights=options.weights,
        layers=layers,
        gamma=gamma,
        arithmetic=options.dtype,
        workers=options.workers,
        address=options.address,
        **{name: value for name, value in (columns | size).items() if value},
        **shared,
    )


def chosen_mix(
    options: argparse.Namespace, layers: str | int
) -> tuple[str | int | list[float], float]:
    """The layers, or the weights of their mix, and the factor of the mix."""
    if layers != "mix":
        return layers, 1.0
    gamma = options.mix["gamma"] if options.gamma is None else options.gamma
    return options.mix["scalars"], gamma


def check_output(options: argparse.Namespace) -> None:
    """Checks the output before the model is read or downloaded."""
    given = options.model, options.options, options.weights
    if [path is not None for path in given] not in ([1, 0, 0], [0, 1, 1]):
        raise ValueError("Give --model, or --options and --weights.")
    inputs = [*options.inputs, *(options.mix or {}).get("files", [])]
    if options.model:
        inputs += parts_of_model(options.model)
    else:
        inputs += Path(options.options), Path(options.weights)
    if options.engine is not None:
        checked_folder(options.output, inputs, overwrite=options.overwrite)
        return
    checked_pooling(options.pooling, options.output)
    checked_output(
        options.output, Shard(*options.shard), inputs, overwrite=options.overwrite
    )


def read_model(options: argparse.Namespace, layers: str | int) -> Elmo:
    """The model, with the mix of `--mix`, or its own one, if the layers are mixed."""
    elmo = Elmo.from_pretrained(
        options.model or options.options, options.weights, dtype=options.dtype
    )
    if layers == "mix":
        mix = options.mix or {}
        gamma = mix.get("gamma") if options.gamma is None else options.gamma
        elmo.mixes[0].assign(mix.get("scalars"), gamma)
    return elmo


def chosen_layers(options: argparse.Namespace) -> str | int:
    """The layers that `--layers` and `--mix` choose together."""
    if options.layers not in (None, "mix") and options.mix:
        raise ValueError("--mix works only with --layers mix.")
    if options.mix or options.layers == "mix":
        return "mix"
    if options.gamma is not None:
        raise ValueError(
            "--gamma needs --mix, or --layers mix for the model's own mix."
        )
    return "all" if options.layers is None else options.layers


if __name__ == "__main__":
    sys.exit(main())
