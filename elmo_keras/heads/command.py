"""The commands `train-head` and `evaluate`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from elmo_keras.base.files import replacing
from elmo_keras.base.markdown_table import markdown_table
from elmo_keras.base.messages import printable, waiting
from elmo_keras.commands.command import import_tensorflow
from elmo_keras.commands.outputs import check_file
from elmo_keras.heads.evaluation import MAX_LABELS, MAX_MISTAKES, percentages
from elmo_keras.heads.kinds import KINDS, Kind, load
from elmo_keras.heads.start import load_pipeline
from elmo_keras.heads.task import Settings

FIELDS = Parameter(name="*")  # each field of a dataclass is an option
train_head = App(
    "train-head",
    help="""Trains a head on labelled text: what `annotate`, `ask` and `pipeline` answer by.

    `elmo-keras train-head KIND --help` names the files and the options of a kind.

        elmo-keras train-head ner --train labelled.jsonl --output my-ner
        elmo-keras annotate text.txt --with my-ner
    """,
    default_parameter=Parameter(negative=()),
)


def train_command(kind: Kind) -> Callable[..., None]:
    """The command that trains heads of a kind; its help is the docstring of its task."""
    task_class = load(kind.task)

    def train(*, settings: Settings, task: Any = None) -> None:
        for file in (settings.train, settings.dev, settings.test):
            if file is not None:
                file.stat()  # a missing one is reported before the work
        import_tensorflow()
        from elmo_keras.heads.fit import train_tasks

        for folder, results in train_tasks(
            task or task_class(), settings, progress=True
        ):
            for part in ("dev", "test"):
                if results[part]:
                    name = f"{folder} {part}".strip()
                    print(f"{name}: {percentages(results[part])}")
        print(f"The head is in {settings.output}")

    train.__doc__ = str(task_class.__doc__).partition("    Args:")[0]
    train.__annotations__ = {
        "settings": Annotated[Settings, FIELDS],
        "task": Annotated[task_class | None, FIELDS],
    }
    return train


for _kind in KINDS.values():
    train_head.command(train_command(_kind), name=_kind.name)


def evaluate(
    head: str, file: Path, /, *, output: Path | None = None, overwrite: bool = False
) -> None:
    """Scores a head on a labelled file.

    The scores are those that `train-head` prints for --dev; then come F1 of each label, with
    its number in the file, and the most frequent mistakes.

        elmo-keras evaluate en-ner test.conll
        elmo-keras evaluate my-ner test.jsonl --output predictions.jsonl

    Args:
        head: a name of the package, the folder of a head, a .keras file, or hf://OWNER/NAME
        file: labelled, of a format of the head's kind
        output: ….jsonl: each example with what is predicted for it
        overwrite: replace an earlier output
    """
    if output is not None:
        check_file(output, [file])
        if output.exists() and not overwrite:
            raise ValueError(f"{output} exists. Give another name, or --overwrite.")
    loaded = load_pipeline(head)
    with waiting(f"Evaluating {head}"):
        result = loaded.evaluate(file)
    if output is not None:
        lines = [json.dumps(row, ensure_ascii=False) for row in result.rows()]
        with replacing(output) as temporary:
            text = "".join(f"{line}\n" for line in lines)
            temporary.write_text(text, encoding="utf-8")
    print(f"{len(result.examples):,} examples: {percentages(result.scores)}")
    if result.labels:
        rows = [
            [printable(name), f"{100 * score.f1:.1f}", f"{score.count:,}"]
            for name, score in [*result.labels.items()][:MAX_LABELS]
        ]
        print(f"\n{markdown_table(['label', 'F1', 'number'], rows)}")
        if not any(score.f1 for score in result.labels.values()):
            print(f"\nThe head gives other labels: {', '.join(loaded.labels)}.")
    if result.mistakes:
        rows = [
            [*map(printable, map(str, mistake))]
            for mistake in result.mistakes[:MAX_MISTAKES]
        ]
        columns = ["expected", "predicted", "times"]
        print(f"\n{markdown_table(columns, rows, n_left=2)}")
