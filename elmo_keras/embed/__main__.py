"""Writes the ELMo vectors of a text file.

    python -m elmo_keras.embed INPUT.txt OUTPUT.hdf5 --model MODEL
    python -m elmo_keras.embed INPUT.txt OUTPUT.parquet --model MODEL
    python -m elmo_keras.embed INPUT.txt OUTPUT.npy --model MODEL

INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped.
OUTPUT.hdf5 has a dataset for each line, named by its number from 0; OUTPUT.parquet
has a row for each line; OUTPUT.npy has one array with the mean over the tokens of
each line. After an interruption the same command resumes.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.cli.argument_types import finite_number, numbers, positive
from elmo_keras.cli.command import (
    DISK_ERRORS,
    INTERRUPTED,
    CommandFailed,
    command_parser,
    fail,
    run_command,
)
from elmo_keras.cli.stopping import stopping
from elmo_keras.elmo import Elmo
from elmo_keras.embed import embed_corpus
from elmo_keras.embed.batch_vectors import CHOICES, POOLINGS
from elmo_keras.embed.corpus_output import checked_output, checked_pooling
from elmo_keras.embed.numbered_batches import Shard
from elmo_keras.model_files.model_directory import find_model
from elmo_keras.model_files.model_parts import parts_of_model
from elmo_keras.models.local_files import MODEL_HELP, local_files

PROGRAM = "elmo_keras.embed"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("input", type=Path, metavar="INPUT")
    help_of_output = "….hdf5, ….h5 or ….parquet, or ….npy for means"
    add("output", type=Path, metavar="OUTPUT", help=help_of_output)
    add("--model", metavar="MODEL", help=MODEL_HELP)
    add("--options", metavar="FILE", help="published options.json, with --weights")
    add("--weights", metavar="FILE", help="published HDF5 weights, with --options")
    add("--layers", type=_layers, help="all (default), average, top, mix, 0, 1, …")
    mix = "w0,w1,… before the softmax, or a JSON file with `scalars` and `gamma`"
    add("--mix", type=_mix, metavar="WEIGHTS", help=mix)
    add("--gamma", type=finite_number, help="the factor of the mix (default: 1)")
    pooled = "one vector of each line in .npy (default: mean) or .parquet"
    add("--pooling", choices=sorted(POOLINGS), help=pooled)
    add("--float16", action="store_true", help="write numbers in 2 bytes, not 4")
    dtypes = ["float32", "mixed_bfloat16", "bfloat16"]
    add("--dtype", default="float32", choices=dtypes, help="dtype of the arithmetic")
    add("--shard", type=_shard, default=(1, 1), metavar="I/N", help="every N-th line")
    add("--tokens-at-once", type=positive(int), default=2**13)
    add("--cache-megabytes", type=positive(int), default=256, help="for word vectors")
    add("--forget-sentences", action="store_true", help="leave out their texts")
    overwrite = "replace an earlier output as soon as the new one is finished"
    add("--overwrite", action="store_true", help=overwrite)
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: embed(options))


def embed(options: argparse.Namespace) -> int:
    """Reads the model and writes the vectors; returns the exit status."""
    # Opened before the model is read: a missing file is reported at once, and the
    # writer of a pipe keeps its reader.
    with options.input.open("rb"):
        layers = chosen_layers(options)
        check_output(options)
        # A published model is downloaded while Ctrl-C still ends the command at once.
        given = options.model or options.options, options.weights
        local_files(*given)
        if layers == "mix" and not options.mix and find_model(*given).mix is None:
            raise ValueError(
                f"{given[0]} comes with no mix. Give its weights as --mix."
            )
        return write_vectors(options, layers)


def write_vectors(options: argparse.Namespace, layers: str | int) -> int:
    """Writes the vectors until a signal stops it; returns the exit status."""
    with stopping() as stop:
        try:
            summary = embed_corpus(
                read_model(options, layers),
                options.input,
                options.output,
                layers=layers,
                pooling=options.pooling,
                dtype="float16" if options.float16 else "float32",
                shard=options.shard,
                tokens_at_once=options.tokens_at_once,
                cache_bytes=options.cache_megabytes * 2**20,
                forget_sentences=options.forget_sentences,
                overwrite=options.overwrite,
                verbose=1,
                stop=stop.is_set,
            )
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


def check_output(options: argparse.Namespace) -> None:
    """Checks the output before the model is read or downloaded."""
    given = options.model, options.options, options.weights
    if [path is not None for path in given] not in ([1, 0, 0], [0, 1, 1]):
        raise ValueError("Give --model, or --options and --weights.")
    inputs = [options.input, *(options.mix or {}).get("files", [])]
    if options.model:
        inputs += parts_of_model(options.model)
    else:
        inputs += Path(options.options), Path(options.weights)
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


def _layers(text):
    if text in CHOICES:
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"should be one of {', '.join(CHOICES)} or the number of a layer, not {text}"
        )
    return int(text)


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


if __name__ == "__main__":
    sys.exit(main())
