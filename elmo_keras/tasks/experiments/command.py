"""The command of a task: `python -m elmo_keras.tasks.NAME`."""

from collections.abc import Sequence

from elmo_keras.cli.command import run_command
from elmo_keras.tasks.experiments import experiment_arguments
from elmo_keras.tasks.experiments.task import Task


def main(
    task: Task, description: str | None, arguments: Sequence[str] | None = None
) -> int:
    program = f"elmo_keras.tasks.{task.name}"
    parser = experiment_arguments.parser(program, task, description)
    options, _ = experiment_arguments.parse(parser, task, arguments)

    def work():
        from elmo_keras.tasks.experiments import experiment, results  # by Keras

        records = experiment.run(task, options, options.variants())
        print(results.results_table(records))

    return run_command(program, work, "Interrupted. The same command resumes.")
