"""Tokens a second of a training step, compared with bilm-tf's own training graph.

    python -m tests.benchmarks.training --text FILE
    python -m tests.benchmarks.training --text FILE --words 10000 800000 --systems "elmo-keras float32"

FILE holds one sentence a line, tokens separated by spaces. All systems have the same
sentences, each in a random order of its own, the same vocabulary and options.

elmo-keras is `train.py`: a turn resumes the run for --steps steps, and its checkpoint
says how long they took, with waiting for batches and without tracing the first step.
bilm-tf's training lives on in `simple_elmo.training`, whose `train` builds the graph and
runs its own loop, unchanged, on TensorFlow 2.21 with TensorFlow 1's behaviour; only its
`Session.run` is timed. A token is a position of one direction. The first --warmup steps
of each are not counted.

The loss is that of the sampled softmax in the last ten steps. It shows whether both
learn equally well, but varies widely in the first dozens of steps. --words N adds made-up
words to the vocabulary, which the sampler draws like real ones.
"""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py

from elmo_keras import Vocabulary
from elmo_keras.cli.argument_types import positive
from tests.benchmarks import runner
from tests.benchmarks.runner import ROOT, head, in_turns, ratio, row, spread

PEER = "bilm-tf"
OURS = {"elmo-keras float32": "float32", "elmo-keras bfloat16": "mixed_bfloat16"}
N_VALID = 8  # sentences whose perplexity `train.py` computes


class TrainPy:
    """A run of a checkout's `train.py`, resumed for each turn.

    Args:
        folder: a new one, of the model.
        checkout: whose `train.py`.
        *arguments: of the command.

    Attributes:
        losses: the mean sampled losses of ten steps each.
        gigabytes: the peak memory of the largest process so far.
    """

    def __init__(self, folder: Path, checkout: Path, *arguments: str | Path):
        self.folder, self._checkout = folder, checkout.resolve()
        self._command = [sys.executable, self._checkout / "train.py", "--output"]
        self._command += [folder, *arguments, "--published-state"]
        self._steps, self._before = 0, {"seconds": 0.0, "tokens": 0}
        self.losses, self.gigabytes = [], 0.0

    def steps(self, number: int) -> dict[str, float]:
        """Makes some steps; returns how many tokens in how many seconds.

        Raises:
            RuntimeError: it failed; the message has the end of what it said.
        """
        self._steps += number
        command = [*map(str, self._command), "--steps", f"{self._steps}"]
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                command,
                cwd=self._checkout,
                env=runner.environment(self._checkout),
                stdout=said,
                stderr=said,
            )
            _, status, used = os.wait4(process.pid, 0)
            if process.poll() or status:
                said.seek(0)
                raise RuntimeError(f"{command} failed:\n{said.read()[-3000:]}")
        self.gigabytes = max(self.gigabytes, used.ru_maxrss * 1024 / 1e9)
        newest = max((self.folder / "training" / "checkpoints").glob("*.hdf5"))
        with h5py.File(newest) as file:
            progress = json.loads(file["about"][()])["progress"]
        self.losses = [loss for _, loss in progress["losses"]]
        done = {name: progress[name] - n for name, n in self._before.items()}
        self._before = {name: progress[name] for name in self._before}
        return done


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    p = runner.parser(__doc__, text=None, presets=["tiny", "small"], rounds=5)
    p.add_argument("--systems", nargs="*", default=[PEER, *OURS])
    p.add_argument("--words", nargs="+", type=positive(int), default=[50_000])
    add_sizes(p)
    return runner.run(p, report, arguments)


def add_sizes(p) -> None:
    """The options of `written` and of the steps."""
    p.add_argument("--batch-size", type=positive(int), default=128, help="rows")
    p.add_argument("--negatives", type=positive(int), default=8192)
    p.add_argument("--warmup", type=positive(int), default=10, help="steps")
    p.add_argument("--steps", type=positive(int), default=10, help="of a turn")


def written(
    folder: Path, text: Path, words: int, *, batch_size: int, negatives: int
) -> list[str | Path]:
    """Writes text, held-out sentences and a vocabulary; the arguments of `train.py`.

    Raises:
        ValueError: the vocabulary is too small for a sampled softmax.
    """
    sentences = runner.read(text)
    vocabulary = Vocabulary.count(sentences, words)
    made_up = (f"made-up-{i}" for i in range(words - len(vocabulary)))
    if len(vocabulary) <= negatives:
        raise ValueError(
            f"The text should have more than {negatives} different words, and it has "
            f"{len(vocabulary)}: give more text or fewer --negatives."
        )
    if words > 2 * len(vocabulary):
        vocabulary = Vocabulary([*vocabulary.words, *made_up])
    vocabulary.save(folder / "vocab.txt")
    arguments = ["--vocabulary", folder / "vocab.txt"]
    arguments += ["--train", runner.write(folder / "text.txt", sentences[N_VALID:])]
    arguments += ["--valid", runner.write(folder / "valid.txt", sentences[:N_VALID])]
    numbers = {"batch-size": batch_size, "negatives": negatives}
    every = dict.fromkeys(("evaluate-every", "checkpoint-every"), 10**6)
    for name, value in (numbers | every).items():
        arguments += [f"--{name}", f"{value}"]
    return arguments


def report(text, presets, rounds, systems, words, warmup, steps, **sizes) -> None:
    """Measures and prints the table."""
    rate = "tokens/s: median (lowest – highest)"
    head("preset", "words", "system", rate, "ratio", "sampled loss", "peak memory")
    for preset, number in itertools.product(presets, words):
        with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
            folder = Path(name)
            arguments = written(folder, text, number, **sizes)
            arguments += ["--preset", preset]
            ours = {
                name: TrainPy(folder / policy, ROOT, *arguments, "--dtype", policy)
                for name, policy in OURS.items()
                if name in systems
            }
            for run in ours.values():
                run.steps(warmup)
            asks = {n: lambda _, r=r: r.steps(steps) for n, r in ours.items()}
            if PEER in systems:
                options = next(iter(ours.values())).folder / "options.json"
                peer = stack.enter_context(runner.worker("bilm_tf", folder, options))
                peer.ask("step", number=warmup)
                asks = {PEER: lambda _, p=peer: p.ask("step", number=steps)} | asks
            found = in_turns(asks, rounds=rounds)
            for name, answers in found.items():
                rates, own = speeds(answers), ours.get(name)
                loss = own.losses[-1] if own else answers[-1]["loss"]
                memory = own.gigabytes if own else peer.peak_memory()
                cells = spread(rates), ratio(rates, speeds(next(iter(found.values()))))
                row(preset, number, name, *cells, f"{loss:.3f}", f"{memory:.2f} GB")


def speeds(answers: Sequence[dict[str, Any]]) -> list[float]:
    """Tokens a second, one for each round."""
    return [answer["tokens"] / answer["seconds"] for answer in answers]


if __name__ == "__main__":
    sys.exit(main())
