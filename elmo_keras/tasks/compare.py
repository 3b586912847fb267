"""Compares variants of a task's model: the paper's Tables 1 to 3 and Figure 1."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.files import replacing
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.tasks.data import read_data
from elmo_keras.tasks.results import model_file, results_table
from elmo_keras.tasks.task import Task
from elmo_keras.util.command import import_tensorflow
from elmo_keras.util.markdown_table import (
    deviation,
    markdown_table,
    meaning_of_spread,
)
from elmo_keras.util.outputs import check_picture

STRONG, WEAK = 1.0, 0.001  # the paper's λ


def compare(task: Task) -> None:
    """Trains what is missing, and prints the scores: the paper's Tables 1 to 3."""
    table, picture = task.table, task.picture
    if table and not task.elmo:
        raise ValueError("Give --model, which is compared with no ELMo.")
    if table not in (None, "models") and len(task.elmo) > 1:
        raise ValueError(f"Give one --model: all variants of --table {table} share it.")
    if picture and table != "shares":
        raise ValueError("--picture needs --table shares.")
    if picture:
        check_picture(picture, parts_of_model(task.elmo[0]))
    import_tensorflow()
    from elmo_keras.tasks.run import run

    compared = variants(task)
    runs = run(task, compared)
    print(results_table(runs))
    if picture:
        draw_shares(*share_points(runs), picture)
    if task.paired:
        print()
        head = ["variant", "and", "difference", "p"]
        tests = paired_tests(task, compared)
        rows = [(*names, f"{100 * d:+.2f}", f"{p:.3f}") for *names, d, p in tests]
        print(markdown_table(head, rows, n_left=2))


def variants(task: Task) -> list[Task]:
    """The variants that the task's table compares, the baseline first."""
    if task.table is None:
        return task.variants()
    models = dataclasses.replace(task, baseline=True).variants()
    if task.table == "models":
        return models
    baseline, elmo = models
    if task.table == "mixes":
        changed = [{"layers": "top"}, {"layers": "average"}]
        changed += [{"layers": "mix", "l2": l2} for l2 in (STRONG, WEAK)]
    elif task.table == "places":
        changed = [{"elmo_at": place} for place in ("input", "output", "both")]
    else:
        pairs = [(variant, share) for share in task.shares for variant in models]
        return [dataclasses.replace(v, share=share) for v, share in pairs]
    return [baseline, *(dataclasses.replace(elmo, **options) for options in changed)]


def paired_tests(
    task: Task, compared: Sequence[Task]
) -> list[tuple[str, str, float, float]]:
    """Tests each variant against the one before it, if it has as much data.

    Returns both names, the difference of their scores and p, see `paired_test`.
    """
    import keras

    from elmo_keras.tasks import import_models

    import_models()
    data = read_data(task)
    examples = data.test or data.dev
    tests, before, first = [], None, []
    for variant in compared:
        paths = [task.output / model_file(variant, seed) for seed in task.seeds]
        loaded: list = [keras.models.load_model(path, compile=False) for path in paths]
        second = [task.evaluate(model, examples) for model in loaded]
        if before is not None and before.share == variant.share:
            difference, p = paired_test(first, second, task.first_score)
            tests.append((before.variant, variant.variant, difference, p))
        before, first = variant, second
    return tests


def paired_test(
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    score: Callable[[np.ndarray], float],
    *,
    shuffles: int = 1000,
) -> tuple[float, float]:
    """Tests two variants, for each seed the statistics of each example: (examples, n).

    Returns the second one's mean score less the first one's, and p, the probability of a
    difference at least as large if there were none.

    If two variants were equally good, each example's predictions could as well have come
    from the other variant. So they are exchanged at random, for all seeds at once; p is
    the share of exchanges after which the mean scores differ by at least as much.

    Reference: approximate randomization, Noreen 1989; for F1: Yeh 2000.

    >>> right, wrong = np.ones((20, 1)), np.array([[1], [0]] * 10)
    >>> paired_test([wrong], [right], np.mean, shuffles=99)
    (0.5, 0.01)
    """
    rng = np.random.default_rng(0)

    def difference(exchanged):
        pairs = zip(first, second)
        swapped = [
            (np.where(exchanged, b, a), np.where(exchanged, a, b)) for a, b in pairs
        ]
        return float(np.mean([score(b) - score(a) for a, b in swapped]))

    observed = difference(np.zeros((len(first[0]), 1), bool))
    as_large = 1
    for _ in range(shuffles):
        other = difference(rng.random((len(first[0]), 1)) < 0.5)
        as_large += abs(other) >= abs(observed) - 1e-12  # sums in another order
    return observed, as_large / (shuffles + 1)


class Point(NamedTuple):
    """The scores for one share of the training data, one for each seed."""

    examples: int
    baseline: list[float]
    elmo: list[float]


def share_points(runs: Sequence[dict]) -> tuple[dict[float, Point], str]:
    """The deciding scores by the share of the data, and their name."""
    part = "test" if all(run["test"] for run in runs) else "dev"
    score = next(iter(runs[0][part]))
    points: dict[float, Point] = {}
    for run in runs:
        share = run["settings"]["share"]
        point = points.setdefault(share, Point(run["examples"], [], []))
        scores = point.elmo if run["mixes"] else point.baseline
        scores.append(run[part][score])
    return points, f"{part} {score}"


def draw_shares(points: Mapping[float, Point], score: str, path: Path) -> None:
    """Draws both scores against the share, with the deviations that the table shows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    order = sorted(points)
    shares = [100 * share for share in order]
    elmo = [points[share].elmo for share in order]
    baseline = [points[share].baseline for share in order]
    for name, scores, style, color in (
        ("with ELMo", elmo, "o-", "black"),
        ("baseline", baseline, "s--", "tab:gray"),
    ):
        means = [100 * np.mean(values) for values in scores]
        bars = [100 * deviation(values) for values in scores]
        axes.errorbar(
            shares, means, bars, fmt=style, color=color, label=name, capsize=3
        )
    axes.set(xscale="log", xlabel="share of the training data", ylabel=f"{score} (%)")
    axes.set_title(meaning_of_spread(map(len, elmo + baseline)), fontsize="medium")
    axes.set_xticks(shares, labels=[f"{share:g}%" for share in shares])
    axes.set_xticks([], minor=True)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
