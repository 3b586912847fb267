"""The command `layer-weights`."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.files import replacing
from elmo_keras.util.arguments import Paths
from elmo_keras.util.command import import_tensorflow
from elmo_keras.util.markdown_table import (
    deviation,
    markdown_table,
    meaning_of_spread,
    spread,
)
from elmo_keras.util.outputs import check_picture


class LearnedMix(NamedTuple):
    """The mix of a variant at a place, over its seeds."""

    name: str  # the folder, and the variant if there are several
    place: str  # "input" or "output" of the task's network
    weights: np.ndarray  # the layers' shares, (seeds, layers)
    gammas: np.ndarray  # (seeds,)


def layer_weights(results: Paths, /, *, picture: Path | None = None) -> None:
    """Shows which layers tasks learned to use: the paper's Figure 2.

    The files are written by the commands of the tasks; a row has the name of the file's
    folder. Only learned mixes are shown.

        elmo-keras layer-weights pos/results.json ner/results.json
        elmo-keras layer-weights */results.json --picture weights.png

    Args:
        results: results.json of the tasks' commands
        picture: ….png, ….svg or ….pdf
    """
    if picture:
        check_picture(picture, results)
    mixes = [mix for path in results for mix in learned_mixes(path)]
    print(weights_table(mixes))
    if picture:
        draw_weights(mixes, picture)


def learned_mixes(path: Path) -> list[LearnedMix]:
    import_tensorflow()
    from elmo_keras.tasks.results import read_results

    mixes: dict[tuple[str, str], list[dict]] = {}
    path.stat()  # `read_results` accepts a missing file
    for run in read_results(path):
        if run.get("settings", {}).get("layers") == "mix":
            for place, mix in run.get("mixes", {}).items():
                mixes.setdefault((run["variant"], place), []).append(mix)
    if not mixes:
        raise ValueError(f"{path} should hold runs with ELMo and a learned mix.")
    variants = {variant for variant, _ in mixes}
    return [
        LearnedMix(
            path.resolve().parent.name + (f" {variant}" if len(variants) > 1 else ""),
            place,
            np.array([mix["weights"] for mix in of_seeds]),
            np.array([mix["gamma"] for mix in of_seeds]),
        )
        for (variant, place), of_seeds in mixes.items()
    ]


def weights_table(mixes: Sequence[LearnedMix]) -> str:
    """A row for each mix: the layers' shares and γ, mean ± deviation over seeds."""
    n_layers = max(mix.weights.shape[1] for mix in mixes)
    head = ["task", "place", "seeds", *(f"layer {i}" for i in range(n_layers)), "γ"]
    rows = []
    for mix in mixes:
        values = [
            spread(column.tolist(), digits=3) for column in (*mix.weights.T, mix.gammas)
        ]
        values[-1:-1] = [""] * (n_layers - mix.weights.shape[1])
        rows.append([mix.name, mix.place, str(len(mix.gammas)), *values])
    return markdown_table(head, rows)


def draw_weights(mixes: Sequence[LearnedMix], path: Path) -> None:
    from matplotlib.figure import Figure

    panels = {p: [mix for mix in mixes if mix.place == p] for p in ("input", "output")}
    panels = {place: panel for place, panel in panels.items() if panel}
    if len({mix.weights.shape[1] for mix in mixes}) > 1:
        raise ValueError("A picture needs biLMs with the same number of layers.")
    figure = Figure(figsize=(3 + 1.1 * len(mixes), 3.6), layout="constrained")
    widths = list(map(len, panels.values()))
    [all_axes] = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)
    for axes, (place, panel) in zip(all_axes, panels.items()):
        image = _draw_panel(axes, panel)
        axes.set_title(f"at the {place}")
    meaning = meaning_of_spread(len(mix.gammas) for mix in mixes)
    figure.suptitle(f"Weights of the layers, {meaning}", fontsize="medium")
    figure.colorbar(image, ax=all_axes, label="share of the layer")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)


def _draw_panel(axes, panel):
    """A column for each mix, the last layer on top; in a cell mean and deviation."""
    weights = np.array([mix.weights.mean(axis=0) for mix in panel]).T
    image = axes.imshow(
        weights, cmap="Blues", vmin=0, vmax=1, aspect="auto", origin="lower"
    )
    for (layer, column), weight in np.ndenumerate(weights):
        color = "white" if weight > 0.6 else "black"
        text, values = f"{weight:.2f}", panel[column].weights[:, layer]
        if len(values) > 1:
            text += f"\n± {deviation(values):.2f}"
        axes.text(column, layer, text, color=color, ha="center", va="center")
    axes.set_yticks(range(len(weights)), [f"layer {i}" for i in range(len(weights))])
    names = [mix.name for mix in panel]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image
