"""Trains the rows of the paper's Tables 1 to 3 and Figure 1, and prints them.

    python examples/paper.py ner models --models en --paired --train A --dev B --output DIR
    python examples/paper.py entail mixes --model en --seeds 1 2 3 --train A --output DIR
    python examples/paper.py ner places --model en --train A --output DIR
    python examples/paper.py ner shares --model en --picture shares.png --train A --output DIR
    python examples/paper.py weights DIR …

Rows are trained as the tables of the research notes were: with trained vectors of words and
characters, in float32, at a constant rate, until 5 epochs are no better.

Tables: `models`, no ELMo and each model (Table 1); `mixes`, no ELMo, the last layer, the
average and the learned mix with λ = 1 and 0.001 (Table 2); `places`, ELMo at the input, at
the output, at both (Table 3); `shares`, both by the share of the training data (Figure 1);
`weights`, the layers that runs in DIR learned to use (Figure 2). Other options are those of
`elmo-keras train-head KIND`. DIR/ROW-SEED holds each run, and no run is made twice.

With `--paired`, each row is tested against the one before by approximate randomization
(Noreen 1989; Yeh 2000): p is the share of 1,000 random exchanges of the two rows'
predictions after which the mean scores differ at least as much.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import cyclopts
import numpy as np

from elmo_keras.config import Arithmetic
from elmo_keras.heads import Settings, train_task
from elmo_keras.heads.head import load_task_model
from elmo_keras.heads.kinds import KINDS, load
from elmo_keras.heads.labels import LabelTask
from elmo_keras.heads.run import read_data

FIELDS = cyclopts.Parameter(name="*")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PaperSettings(Settings):
    """Words and characters beside ELMo in each row, a constant rate, early stopping."""

    no_layer_norm: bool = True
    elmo_dropout: float = 0.5
    arithmetic: Arithmetic | None = "float32"
    schedule: Literal["constant", "cosine"] = "constant"
    epochs: int | None = 50
    patience: int | None = 5
    character_dim: int | None = 64

    def of_task(self, task: Any) -> "PaperSettings":
        """With the sizes of a task's model, unless they are given."""
        units = self.units or (50 if isinstance(task, LabelTask) else 100)
        word_dim = self.word_dim or (None if self.word_vectors else 100)
        return dataclasses.replace(self, units=units, word_dim=word_dim)


SEVERAL = cyclopts.Parameter(consume_multiple=True)
SHARES = 0.01, 0.05, 0.1, 0.25, 0.5, 1.0
MIXES = ("top", 0.001), ("average", 0.001), ("mix", 1.0), ("mix", 0.001)
app = cyclopts.App(help=__doc__, default_parameter=cyclopts.Parameter(negative=()))


def rows_of(
    table: str, settings: Settings, models: Sequence[str], shares: Sequence[float]
) -> dict[str, Settings]:
    """The settings of each row, by its name; the rows without ELMo come first."""
    replace = dataclasses.replace
    baseline = {"baseline": replace(settings, model=None)}
    if table == "models":
        named = {Path(model).stem: replace(settings, model=model) for model in models}
        return baseline | named
    if settings.model in (None, "none"):
        raise ValueError("Give --model, which is compared with no ELMo.")
    if table == "mixes":
        return baseline | {
            f"{layers}-{l2:g}": replace(settings, layers=layers, l2=l2)
            for layers, l2 in MIXES
        }
    if table == "places":
        places: tuple[Any, ...] = "input", "output", "both"
        return baseline | {p: replace(settings, elmo_at=p) for p in places}
    return {
        f"{name}-{share:g}": replace(settings, model=model, share=share)
        for share in shares
        for name, model in (("baseline", None), ("elmo", settings.model))
    }


def run(task: Any, rows: dict[str, Settings], seeds: Sequence[int]) -> dict[str, list]:
    """The results of each row with each seed; trains those that are missing."""
    caches: dict = {}
    results = {}
    for name, settings in rows.items():
        results[name] = []
        for seed in seeds:
            print(f"{task.kind}: {name}, seed {seed}", flush=True)
            folder = settings.output / f"{name}-{seed}"
            chosen = dataclasses.replace(settings, output=folder, seed=seed)
            result = train_task(task, chosen, caches=caches, progress=True)
            results[name].append(result)
    return results


def spread(scores: Sequence[float], factor: float = 100) -> str:
    values = factor * np.array(scores)
    deviation = f" ± {values.std(ddof=1):.2f}" if len(values) > 1 else ""
    return f"{values.mean():.2f}{deviation}"


def first_scores(results: list[dict]) -> tuple[str, list[float]]:
    """The name of the first score, of the test examples if there are any, and its values."""
    part = "test" if all(result["test"] for result in results) else "dev"
    name = next(iter(results[0][part]))
    return f"{part} {name}", [result[part][name] for result in results]


def print_table(results: dict[str, list[dict]]) -> None:
    """The scores of each row in percent, and the gain over the last row without ELMo."""
    part = "test" if all(r["test"] for row in results.values() for r in row) else "dev"
    names = list(next(iter(results.values()))[0][part])
    print_row("", *(f"{part} {name}" for name in names), "s/epoch", "gain")
    print_row(*["---"] * (len(names) + 3))
    baseline, base = "", 0.0
    for row, runs in results.items():
        columns = [[run[part][name] for run in runs] for name in names]
        mean = float(np.mean(columns[0]))
        if row.startswith("baseline"):
            baseline, base = row, mean
        gain = f"{100 * (mean - base):+.2f}" if row != baseline else ""
        seconds = np.median([run["seconds_per_epoch"] for run in runs])
        print_row(row, *map(spread, columns), f"{seconds:.1f}", gain)


def print_row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def paired_test(
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    score: Callable[[np.ndarray], float],
    shuffles: int = 1000,
) -> tuple[float, float]:
    """Compares two rows, for each seed the statistics of each example: `(examples, n)`.

    Returns the second one's mean score less the first one's, and p. Predictions are
    exchanged for all seeds at once.
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


def paired_tests(task: Any, rows: dict[str, Settings], seeds: Sequence[int]) -> list:
    """Both names, the difference and p of each row and the one before, on as much data."""
    data = read_data(task, next(iter(rows.values())))
    examples = data.test or data.dev

    def score(statistics):
        return next(iter(task.scores(statistics).values()))

    tests, before, first = [], None, []
    for name, settings in rows.items():
        paths = [settings.output / f"{name}-{seed}" / "model.keras" for seed in seeds]
        second = [statistics_of(task, path, examples) for path in paths]
        if before and rows[before].share == settings.share:
            tests.append((before, name, *paired_test(first, second, score)))
        before, first = name, second
    return tests


def statistics_of(task: Any, path: Path, examples: list[dict]) -> np.ndarray:
    """Counts of a saved model for each example, which `task.scores` adds up."""
    model = load_task_model(path)
    predictions = model.results(model.batches(examples))
    return task.statistics(model, examples, predictions)


def draw_shares(
    rows: dict[str, Settings], results: dict[str, list], path: Path
) -> None:
    """Figure 1: the scores without and with ELMo against the share."""
    from matplotlib.figure import Figure

    axes = (figure := Figure(figsize=(6, 4), layout="constrained")).subplots()
    for kind, style in (("baseline", "s--"), ("elmo", "o-")):
        points = [
            (
                100 * rows[name].share,
                *(f(first_scores(runs)[1]) for f in (np.mean, np.std)),
            )
            for name, runs in results.items()
            if name.startswith(kind)
        ]
        shares, means, deviations = 100 * np.array(points).T
        axes.errorbar(shares / 100, means, deviations, fmt=style, label=kind, capsize=3)
    title, _ = first_scores(next(iter(results.values())))
    axes.set(
        xscale="log", xlabel="share of the training data (%)", ylabel=f"{title} (%)"
    )
    axes.legend()
    figure.savefig(path, dpi=150)


def command(make: type) -> Callable:
    def compare(
        table: Literal["models", "mixes", "places", "shares"],
        /,
        *,
        settings: Annotated[PaperSettings, FIELDS],
        task: Annotated[make | None, FIELDS] = None,  # pyright: ignore[reportInvalidTypeForm]
        models: Annotated[Sequence[str], SEVERAL] = (),
        seeds: Annotated[Sequence[int], SEVERAL] = (1,),
        shares: Annotated[Sequence[float], SEVERAL] = SHARES,
        picture: Path | None = None,
        paired: bool = False,
    ) -> None:
        task = task or make()
        rows = rows_of(table, settings.of_task(task), models, shares)
        results = run(task, rows, seeds)
        print_table(results)
        if picture and table == "shares":
            draw_shares(rows, results, picture)
        if paired:
            print_row("row", "and", "difference", "p")
            for *names, difference, p in paired_tests(task, rows, seeds):
                print_row(*names, f"{100 * difference:+.2f}", f"{p:.3f}")

    return compare


@app.command
def weights(folders: Sequence[Path], /) -> None:
    """Prints the layers' shares in the mixes that runs learned: the paper's Figure 2."""
    mixes: dict[str, list] = {}
    for path in sorted(
        path for folder in folders for path in folder.glob("*/results.json")
    ):
        results = json.loads(path.read_text("utf-8"))
        row = f"{path.parent.parent.name} {path.parent.name.rpartition('-')[0]}"
        if results["settings"]["layers"] == "mix":
            for place, mix in results["mixes"].items():
                mixes.setdefault(f"{row}, {place}", []).append(mix)
    if not mixes:
        raise ValueError(
            f"No run with a learned mix is in {', '.join(map(str, folders))}."
        )
    print_row("run, place", "weights of the layers", "γ")
    print_row("---", "---", "---")
    for row, runs in mixes.items():
        columns = zip(*(run["weights"] for run in runs))
        shares = ", ".join(spread(column, 1) for column in columns)
        print_row(row, shares, spread([run["gamma"] for run in runs], 1))


for kind in KINDS.values():
    app.command(command(load(kind.task)), name=kind.name)

if __name__ == "__main__":
    try:
        app(sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.exit(f"paper.py: {error}")
