"""elmo-keras' side of the benchmark of epochs; `task_epochs.py` starts it.

python task_epochs_elmo_keras.py TASK [arguments of the task's command]

The checkout is the one that PYTHONPATH names. Each line of standard input asks for an
epoch of training.
"""

import contextlib
import importlib
import json
import sys
import time
from collections.abc import Sequence

import keras

from elmo_keras.tasks.experiments import experiment, experiment_arguments
from elmo_keras.tasks.experiments.examples import read_data


def main(task: str, arguments: Sequence[str]) -> None:
    """Trains an epoch for each line of standard input."""
    with contextlib.redirect_stdout(sys.stderr):
        model, batches = prepared(task, arguments)
    print(json.dumps({"examples": len(batches.examples)}), flush=True)
    for epoch, _ in enumerate(sys.stdin, 1):
        start, processor = time.perf_counter(), time.process_time()
        data = batches.shuffled(1, epoch)
        fitted = model.fit(data, shuffle=False, verbose=0)
        answer = {
            "seconds": time.perf_counter() - start,
            "processor": time.process_time() - processor,
            "loss": fitted.history["loss"][0],
        }
        print(json.dumps(answer), flush=True)


def prepared(name: str, arguments: Sequence[str]):
    """The model of a task's command, and the batches that it trains on."""
    task = importlib.import_module(f"elmo_keras.tasks.{name}.__main__").TASK
    parser = experiment_arguments.parser(name, task, None)
    options, _ = experiment_arguments.parse(parser, task, arguments)
    data = read_data(task, options)
    data = data._replace(dev=data.train[:1], test=[])  # no layers of other texts
    runs = experiment.Experiment(task, options, data)
    (variant,) = options.variants()
    cache = runs._cache(variant)
    keras.utils.set_random_seed(1)
    model = runs._model(variant, runs.data.train)
    batches = runs._batches(runs.data.train, cache, model)
    experiment._build(model, batches)
    return model, batches


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
