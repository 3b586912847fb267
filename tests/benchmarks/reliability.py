"""How much the scores of the package's heads can be relied on, on half of their dev parts.

    python -m tests.benchmarks.reliability DATA WORK [NAME …]

DATA is the folder of the corpora; WORK gets what the recipes of `tools.make_heads` prepare.
The other half of each dev part chose the temperature of the head. A row has answers with
scores up to `at most`, in per cent their mean score and the share of right ones; ECE is the
expected calibration error in 15 bins, without a temperature and with it.
"""

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path

from elmo_keras import pipeline
from elmo_keras.heads import Settings
from elmo_keras.heads.head import HEAD, PREDICATES, read_card
from elmo_keras.heads.kinds import find_kind
from elmo_keras.heads.run import read_data
from elmo_keras.heads.tagger.task import PredicateTagging
from elmo_keras.hub.catalogue import BOX
from tests.benchmarks import runner
from tools import make_heads as make
from tools.calibration import calibration_error, reliability


def main(data: Path, work: Path, /, *names: str) -> None:
    work.mkdir(parents=True, exist_ok=True)
    runner.head("head", "at most", "answers", "score", "right", "ECE before → after")
    for name, recipe in make.recipes(data, work).items():
        has_temperature = bool(find_kind(recipe.task.kind).logits)
        if names and name not in names or not has_temperature:
            continue
        make.prepare(name, data, work)
        heads = {BOX / name: (recipe.task, recipe.settings)}
        if recipe.predicates:
            heads[BOX / name / PREDICATES] = PredicateTagging(), recipe.predicates
        for folder, (task, own) in heads.items():
            dev = read_data(task, settings(work, name, own)).dev
            parts = {"": dev}
            if not recipe.predicates:
                parts = make.held_out_parts(name, recipe, data, dev)
            for text, examples in parts.items():
                title = f"{folder.relative_to(BOX)} {text}".strip()
                score(title, folder, task, examples[1::2])


def settings(work, name, own) -> Settings:
    known = {field.name for field in dataclasses.fields(Settings)}
    options = {"model": name[:2]} | own
    return Settings(output=work, **{k: v for k, v in options.items() if k in known})


def score(name, folder, task, examples) -> None:
    warm, rows = read_card(folder).temperature, {}
    with tempfile.TemporaryDirectory() as temporary:
        cold = Path(temporary, "cold")
        shutil.copytree(folder, cold)
        card = json.loads((cold / HEAD).read_bytes())
        (cold / HEAD).write_text(json.dumps(card | {"temperature": 1.0}))
        for temperature, head in ((1.0, cold), (warm, folder)):
            rows[temperature] = make.scored(pipeline(head), task, examples)
    errors = [f"{100 * calibration_error(*row):.2f}" for row in rows.values()]
    for i, b in enumerate(reliability(*[*rows.values()][-1])):
        cells = f"{b.n_answers:,}", f"{100 * b.score:.1f}", f"{100 * b.right:.1f}"
        title = f"`{name}`, temperature {warm:g}" if not i else ""
        runner.row(title, f"{b.most:g}", *cells, "" if i else " → ".join(errors))


if __name__ == "__main__":
    runner.run(main)
