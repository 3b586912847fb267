"""The folder of an experiment: results.json with a record for each run, and the models."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import keras
import numpy as np

from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.tasks.experiments.batches import predictions
from elmo_keras.tasks.experiments.examples import read_data
from elmo_keras.tasks.experiments.experiment_arguments import ExperimentOptions, Variant
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.text.files import whole_file
from elmo_keras.util.markdown_table import markdown_table, percent_spread
from elmo_keras.util.outputs import check_apart, check_file, check_folder
from elmo_keras.util.replacing import replacing

FILE = "results.json"


def model_file(variant: str, seed: int) -> str:
    return f"{variant}-{seed}.keras"


def check_output(options: ExperimentOptions, variants: Sequence[Variant]) -> None:
    """Refuses a folder that can't be written, or whose files would replace an input."""
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


def read_results(path: Path) -> list[dict]:
    if not path.exists():
        return []
    try:
        records = json.loads(whole_file(path, 2**28))
        if all("variant" in r and "seed" in r and "dev" in r for r in records):
            return records
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError):
        pass
    raise ValueError(f"{path} should hold the results of a task. Remove it.")


def write_results(path: Path, records: Sequence[Mapping]) -> None:
    with replacing(path) as temporary:
        text = json.dumps(records, indent=1, ensure_ascii=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def results_table(records: Sequence[Mapping]) -> str:
    """The scores of each variant in percent, and the gain over the baseline of its share."""
    # The test examples, if all runs have them, and dev.
    parts = ("test", "dev") if all(r.get("test") for r in records) else ("dev",)
    columns = [(part, name) for part in parts for name in records[0][part]]
    runs: dict[str, list] = {}
    for record in records:
        runs.setdefault(record["variant"], []).append(record)
    scores = {
        variant: [[record[part][name] for record in own] for part, name in columns]
        for variant, own in runs.items()
    }
    rows = []
    for variant, own in runs.items():
        seconds = np.median([record["seconds_per_epoch"] for record in own])
        # The variant without ELMo on the same data.
        baseline = "-share-".join(["baseline", *variant.split("-share-")[1:]])
        gain = ""
        if variant != baseline and baseline in scores:
            means = [np.mean(scores[name][0]) for name in (variant, baseline)]
            gain = f"{100 * (means[0] - means[1]):+.2f}"
        shown = map(percent_spread, scores[variant])
        rows.append([variant, str(len(own)), *shown, f"{seconds:.1f}", gain])
    names = [f"{part} {name}" for part, name in columns]
    return markdown_table(["variant", "seeds", *names, "s/epoch", "gain"], rows)


class ScoredRuns:
    """The models of an experiment, and the examples of `--test`, or else the held-out ones."""

    def __init__(self, task: Task, options: ExperimentOptions):
        self._task, self._options = task, options
        data = read_data(task, options)
        self.examples = data.test or data.dev

    def model(self, variant: Variant, seed: int) -> keras.Model:
        path = self._options.output / model_file(variant.name, seed)
        return keras.models.load_model(path, compile=False)

    def numbers(
        self, model: keras.Model, cache: LayerCache | None = None
    ) -> np.ndarray:
        """Those of each example that `score` takes, by layers of a cache, or the model's biLM."""
        size = self._options.batch_size
        batches = self._task.batches(self.examples, cache=cache, batch_size=size)
        return self._task.numbers(model, self.examples, predictions(model, batches))

    def score(self, numbers: np.ndarray) -> float:
        """The first score of examples with these numbers."""
        return float(next(iter(self._task.scores(numbers).values())))
