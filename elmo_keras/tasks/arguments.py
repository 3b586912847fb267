"""The command line of a task."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.hub.local_files import ARITHMETIC, MODEL_HELP
from elmo_keras.tasks.layers import PLACES
from elmo_keras.tasks.task import Task
from elmo_keras.util.argument_types import (
    Distinct,
    layer_or,
    non_negative,
    positive,
    rate,
    seed,
    share,
)
from elmo_keras.util.command import command_parser, run_command

COUNT = positive(int)
UNITS = {"type": COUNT, "help": "LSTM size per direction"}
SPLIT = {"choices": ["spaces", "punctuation"], "help": "how to split text"}
OPTIONS = {
    "data": {
        "train": dict(type=Path, required=True, metavar="FILE"),
        "dev": dict(
            type=Path, metavar="FILE", help="its score decides when training stops"
        ),
        "test": dict(type=Path, metavar="FILE", help="scored with the best weights"),
        "dev_share": dict(type=share, help="of --train, without --dev (0.2)"),
        "limit": dict(type=COUNT, metavar="N", help="first N training examples"),
        "share": dict(type=share, help="random part of --train, by seed"),
        "output": dict(
            type=Path,
            required=True,
            metavar="DIR",
            help="folder of results.json and the models; finished runs are not repeated",
        ),
    },
    "ELMo": {
        "elmo": dict(
            action="append",
            metavar="MODEL",
            help=f"{MODEL_HELP}; repeat it to compare several",
        ),
        "baseline": dict(action="store_true", help="train the baseline as well"),
        "elmo_at": dict(choices=PLACES, help="where ELMo is added"),
        "layers": dict(
            type=layer_or("mix", "average", "top"),
            help="mix (default), average, top, 0, 1, …",
        ),
        "l2": dict(type=non_negative(float), metavar="λ", help="L2 penalty on the mix"),
        "layer_norm": dict(
            action="store_true", help="normalise each layer of a token before the mix"
        ),
        "gamma": dict(
            type=positive(float),
            metavar="γ",
            help="what the mix's factor starts from (1)",
        ),
        "elmo_dropout": dict(type=rate),
        "fine_tune": dict(action="store_true", help="train the biLM as well"),
        "arithmetic": ARITHMETIC,
        "no_cache": dict(action="store_true", help="run a frozen biLM in every epoch"),
    },
    "training": {
        "seeds": dict(type=seed, nargs="+", action=Distinct),
        "epochs": dict(type=COUNT, help="maximum (default: 50)"),
        "patience": dict(type=COUNT, help="epochs without a better dev score"),
        "batch_size": dict(type=COUNT),
        "learning_rate": dict(type=positive(float)),
        "dropout": dict(type=rate, help="on word and character vectors"),
        "word_dim": dict(
            type=COUNT, metavar="N", help="default: 100, or as --word-vectors"
        ),
        "word_vectors": dict(
            type=Path,
            metavar="FILE",
            help="vectors that words start with: GloVe, word2vec (text or binary)",
        ),
        "freeze_word_vectors": dict(
            action="store_true", help="don't train any of them"
        ),
        "character_dim": dict(type=COUNT),
    },
}


def parser(
    program: str, task: type[Task], options: Mapping[str, Any], text: str | None
):
    p = command_parser(program, text)
    for title, group in {**OPTIONS, task.name: options}.items():
        add = p.add_argument_group(title).add_argument
        for name, settings in group.items():
            flag = f"--{name.replace('_', '-')}"
            add(flag, default=argparse.SUPPRESS, **settings)
    return p


def main(
    task: type[Task],
    options: Mapping[str, Any],
    text: str | None,
    arguments: Sequence[str] | None = None,
) -> int:
    program = f"elmo_keras.tasks.{task.name}"
    settings = vars(parser(program, task, options, text).parse_args(arguments))

    def work():
        from elmo_keras.tasks.results import results_table
        from elmo_keras.tasks.run import run  # by Keras

        print(results_table(run(task(**settings))))

    return run_command(program, work, "Interrupted. The same command resumes.")
