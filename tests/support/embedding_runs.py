"""A text, and commands in processes of their own, which a test can interrupt."""

import random
import subprocess
import sys
from pathlib import Path

from elmo_keras.jobs.parts import folder_of
from tests.support.paths import ROOT
from tests.support.waiting import wait_until

WORDS = "the a naïve word 한국어 🙂 antidisestablishment <S> .".split()
CONSOLE = "from elmo_keras.commands.console import main; exit(main())"


def text_of(n_lines: int, seed: int = 0) -> list[str]:
    """Lines of 0 to 12 tokens, some of them repeated."""
    rng = random.Random(seed)
    words = [*WORDS, *(f"w{i}" for i in range(60))]
    lines = (rng.choices(words, k=rng.randint(0, 12)) for _ in range(n_lines))
    return [" ".join(line) for line in lines]


def start(*arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", CONSOLE, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=ROOT, **pipes)


def run_whole(*arguments) -> str:
    """The output of a run that is not interrupted."""
    with start(*arguments) as process:
        printed, error = process.communicate()
    assert process.returncode == 0, error
    return printed


def n_parts(output: Path) -> int:
    return len(list(folder_of(output).glob("parts/*")))


def wait_for_parts(process: subprocess.Popen, output: Path, number: int) -> None:
    """Returns when there are N parts, or the process has ended."""
    wait_until(lambda: n_parts(output) >= number or process.poll() is not None)
