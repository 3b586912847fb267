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

from elmo_keras.analyses.compare.paired_test import outcomes_table, paired_test
from elmo_keras.analyses.compare.sample_efficiency import (
    Point,
    draw_shares,
    shares_table,
)
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.tasks import COMMANDS
from elmo_keras.tasks.experiments import experiment_arguments
from elmo_keras.tasks.experiments.experiment_arguments import ExperimentOptions, Variant
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.layers import PLACES
from elmo_keras.util.argument_types import Distinct, positive, share
from elmo_keras.util.command import command_parser, run_command
from elmo_keras.util.outputs import check_picture

PROGRAM = "elmo_keras.analyses.compare"
TABLES = "models", "mixes", "places", "shares"
SHARES = 0.01, 0.05, 0.1, 0.25, 0.5, 1.0
STRONG, WEAK = 1.0, 0.001  # the paper's λ


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    p = command_parser(PROGRAM, __doc__, usage="%(prog)s TASK --table TABLE OPTIONS")
    of_task = p.add_argument("task", type=_task, metavar="TASK")
    of_task.completer = lambda **_: COMMANDS  # of argcomplete
    task = p.parse_args(arguments[:1]).task
    p = experiment_arguments.parser(PROGRAM, task, __doc__)
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
    options, own = experiment_arguments.parse(p, task, arguments[1:])
    return run_command(PROGRAM, lambda: compare(task, options, **own))


def compare(
    task: Task,
    options: ExperimentOptions,
    *,
    table: str,
    shares: Sequence[float],
    picture: Path | None,
    paired: int | None,
) -> None:
    if not options.elmo:
        raise ValueError("Give --elmo MODEL, which is compared with no ELMo.")
    if table != "models" and len(options.elmo) > 1:
        raise ValueError(f"Give one --elmo: all variants of --table {table} share it.")
    if picture and table != "shares":
        raise ValueError("--picture needs --table shares.")
    if picture:
        check_picture(picture, parts_of_model(options.elmo[0]))
    from elmo_keras.tasks.experiments import experiment, results  # by Keras

    compared = variants(options, table, shares)
    records = experiment.run(task, options, compared)
    if table == "shares":
        points, score = share_points(records)
        print(shares_table(points, score))
        if picture:
            draw_shares(points, score, picture)
    else:
        print(results.results_table(records))
    if paired:
        print()
        runs = results.ScoredRuns(task, options)
        tests = _tests(runs, compared, options.seeds, shuffles=paired)
        print(outcomes_table(tests))


def _tests(runs, compared, seeds, *, shuffles):
    """Tests each variant against the one before it, if it has as much data."""

    @functools.lru_cache(2)  # a variant is in two pairs, one after the other
    def numbers(variant):
        return [runs.numbers(runs.model(variant, seed)) for seed in seeds]

    tests = []
    for first, second in itertools.pairwise(compared):
        if first.share != second.share:
            continue
        found = paired_test(
            numbers(first), numbers(second), runs.score, shuffles=shuffles
        )
        tests.append((first.name, second.name, found))
    return tests


def variants(
    options: ExperimentOptions, table: str, shares: Sequence[float]
) -> list[Variant]:
    """The variants that a table compares, the baseline first."""
    given = dataclasses.replace(options, baseline=True).variants()
    if table == "models":
        return given
    baseline, elmo = given
    if table == "mixes":
        fixed = [elmo._replace(scheme=scheme) for scheme in ("top", "average")]
        learned = [elmo._replace(scheme="learned", l2=l2) for l2 in (STRONG, WEAK)]
        return [baseline, *fixed, *learned]
    if table == "places":
        return [baseline, *(elmo._replace(elmo_at=place) for place in PLACES)]
    return [v._replace(share=share) for share in shares for v in (baseline, elmo)]


def share_points(records) -> tuple[list[Point], str]:
    """The deciding scores by the share of the data, and their name."""
    part = "test" if all(record["test"] for record in records) else "dev"
    score = next(iter(records[0][part]))
    points: dict[float, Point] = {}
    for record in records:
        share = record["settings"]["share"]
        point = points.setdefault(share, Point(share, record["examples"], [], []))
        scores = point.elmo if record["mixes"] else point.baseline
        scores.append(record[part][score])
    return list(points.values()), f"{part} {score}"


def _task(name):
    """The task with this name, also if its folder in `tasks` is new."""
    try:
        return importlib.import_module(f"elmo_keras.tasks.{name}.__main__").TASK
    except ModuleNotFoundError as error:
        if not error.name.startswith("elmo_keras.tasks."):
            raise
        raise argparse.ArgumentTypeError(
            f"there is no task {name}; give one that has a command, such as tag"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
