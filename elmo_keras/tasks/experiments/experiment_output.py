"""The folder of an experiment, checked before the work."""

from collections.abc import Sequence

from elmo_keras.cli.outputs import check_apart, check_file, check_folder
from elmo_keras.model_files.model_parts import parts_of_model
from elmo_keras.tasks.experiments.experiment_arguments import ExperimentOptions
from elmo_keras.tasks.experiments.results import FILE
from elmo_keras.tasks.experiments.variants import Variant


def model_file(variant: str, seed: int) -> str:
    """The name of the file of a run's model."""
    return f"{variant}-{seed}.keras"


def check_output(options: ExperimentOptions, variants: Sequence[Variant]) -> None:
    """Refuses a folder that can't be written, or whose files would replace an input.

    Args:
        options: the options of a task's command.
        variants: the variants that are compared.

    Raises:
        ValueError: the folder or a file in it can't be written, or is an input.
        OSError: the disk is full or fails.
    """
    folder = options.output
    check_folder(folder)
    names = [model_file(v.name, seed) for v in variants for seed in options.seeds]
    files = [folder / name for name in (FILE, *names)]
    given = options.train, options.dev, options.test, options.word_vectors
    of_models = [part for model in options.elmo for part in parts_of_model(model)]
    check_apart(files, [*filter(None, given), *of_models])
    if folder.exists():
        for file in files:
            check_file(file)
