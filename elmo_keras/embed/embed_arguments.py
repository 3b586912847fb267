"""The command line of `embed`."""

import argparse
import json
from pathlib import Path

from elmo_keras.cli.argument_types import finite_number, numbers, positive
from elmo_keras.cli.command import command_parser
from elmo_keras.embed.batch_vectors import CHOICES, POOLINGS
from elmo_keras.models.local_files import MODEL_HELP


def embed_parser(program: str, description: str) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        program, description: see `command_parser`.
    """
    p = command_parser(program, description)
    add = p.add_argument
    add("inputs", nargs="+", type=Path, metavar="INPUT", help="several only with Ray")
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
    _add_engine(p.add_argument_group("with Ray (pip install 'elmo-keras[ray]')"))
    return p


def _add_engine(group):
    add = group.add_argument
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
