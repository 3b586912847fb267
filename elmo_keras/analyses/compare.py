"""Compares variants of an experiment: the paper's Tables 1 to 3 and Figure 1.

    python -m elmo_keras.analyses.compare TASK --table models OPTIONS
    python -m elmo_keras.analyses.compare TASK --table mixes OPTIONS
    python -m elmo_keras.analyses.compare TASK --table places OPTIONS
    python -m elmo_keras.analyses.compare TASK --table shares --picture FILE.png OPTIONS

TASK is the name of a task's command, such as `tag`, and OPTIONS are that command's:
--train, --dev, --elmo MODEL, --output DIR, --seeds 1 2 3, … Each run is kept in
--output; neither another table nor the task's command repeats it. `models` compares no
ELMo and each MODEL; `mixes` compares no ELMo, the last layer, the average of the layers
and the learned mix with λ = 1 and 0.001; `places` compares ELMo at the input, at the
output and at both; `shares` compares the scores without and with ELMo by the share of
the training data. --paired tests whether each row differs from the one before it by
more than chance.
"""

import argparse
import dataclasses
import functools
import importlib
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.analyses.paired_test import paired_test
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.tasks.arguments import parser
from elmo_keras.tasks.data import read_data
from elmo_keras.tasks.layers import PLACES
from elmo_keras.tasks.results import model_file, results_table
from elmo_keras.tasks.task import Task, Variant
from elmo_keras.util.argument_types import Distinct, positive, share
from elmo_keras.util.command import command_parser, run_command
from elmo_keras.util.markdown_table import (
    deviation,
    markdown_table,
    meaning_of_spread,
    percent_spread,
)
from elmo_keras.util.outputs import check_picture
from elmo_keras.util.replacing import replacing

PROGRAM = "elmo_keras.analyses.compare"
TABLES = "models", "mixes", "places", "shares"
SHARES = 0.01, 0.05, 0.1, 0.25, 0.5, 1.0
STRONG, WEAK = 1.0, 0.001  # the paper's λ


class Point(NamedTuple):
    """The scores for one share of the training data, one for each seed."""

    share: float  # above 0, at most 1
    examples: int
    baseline: list[float]
    elmo: list[float]


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    p = command_parser(PROGRAM, __doc__, usage="%(prog)s TASK --table TABLE OPTIONS")
    p.add_argument("task", type=_command, metavar="TASK")
    command = p.parse_args(arguments[:1]).task
    task = command.TASK
    p = parser(PROGRAM, task, command.OPTIONS, __doc__)
    p.prog += f" {task.name}"
    add = p.add_argument_group("comparison").add_argument
    add("--table", choices=TABLES, required=True)
    add("--shares", type=share, nargs="+", action=Distinct, default=SHARES)
    add("--picture", type=Path, metavar="FILE", help="for --table shares: ….png, ….svg")
    add(
        "--paired",
        type=positive(int),
        nargs="?",
        const=1000,
        metavar="SHUFFLES",
        help="test each row against the one before (default: 1000 random exchanges)",
    )
    settings = vars(p.parse_args(arguments[1:]))
    own = {
        name: settings.pop(name) for name in ("table", "shares", "picture", "paired")
    }
    return run_command(PROGRAM, lambda: compare(task(**settings), **own))


def compare(
    task: Task,
    *,
    table: str,
    shares: Sequence[float] = SHARES,
    picture: Path | None = None,
    paired: int | None = None,
) -> None:
    if not task.elmo:
        raise ValueError("Give --elmo MODEL, which is compared with no ELMo.")
    if table != "models" and len(task.elmo) > 1:
        raise ValueError(f"Give one --elmo: all variants of --table {table} share it.")
    if picture and table != "shares":
        raise ValueError("--picture needs --table shares.")
    if picture:
        check_picture(picture, parts_of_model(task.elmo[0]))
    from elmo_keras.tasks.run import run  # by Keras

    compared = variants(task, table, shares)
    runs = run(task, compared)
    if table == "shares":
        points, score = share_points(runs)
        print(shares_table(points, score))
        if picture:
            draw_shares(points, score, picture)
    else:
        print(results_table(runs))
    if paired:
        print()
        print(paired_tests_table(task, compared, shuffles=paired))


def variants(task: Task, table: str, shares: Sequence[float]) -> list[Variant]:
    """The variants that a table compares, the baseline first."""
    models = dataclasses.replace(task, baseline=True).variants()
    if table == "models":
        return models
    baseline, elmo = models
    if table == "mixes":
        fixed = [elmo._replace(layers=layers) for layers in ("top", "average")]
        learned = [elmo._replace(layers="mix", l2=l2) for l2 in (STRONG, WEAK)]
        return [baseline, *fixed, *learned]
    if table == "places":
        return [baseline, *(elmo._replace(elmo_at=place) for place in PLACES)]
    return [v._replace(share=share) for share in shares for v in (baseline, elmo)]


def paired_tests_table(
    task: Task, compared: Sequence[Variant], *, shuffles: int
) -> str:
    """Tests each variant against the one before it, if it has as much data."""
    import keras

    data = read_data(task)
    examples = data.test or data.dev

    @functools.lru_cache(2)  # a variant is in two pairs, one after the other
    def statistics(variant):
        paths = [task.output / model_file(variant, seed) for seed in task.seeds]
        models = [keras.models.load_model(path, compile=False) for path in paths]
        return [task.evaluate(model, examples) for model in models]

    rows = []
    for first, second in itertools.pairwise(compared):
        if first.share == second.share:
            outcome = paired_test(
                statistics(first),
                statistics(second),
                task.first_score,
                shuffles=shuffles,
            )
            difference = f"{100 * outcome.difference:+.2f}"
            rows.append((first.name, second.name, difference, f"{outcome.p:.3f}"))
    return markdown_table(["variant", "and", "difference", "p"], rows, n_left=2)


def share_points(runs: Sequence[dict]) -> tuple[list[Point], str]:
    """The deciding scores by the share of the data, and their name."""
    part = "test" if all(run["test"] for run in runs) else "dev"
    score = next(iter(runs[0][part]))
    points: dict[float, Point] = {}
    for run in runs:
        share = run["settings"]["share"]
        point = points.setdefault(share, Point(share, run["examples"], [], []))
        scores = point.elmo if run["mixes"] else point.baseline
        scores.append(run[part][score])
    return list(points.values()), f"{part} {score}"


def shares_table(points: Sequence[Point], score: str) -> str:
    head = ["share", "examples", f"{score}, baseline", f"{score}, ELMo", "gain"]
    rows = [
        (
            f"{100 * point.share:g}%",
            f"{point.examples:,}",
            percent_spread(point.baseline),
            percent_spread(point.elmo),
            f"{100 * (np.mean(point.elmo) - np.mean(point.baseline)):+.2f}",
        )
        for point in points
    ]
    return markdown_table(head, rows)


def draw_shares(points: Sequence[Point], score: str, path: Path) -> None:
    """Draws both scores against the share, with the deviations that the table shows."""
    from matplotlib.figure import Figure

    points = sorted(points)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    shares = [100 * point.share for point in points]
    curves = (
        ("with ELMo", [point.elmo for point in points], "o-", "black"),
        ("baseline", [point.baseline for point in points], "s--", "tab:gray"),
    )
    for name, scores, style, color in curves:
        means = [100 * np.mean(values) for values in scores]
        bars = [100 * deviation(values) for values in scores]
        axes.errorbar(
            shares, means, bars, fmt=style, color=color, label=name, capsize=3
        )
    axes.set(xscale="log", xlabel="share of the training data", ylabel=f"{score} (%)")
    n_seeds = [len(scores) for p in points for scores in (p.baseline, p.elmo)]
    axes.set_title(meaning_of_spread(n_seeds), fontsize="medium")
    axes.set_xticks(shares, labels=[f"{share:g}%" for share in shares])
    axes.set_xticks([], minor=True)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)


def _command(name):
    """The command of the task with this name, also if its folder in `tasks` is new."""
    try:
        return importlib.import_module(f"elmo_keras.tasks.{name}.__main__")
    except ModuleNotFoundError as error:
        if not error.name.startswith("elmo_keras.tasks."):
            raise
        raise argparse.ArgumentTypeError(
            f"there is no task {name}; give one that has a command, such as tag"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
