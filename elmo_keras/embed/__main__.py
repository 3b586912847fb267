"""Writes the ELMo vectors of a text file.

    python -m elmo_keras.embed INPUT.txt OUTPUT.hdf5 --model MODEL_DIR
    python -m elmo_keras.embed INPUT.txt OUTPUT.npy --model MODEL_DIR

INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped.
OUTPUT.hdf5 has a dataset for each line, named by its number from 0; OUTPUT.npy one
array with the mean over the tokens of each line. Stopped or killed, the same command
goes on.
"""

import argparse
import errno
import json
import sys
from pathlib import Path

from elmo_keras.elmo import Elmo
from elmo_keras.embedding import embed_corpus
from elmo_keras.embedding.vectors import CHOICES
from elmo_keras.stopping import INTERRUPTED, stopping
from elmo_keras.training_arguments import positive

DISK_FAILS = errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog="python -m elmo_keras.embed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = p.add_argument
    add("input", type=Path, metavar="INPUT")
    add("output", type=Path, metavar="OUTPUT", help="….hdf5, or ….npy for the means")
    add("--model", metavar="MODEL", help="a model directory or a zip; or")
    add("--options", metavar="FILE", help="published options.json, and")
    add("--weights", metavar="FILE", help="published HDF5 weights")
    add("--layers", type=_layers, help="all (default), average, top, mix, 0, 1, …")
    add(
        "--mix",
        type=_mix,
        metavar="WEIGHTS",
        help="w0,w1,… before the softmax, or a file of JSON with these as `scalars` "
        "and `gamma`",
    )
    add("--gamma", type=float, help="the mix's factor (default: 1)")
    add("--float16", action="store_true", help="write half as many bytes")
    add(
        "--dtype",
        default="float32",
        choices=["float32", "mixed_bfloat16", "bfloat16"],
        help="that of the arithmetic",
    )
    add("--shard", type=_shard, default=(1, 1), metavar="I/N", help="every N-th line")
    add("--tokens-at-once", type=positive(int), default=2**13)
    add("--cache-megabytes", type=positive(int), default=256, help="of word vectors")
    add("--forget-sentences", action="store_true", help="no sentence_to_index")
    add("--overwrite", action="store_true", help="throw away what is there already")
    return p


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = parser().parse_args(arguments)
    try:
        with stopping() as stop:
            return embed(arguments, stop)
    except (ValueError, ImportError) as error:
        return fail(2, error)
    except KeyboardInterrupt:
        return fail(INTERRUPTED, "Interrupted.")
    except OSError as error:
        if error.errno in DISK_FAILS:
            return fail(
                1, f"{error}. What was written is kept; the same command goes on."
            )
        return fail(2, error)


def embed(arguments, stop) -> int:
    """Writes the vectors: the exit status."""
    with arguments.input.open("rb"):  # looked for first, and a pipe keeps its reader
        summary = embed_corpus(
            read_model(arguments),
            arguments.input,
            arguments.output,
            chosen_layers(arguments),
            "float16" if arguments.float16 else "float32",
            arguments.shard,
            arguments.tokens_at_once,
            arguments.cache_megabytes * 2**20,
            arguments.forget_sentences,
            arguments.overwrite,
            verbose=1,
            stop=stop,
        )
    print(summary)
    if summary.finished:
        return 0
    return fail(INTERRUPTED, "Interrupted. The same command goes on.")


def read_model(arguments) -> Elmo:
    """The model, with the mix that is asked for."""
    given = arguments.model, arguments.options, arguments.weights
    if [path is not None for path in given] not in ([1, 0, 0], [0, 1, 1]):
        raise ValueError("Give --model, or --options and --weights.")
    elmo = Elmo.from_pretrained(
        arguments.model or arguments.options, arguments.weights, dtype=arguments.dtype
    )
    if chosen_layers(arguments) == "mix":
        set_mix(elmo, arguments)
    return elmo


def chosen_layers(arguments):
    """Those of --layers, those that --mix stands for, or all."""
    if arguments.layers not in (None, "mix") and arguments.mix:
        raise ValueError("--mix goes with --layers mix only.")
    if not arguments.mix and (arguments.layers == "mix" or arguments.gamma is not None):
        raise ValueError("--layers mix and --gamma need the weights of --mix.")
    if arguments.mix:
        return "mix"
    return "all" if arguments.layers is None else arguments.layers


def set_mix(elmo, arguments):
    """Gives the model's mix its weights."""
    mix, n_layers = elmo.mixes[0], elmo.config.n_layers + 1
    weights, gamma = arguments.mix["scalars"], arguments.mix.get("gamma", 1.0)
    if len(weights) != n_layers:
        raise ValueError(
            f"--mix should hold {n_layers} weights, one for each layer. Received: "
            f"{weights}"
        )
    mix.scalars.assign(weights)
    mix.gamma.assign(gamma if arguments.gamma is None else arguments.gamma)


def fail(status, error) -> int:
    """Tells an error in a line on standard error; returns the exit status."""
    print(f"elmo_keras.embed: {error}", file=sys.stderr)
    return status


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
            return {"scalars": [float(weight) for weight in text.split(",")]}
        mix = json.loads(path.read_text())
        weights = [float(weight) for weight in mix["scalars"]]
        return {"scalars": weights, "gamma": float(mix.get("gamma", 1.0))}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise argparse.ArgumentTypeError(
            f"should be numbers w0,w1,… or a file of JSON with `scalars`: {error!r}"
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
