"""The work of one GPU: training and embedding, beside the CPU's numbers and another checkout.

    python -m tests.benchmarks.gpu --text FILE --base CHECKOUT
    python -m tests.benchmarks.gpu --text FILE --seconds 0 --train-seconds 240 --train TEXTS --valid FILE
    python -m tests.benchmarks.gpu --text FILE --presets tiny --rows 8 4 --sentences 64

FILE holds one sentence a line, tokens separated by spaces. CHECKOUT is an earlier version
of this repository, such as 01a23c6, whose plain step and whose `Embedder` take turns with
this one's. Each line of the output is a row as JSON, printed when it is measured: the
seconds of 10 steps or passes, tokens a second and how many times those of CHECKOUT in
float32, the seconds to the first result and of the steps that compile, the number of
compiled shapes, the GPU's peak memory, and the greatest difference from the CPU's losses or
vectors with its tolerance. A row that fails holds its error, and the others are measured;
rows that would start after --seconds are named.

With --train, `elmo-keras train` then makes a model like `en`, in --train-seconds or
--train-steps, and its perplexities are rows. The last command rehearses the first one
without a GPU.
"""

import contextlib
import functools
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.commands.arguments import NonNegative
from tests.benchmarks import runner

THIS, TWO, BASE, CPU = "this", "this, two replicas", "base", "the CPU"
EMBEDDING = "batches", "file", "one"
UNROLLED = 20
LIMIT = 120  # seconds that a row may take
SHARE = 0.5  # share of the time for training; the rest is for compiling, Muon and evaluations
# Bounds of vectors (True) and of losses in nats: TF32 has 11 bits, bfloat16 has 8.
TOLERANCES = {
    (True, "float32"): 5e-3,
    (True, "bfloat16"): 0.1,
    (False, "float32"): 1e-2,
    (False, "mixed_bfloat16"): 0.1,
}
STEP = "jit, mixed_bfloat16"  # the way of `en`
SAID = "Compiling", "XLA can't", "Step ", "Held-out perplexity", "tokens/s"
OPTIONS = (  # of `en`, see its card
    "--vocabulary-size 50000 --arithmetic mixed_bfloat16 --optimizer muon --schedule "
    "cosine --learning-rate 0.005 --zero-state 0.8 --dropout 0.02"
).split()


def main(
    *,
    text: Path,
    base: Path | None = None,
    presets: Sequence[runner.Preset] = ("small", "original"),
    rows: Sequence[runner.Count] = (128, 1024),
    sentences: runner.Count = 10_000,
    seconds: NonNegative = 470.0,
    train: Sequence[Path] = (),
    valid: Path | None = None,
    train_seconds: runner.Positive = 240.0,
    train_steps: runner.Count | None = None,
) -> None:
    end, given = time.monotonic() + seconds, runner.read(text, sentences)
    # Several processes share the GPU.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    rate = None  # of the steps of `train`
    for preset in presets:
        with systems(preset, given, base) as found:
            for row in measured(found, preset, rows, end):
                print_row(row)
                if row.get("way") == STEP and preset == presets[0]:
                    rate = row.get("tokens/s", rate)  # last of the most rows
    if not train or valid is None:
        return
    if rate is None and train_steps is None:
        step = {"n_rows": rows[-1], "arithmetic": "mixed_bfloat16", "jit": True}
        with systems(presets[0], given, None) as found:
            rate = found.ask(THIS, "training", **step).get("tokens/s")
    tokens = SHARE * train_seconds * (rate or 0)
    n_steps = train_steps or max(4, int(tokens / (rows[-1] * UNROLLED)))
    options = {"n_rows": rows[-1], "n_steps": n_steps, "seconds": train_seconds}
    for row in trained(presets[0], train, valid, **options):
        print_row(row)


class Systems:
    """Workers by name, which start when they are asked first, and again after an error."""

    def __init__(self, starts: Mapping[str, runner.Start]):
        self.starts, self.started = starts, {}

    def ask(self, name: str, request: str, **arguments: Any) -> dict[str, Any]:
        """The worker's answer, or the end of its error."""
        try:
            with time_limit(LIMIT):
                if name not in self.started:
                    stack = contextlib.ExitStack()
                    self.started[name] = stack, stack.enter_context(self.starts[name]())
                return self.started[name][1].ask(request, **arguments)
        except Exception as error:  # the other rows are measured whatever it is
            self.end(name)
            return {"error": str(error)[-500:]}

    def end(self, name: str) -> None:
        if name in self.started:
            self.started.pop(name)[0].close()


@contextlib.contextmanager
def systems(
    preset: str, sentences: Sequence[Sequence[str]], base: Path | None
) -> Iterator[Systems]:
    """Workers with a model of random weights, which end with the block."""
    with runner.inputs(preset, sentences) as folder:

        def start(*words, **where):
            worker = "one_device", folder, preset, *words
            return functools.partial(runner.worker, *worker, **where)

        starts = {THIS: start("compiled"), TWO: start("replicas")}
        starts |= {BASE: start(root=base.resolve())} if base else {}
        found = Systems(starts | {CPU: start(gpus=False)})
        try:
            yield found
        finally:
            for name in found.starts:
                found.end(name)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(*_):
        raise TimeoutError(f"There was no answer within {seconds} seconds.")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def measured(
    systems: Systems, preset: str, rows: Sequence[int], end: float
) -> Iterator[dict[str, Any]]:
    """The rows of a preset, the most important ones first."""
    references, of_base, left_out = {}, {}, []
    for name, request, arguments in jobs(systems.starts, rows):
        arithmetic = arguments["arithmetic"]
        way = f"jit, {arithmetic}" if arguments.get("jit") else arithmetic
        row = {"system": name, "preset": preset, "job": request, "way": way}
        row |= {k: v for k, v in arguments.items() if k == "n_rows"}
        if time.monotonic() > end:
            left_out.append(" ".join(map(str, row.values())))
            continue
        answer = systems.ask(name, request, **arguments)
        values = answer.pop("values", None)
        key = request in EMBEDDING, arguments.get("n_rows")
        if name == CPU:
            references[key] = values
        elif values and references.get(key):
            difference = np.abs(np.subtract(values, references[key]))
            row["difference"] = float(difference.max())
            row["tolerance"] = TOLERANCES[key[0], arithmetic]
        if name == BASE and way == "float32":
            of_base.setdefault(request, answer.get("tokens/s"))
        if "tokens/s" in answer and of_base.get(request):
            row["times base"] = answer["tokens/s"] / of_base[request]
        yield row | answer
    if left_out:
        yield {"preset": preset, "left out, as time was over": left_out}


def jobs(names, rows):
    """System, request and arguments of each row, the most important ones first."""
    both = [name for name in (BASE, THIS) if name in names]
    first = {"n_rows": rows[0]}
    yield CPU, "training", {**first, "arithmetic": "float32", "n_steps": 1}
    yield from training_jobs(both, rows[0])
    yield CPU, "batches", {"arithmetic": "float32", "n_passes": 1}
    yield from embedding_jobs(both, "float32")
    for n_rows in rows[1:]:
        yield from training_jobs(both[:-1], n_rows)
    yield from embedding_jobs(both, "bfloat16")
    yield TWO, "training", {**first, "arithmetic": "float32", "jit": True}


def training_jobs(plain, n_rows):
    for arithmetic in "float32", "mixed_bfloat16":
        arguments = {"n_rows": n_rows, "arithmetic": arithmetic}
        yield from ((name, "training", arguments) for name in plain)
        yield THIS, "training", {**arguments, "jit": True}


def embedding_jobs(names, arithmetic):
    for request, name in itertools.product(EMBEDDING, names):
        yield name, request, {"arithmetic": arithmetic}


def trained(
    preset: str,
    texts: Sequence[Path],
    valid: Path,
    *,
    n_rows: int,
    n_steps: int,
    seconds: float,
) -> Iterator[dict[str, Any]]:
    """What `elmo-keras train` says of its perplexities, with `en`'s options."""
    row = {"system": THIS, "preset": preset, "job": "train", "n_rows": n_rows}
    row |= {"steps": n_steps}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "train.py", *OPTIONS, "--preset", preset]
        command += ["--train", *texts, "--valid", valid, "--output", folder]
        command += ["--batch-size", n_rows, "--steps", n_steps]
        command += ["--evaluate-every", max(1, n_steps // 4)]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        begin, last = time.monotonic(), []
        process = runner.process_of(command, cwd=runner.ROOT, **streams)
        try:
            with time_limit(seconds):
                for line in process.stdout:
                    last = [*last, line.strip()][-5:]
                    if said := re.search("|".join(SAID), line):
                        spent = {"after s": time.monotonic() - begin}
                        yield row | spent | {"said": line[said.start() :].strip()}
                if process.wait():
                    raise RuntimeError("\n".join(last))
        except (RuntimeError, TimeoutError) as error:
            yield row | {"error": str(error)}
        finally:
            process.kill()
            process.wait()


def print_row(row: Mapping[str, Any]) -> None:
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    runner.run(main)
