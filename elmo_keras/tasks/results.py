"""The folder of a task's runs: results.json with an entry for each, and the models."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.files import replacing, whole_file
from elmo_keras.tasks.task import Task
from elmo_keras.util.markdown_table import markdown_table, percent_spread

FILE = "results.json"


def model_file(variant: Task, seed: int) -> str:
    return f"{variant.variant}-{seed}.keras"


def read_results(path: Path) -> list[dict]:
    """The entries of runs; none if there is no file."""
    if not path.exists():
        return []
    try:
        results = json.loads(whole_file(path, 2**28))
        if all("variant" in r and "seed" in r and "dev" in r for r in results):
            return results
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError):
        pass
    raise ValueError(f"{path} should hold the results of a task. Remove it.")


def write_results(path: Path, results: Sequence[Mapping]) -> None:
    with replacing(path) as temporary:
        text = json.dumps(results, indent=1, ensure_ascii=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def results_table(results: Sequence[Mapping]) -> str:
    """The scores of each variant in percent, and the gain over the baseline of its share."""
    # The test examples, if all runs have them, and dev.
    parts = ("test", "dev") if all(r.get("test") for r in results) else ("dev",)
    columns = [(part, name) for part in parts for name in results[0][part]]
    runs: dict[str, list] = {}
    for result in results:
        runs.setdefault(result["variant"], []).append(result)
    scores = {
        variant: [[run[part][name] for run in of_variant] for part, name in columns]
        for variant, of_variant in runs.items()
    }
    rows = []
    for variant, of_variant in runs.items():
        seconds = np.median([run["seconds_per_epoch"] for run in of_variant])
        # The variant without ELMo on the same data.
        baseline = "-share-".join(["baseline", *variant.split("-share-")[1:]])
        gain = ""
        if variant != baseline and baseline in scores:
            means = [np.mean(scores[name][0]) for name in (variant, baseline)]
            gain = f"{100 * (means[0] - means[1]):+.2f}"
        shown = map(percent_spread, scores[variant])
        rows.append([variant, str(len(of_variant)), *shown, f"{seconds:.1f}", gain])
    names = [f"{part} {name}" for part, name in columns]
    return markdown_table(["variant", "seeds", *names, "s/epoch", "gain"], rows)
