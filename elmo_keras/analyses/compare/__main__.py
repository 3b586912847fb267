"""Runs an experiment in several variants: the paper's Tables 2 and 3 and Figure 1.

    python -m elmo_keras.tasks.compare TASK --table mixes OPTIONS
    python -m elmo_keras.tasks.compare TASK --table places OPTIONS
    python -m elmo_keras.tasks.compare TASK --table shares --picture FILE.png OPTIONS

TASK is the name of a task's command, such as `tag`, and OPTIONS are that command's:
--train, --dev, --elmo MODEL_DIR, --output DIR, --seeds 1 2 3, … Each run is kept in
--output, so that none is made twice, also not by another table or by the task's own
command. `mixes` compares no ELMo, the last layer, the average of the layers and the
learned mix with λ = 1 and 0.001; `places` ELMo at the input, at the output and at both;
`shares` the score without and with ELMo over the share of the training data.
"""

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path

from elmo_keras.tasks.analyses.analysis import run
from elmo_keras.tasks.analyses.sample_efficiency import Point, draw_shares, shares_table
from elmo_keras.tasks.experiments import experiment, experiment_arguments
from elmo_keras.tasks.experiments.results import results_table
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.experiments.variants import Variant
from elmo_keras.tasks.models.token_vectors import PLACES

PROGRAM = "elmo_keras.tasks.compare"
TABLES = "mixes", "places", "shares"
SHARES = 0.01, 0.05, 0.1, 0.25, 0.5, 1.0
STRONG, WEAK = 1.0, 0.001  # the paper's λ


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    chooser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        usage=f"python -m {PROGRAM} TASK --table TABLE OPTIONS",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chooser.add_argument("task", type=_task, metavar="TASK")
    task = chooser.parse_args(arguments[:1]).task
    arguments = parser(task).parse_args(arguments[1:])
    return run(PROGRAM, lambda: compare(task, arguments))


def parser(task: Task) -> argparse.ArgumentParser:
    """The command line of a task, and what is compared."""
    p = experiment_arguments.parser(f"compare {task.name}", __doc__)
    task.add_arguments(p)
    add = p.add_argument_group("comparison").add_argument
    add("--table", choices=TABLES, required=True)
    add("--shares", type=experiment_arguments.share, nargs="+", default=SHARES)
    add("--picture", type=Path, metavar="FILE", help="of --table shares: ….png, ….svg")
    return p


def compare(task: Task, arguments: argparse.Namespace) -> int:
    """Makes the runs and prints the table: the exit status."""
    if len(arguments.elmo) != 1:
        raise ValueError("Give one --elmo: the variants are those of one biLM.")
    if arguments.picture and arguments.table != "shares":
        raise ValueError("--picture goes with --table shares only.")
    # What is compared is no setting of a single run.
    settings = vars(arguments)
    table, shares, picture = map(settings.pop, ("table", "shares", "picture"))
    records = experiment.run(task, arguments, variants(arguments, table, shares))
    if table != "shares":
        print(results_table(records))
        return 0
    points, score = share_points(records)
    print(shares_table(points, score))
    if picture:
        draw_shares(points, score, picture)
    return 0


def variants(arguments, table, shares) -> list[Variant]:
    """What a table compares, the baseline first."""
    baseline, elmo = experiment_arguments.variants(
        argparse.Namespace(**vars(arguments) | {"baseline": True})
    )
    if table == "mixes":
        fixed = [elmo._replace(scheme=scheme) for scheme in ("top", "average")]
        learned = [elmo._replace(scheme="learned", l2=l2) for l2 in (STRONG, WEAK)]
        return [baseline, *fixed, *learned]
    if table == "places":
        return [baseline, *(elmo._replace(elmo_at=place) for place in PLACES)]
    return [v._replace(share=share) for share in shares for v in (baseline, elmo)]


def share_points(records) -> tuple[list[Point], str]:
    """The scores that decide, by the share of the data, and what they are called."""
    part = "test" if all(record["test"] for record in records) else "dev"
    score = next(iter(records[0][part]))
    points = []
    for share in dict.fromkeys(record["settings"]["share"] for record in records):
        own = [record for record in records if record["settings"]["share"] == share]
        values = {
            with_elmo: [
                record[part][score]
                for record in own
                if bool(record["mixes"]) == with_elmo
            ]
            for with_elmo in (False, True)
        }
        points.append(Point(share, own[0]["examples"], values[False], values[True]))
    return points, f"{part} {score}"


def _task(name):
    """The task of a module of this package."""
    path = f"{__package__}.{name}" if name.isidentifier() else ""
    module = path and importlib.util.find_spec(path) and importlib.import_module(path)
    if not isinstance(getattr(module, "TASK", None), Task):
        raise argparse.ArgumentTypeError(
            f"there is no task {name}; give one with a command of its own, such as tag"
        )
    return module.TASK


if __name__ == "__main__":
    sys.exit(main())
