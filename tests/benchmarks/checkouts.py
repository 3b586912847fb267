"""This checkout's speed beside another one's, such as that of an earlier version.

    python -m tests.benchmarks.checkouts OTHER
    python -m tests.benchmarks.checkouts OTHER --only float32-1 help --rounds 9

Both take turns with the same interpreter, text and random weights, each in processes of
its own. A cell is the median of the seconds; `other / this` is the median of the rounds'
ratios: above 1, this checkout is faster.
"""

import contextlib
import functools
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.benchmarks import runner
from tests.benchmarks.embedding import sliced
from tests.benchmarks.serving import Clients, Server, expected_of
from tests.support.paths import DATA


class Setting(NamedTuple):
    """What a measure gets: the checkouts by name, and the folder of model and text."""

    roots: Mapping[str, Path]
    folder: Path
    sentences: list[list[str]]
    rounds: int
    seconds: float


Seconds = dict[str, list[float]]  # of each round, by checkout


def workers(setting: Setting, script: str, *words: str) -> dict[str, runner.Start]:
    return {
        name: functools.partial(
            runner.worker, script, setting.folder, *words, root=root
        )
        for name, root in setting.roots.items()
    }


def asked(setting: Setting, request: str, size: int, *worker: str) -> Seconds:
    """Asks a worker of each checkout for the same work, of batches of `size` if given."""
    more = {"batches": sliced(setting.sentences, size)} if size else {}
    with runner.started(workers(setting, *worker)) as systems:
        return runner.in_turns(
            systems,
            lambda system, _: np.median(system.ask(request, **more)["seconds"]),
            rounds=setting.rounds,
            warm_up=1,
        )


def first_vector(setting: Setting) -> Seconds:
    """From the start of a process to the vectors of a sentence in int8."""
    batches, systems = [setting.sentences[:1]], workers(setting, "ours", "int8")
    return runner.first_answers(
        systems, lambda w: w.ask("run", batches=batches), rounds=setting.rounds
    )


def command_seconds(root: Path, *words: object) -> float:
    """`elmo-keras WORDS` of a checkout, from the start of the process to its end."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    module, function = project["scripts"]["elmo-keras"].split(":")
    code = f"from {module} import {function}; {function}({[*map(str, words)]})"
    begin = time.perf_counter()
    with runner.finished([sys.executable, "-c", code], root=root):
        pass
    return time.perf_counter() - begin


def shown_help(setting: Setting) -> Seconds:
    def run(root: Path, _: int) -> float:
        return command_seconds(root, "--help")

    return runner.in_turns(setting.roots, run, rounds=setting.rounds, warm_up=1)


def trained_head(setting: Setting) -> Seconds:
    """A head of entities, which are the words in capitals, in three epochs."""
    file = setting.folder / "entities.conll"
    tags = {True: "B-CAPITAL", False: "O"}
    rows = (
        "".join(f"{word}\t{tags[word[0].isupper()]}\n" for word in sentence)
        for sentence in setting.sentences
    )
    file.write_text("\n".join(rows), encoding="utf-8")

    def run(root: Path, _: int) -> float:
        # An earlier checkout names the command by what the head does.
        is_earlier = not (root / "elmo_keras" / "heads").exists()
        words = ["tag", "--kind", "ner"] if is_earlier else ["train-head", "ner"]
        words += ["--train", file, "--model", setting.folder, "--epochs", 3]
        output = tempfile.mkdtemp(dir=setting.folder)  # a finished run is not repeated
        return command_seconds(root, *words, "--output", f"{output}/head")

    return runner.in_turns(setting.roots, run, rounds=setting.rounds, warm_up=1)


def served(setting: Setting, clients: int) -> Seconds:
    """The seconds for a request of one sentence, by clients of this process."""
    with contextlib.ExitStack() as stack:
        systems = {}
        for name, root in setting.roots.items():
            export = setting.folder / f"exported-{name}"
            if not export.exists():
                command = [sys.executable, "-m", "export", setting.folder, export]
                with runner.finished(command, root=root):
                    pass
            port = stack.enter_context(Server(export, root=root)).port
            systems[name] = Clients(port, expected_of(port, setting.sentences))

        def ask(system: Clients, _: int) -> float:
            times = system.ask("calls", threads=clients, seconds=setting.seconds)
            return setting.seconds / len(times)

        return runner.in_turns(systems, ask, rounds=setting.rounds, warm_up=1)


MEASURES = {  # name → title, function and its further arguments
    "float32-1": ("sentences one by one", asked, "run", 1, "ours", "embedder"),
    "float32-32": ("batches of 32", asked, "run", 32, "ours", "embedder"),
    "float32-file": ("a file", asked, "file", 0, "ours", "embedder"),
    "int8-1": ("sentences one by one, int8", asked, "run", 1, "ours", "int8"),
    "int8-32": ("batches of 32, int8", asked, "run", 32, "ours", "int8"),
    "int8-file": ("a file, int8", asked, "file", 0, "ours", "int8"),
    "training": (
        "a training step, 128 × 20",
        asked,
        "training",
        0,
        "one_device",
        "small",
    ),
    "pipelines": ("`en-pos` and `en-ner`", asked, "run", 0, "ours", "pipelines"),
    "head": ("a head, from the start of the command to its end", trained_head),
    "serving-1": ("a served request, one client", served, 1),
    "serving-16": ("a served request, 16 clients", served, 16),
    "help": ("`elmo-keras --help`", shown_help),
    "first": ("first vector of a process, int8", first_vector),
}


def main(
    other: Path,
    /,
    *,
    text: Path = DATA / "en_wiki/valid.txt",
    sentences: runner.Count = 256,
    rounds: runner.Count = 5,
    seconds: runner.Positive = 3.0,
    only: Sequence[str] = tuple(MEASURES),
) -> None:
    given = runner.read(text, sentences)
    roots = {"this": runner.ROOT, "other": other.resolve()}
    runner.head("preset small", "this, ms", "other, ms", "other / this")
    with runner.inputs("small", given) as folder:
        setting = Setting(roots, folder, given, rounds, seconds)
        for title, measure, *arguments in map(MEASURES.__getitem__, only):
            found = measure(setting, *arguments)
            this, others = ([1000 * s for s in found[name]] for name in roots)
            ratio = runner.ratio(others, this)
            runner.row(title, runner.spread(this, 1), runner.spread(others, 1), ratio)


if __name__ == "__main__":
    runner.run(main)
