"""Tokens a second of a training step, compared with bilm-tf's own training graph.

    python -m tests.benchmarks.training --text FILE
    python -m tests.benchmarks.training --text FILE --words 10000 800000 --systems "elmo-keras float32"

FILE holds one sentence a line, tokens separated by spaces. All systems have the same
sentences, each in a random order of its own, the same vocabulary and options.

elmo-keras is `train.py`: a turn resumes the run for --steps steps, and its checkpoint
says how long they took, with waiting for batches and without tracing the first step.
bilm-tf's training is `simple_elmo.training`, unchanged, with TensorFlow 1's behaviour;
only its `Session.run` is timed. A token is a position of one direction.

Where there is a GPU, elmo-keras uses it, except "elmo-keras float32 on
the CPU". --words N adds made-up words, which the sampler draws like real ones.
"""

import contextlib
import itertools
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from elmo_keras import Vocabulary
from elmo_keras.training.checkpoint import newest_checkpoint
from tests.benchmarks import runner

PEER = "bilm-tf"
OURS = {"elmo-keras float32": "float32", "elmo-keras bfloat16": "mixed_bfloat16"}
SYSTEMS = PEER, *OURS
KEYS = "seconds", "tokens"
N_VALID = 8  # sentences whose perplexity `train.py` computes


class TrainPy:
    """`train.py` as a system: each request resumes its run."""

    def __init__(self, folder: Path, *arguments: str | Path, gpus: bool = True):
        self.folder, self._arguments, self._gpus = folder, arguments, gpus
        self._steps, self._gigabytes, self._sums = 0, 0.0, [0.0, 0]

    def ask(self, name: str, number: int) -> dict[str, float]:
        """Makes some steps; returns their seconds and tokens."""
        self._steps += number
        command = [sys.executable, "train.py", "--output", self.folder]
        command += [*self._arguments, "--published-state", "--steps", self._steps]
        with runner.finished(command, gpus=self._gpus) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self._gigabytes = max(self._gigabytes, used.ru_maxrss * 1024 / 1e9)
        _, metadata, _ = newest_checkpoint(self.folder / "training" / "checkpoints")
        before, self._sums = self._sums, [metadata["progress"][k] for k in KEYS]
        took = dict(zip(KEYS, (a - b for a, b in zip(self._sums, before))))
        if not took["seconds"]:
            raise ValueError("--warmup and --steps should be 2 at least: one traces.")
        return took

    def peak_memory(self) -> float:
        """The peak memory of the largest process so far, in GB."""
        return self._gigabytes


def written(
    folder: Path, text: Path, words: int, *, batch_size: int, negatives: int
) -> list[str | Path]:
    """Writes text, held-out sentences and a vocabulary; the arguments of `train.py`."""
    sentences = runner.read(text)
    vocabulary = Vocabulary.count(sentences, words)
    if len(vocabulary) <= negatives:
        raise ValueError(
            f"The text should have more than {negatives} different words, and it has "
            f"{len(vocabulary)}: give more text or fewer --negatives."
        )
    if words > 2 * len(vocabulary):
        made_up = (f"made-up-{i}" for i in range(words - len(vocabulary)))
        vocabulary = Vocabulary([*vocabulary.words, *made_up])
    vocabulary.save(folder / "vocab.txt")
    options = {
        "vocabulary": folder / "vocab.txt",
        "train": runner.write(folder / "text.txt", sentences[N_VALID:]),
        "valid": runner.write(folder / "valid.txt", sentences[:N_VALID]),
        "batch-size": batch_size,
        "negatives": negatives,
        "evaluate-every": 10**6,
        "checkpoint-every": 10**6,
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def main(
    *,
    text: Path,
    presets: Sequence[runner.Preset] = ("tiny", "small"),
    rounds: runner.Count = 5,
    systems: Sequence[str] = SYSTEMS,
    words: Sequence[runner.Count] = (50_000,),
    batch_size: runner.Count = 128,
    negatives: runner.Count = 8192,
    warmup: runner.Count = 10,
    steps: runner.Count = 10,
) -> None:
    columns = "preset", "words", "system", runner.RATE, "ratio", "peak memory"
    runner.head(*columns)
    sizes = {"batch_size": batch_size, "negatives": negatives}
    for preset, number in itertools.product(presets, words):
        with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
            folder = Path(name)
            arguments = written(folder, text, number, **sizes)
            arguments += ["--preset", preset, "--arithmetic"]
            running = {
                name: TrainPy(
                    folder / name, *arguments, policy, gpus=name != runner.ON_CPU
                )
                for name, policy in {**OURS, runner.ON_CPU: "float32"}.items()
                if name in systems
            }
            if not running:
                raise ValueError(f"{PEER} reads its options from one of {[*OURS]}.")
            for run in running.values():
                run.ask("step", number=warmup)
            if PEER in systems:
                options = next(iter(running.values())).folder / "options.json"
                peer = stack.enter_context(runner.worker("bilm_tf", folder, options))
                peer.ask("step", number=warmup)
                running = {PEER: peer} | running
            turns = runner.in_turns(
                running, lambda s, _: s.ask("step", number=steps), rounds=rounds
            )
            for name, cells in runner.compared(runner.speeds(turns)).items():
                memory = f"{running[name].peak_memory():.2f} GB"
                runner.row(preset, number, name, *cells, memory)


if __name__ == "__main__":
    runner.run(main)
