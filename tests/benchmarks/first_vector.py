"""Measures the time from the start of a process to the vectors of its first sentence.

    python -m tests.benchmarks.first_vector --text FILE

Each start is a new process, and the systems take turns: AllenNLP 2.10.1 (`embedding.py`
says how it is run), `Elmo.layers` called eagerly, and an `Embedder`; with --before, also
those of another checkout. All read the same random weights. "imports" is the time of
`import tensorflow`, of `import keras` after it and of `import elmo_keras` after both: no
system on TensorFlow can be faster than the first.

Keras imports matplotlib where it is installed: --python names an environment without it,
in which elmo-keras' dependencies are installed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from tests.benchmarks.embedding_systems import (
    ALLENNLP,
    allennlp_python,
    write_inputs,
)
from tests.benchmarks.turns import sample
from tests.benchmarks.workers import (
    ENVIRONMENTS,
    HERE,
    ROOT,
    heading,
    machine,
    read,
    row,
    spread,
    use_processors,
)

STAGES = ("import", "read", "first", "second")
IMPORTS = ("tensorflow", "keras", "elmo_keras")
TOTAL = "start to first vectors"
COLUMNS = ("preset", "system", *STAGES, TOTAL, "to AllenNLP", "processor")

Start = dict[str, tuple[float, float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("first_vector.py", lambda: report(options))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--text", required=True, metavar="FILE", type=Path)
    p.add_argument("--presets", nargs="+", default=["small", "original"])
    p.add_argument("--starts", type=positive(int), default=5, help="of each system")
    p.add_argument("--before", metavar="DIR", type=Path, help="another checkout")
    p.add_argument("--python", default=sys.executable, metavar="FILE")
    p.add_argument("--environments", default=ENVIRONMENTS, metavar="DIR", type=Path)
    cores = len(os.sched_getaffinity(0))
    p.add_argument("--threads", type=positive(int), default=cores)
    return p


def report(options: argparse.Namespace) -> None:
    """Measures and prints the tables."""
    sentences = sample(read(options.text), 1)
    systems = commands(options.python, options.before, options.environments)
    use_processors(options.threads)
    print(heading(COLUMNS), flush=True)
    for preset in options.presets:
        with tempfile.TemporaryDirectory() as folder:
            write_inputs(Path(folder), preset, sentences)
            starts = in_turns(systems, Path(folder), options.starts)
        imports = starts.pop("imports")
        for cells in rows(starts):
            print(row([preset, *cells]), flush=True)
    print(f"\n{heading(('import', 'seconds: median (lowest – highest)'))}")
    for stage in IMPORTS:
        print(row([stage, spread([seconds(s, stage) for s in imports], 2)]))
    print(f"\n{machine(options.threads)}")


def commands(
    python: str, before: Path | None, environments: Path
) -> dict[str, tuple[list[str | Path], Path]]:
    """System → its command without the folder, and the checkout that it imports."""
    worker = HERE / "first_vector_worker.py"
    peer = allennlp_python(environments)
    systems = {ALLENNLP: ([peer, worker, "allennlp"], HERE)}
    for name, checkout in {"": ROOT, "before: ": before}.items():
        for way in ("eager", "embedder") if checkout else ():
            systems[f"{name}{way}"] = ([python, worker, way], checkout)
    return systems | {"imports": ([python, worker, "imports"], ROOT)}


def in_turns(systems, folder: Path, n_starts: int) -> dict[str, list[Start]]:
    """Several starts of each system, after one that fills the caches of files."""
    starts = {name: [] for name in systems}
    for turn in range(n_starts + 1):
        for name, (command, checkout) in systems.items():
            start = started(command, folder, checkout)
            if turn > 0:
                starts[name].append(start)
    return starts


def started(command: list[str | Path], folder: Path, checkout: Path) -> Start:
    """The ends of the stages of one start: seconds since it, processor seconds."""
    variables = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(checkout.resolve())}
    begin = time.time()
    done = subprocess.run(
        [*command, folder], env=os.environ | variables, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{command} failed:\n{done.stderr[-3000:]}")
    ends = json.loads(done.stdout)
    return {name: (end - begin, processor) for name, (end, processor) in ends.items()}


def seconds(start: Start, stage: str) -> float:
    """What a stage took."""
    names = list(start)
    before = start[names[names.index(stage) - 1]][0]
    return start[stage][0] - before


def rows(starts: dict[str, list[Start]]) -> list[list[str]]:
    """The cells of each system's row."""
    totals = {name: [s["first"][0] for s in some] for name, some in starts.items()}
    peer = statistics.median(totals[ALLENNLP])
    return [
        [
            name,
            *(f"{statistics.median(seconds(s, x) for s in some):.2f}" for x in STAGES),
            spread(totals[name], 2),
            f"{statistics.median(totals[name]) / peer:.2f}",
            f"{statistics.median(s['first'][1] for s in some):.2f}",
        ]
        for name, some in starts.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
