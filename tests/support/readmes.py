"""The READMEs, and the code in them."""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.waiting import PATIENCE


def unlinked(root: Path, patterns: Iterable[str]) -> list[Path]:
    """Files of a checkout, without those that are reached through its links."""
    real = root.resolve()
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    return sorted(p for p in paths if p.resolve() == real / p.relative_to(root))


FOLDERS = "", "elmo_keras/**/", "export/", "tests/**/"
# Not the page of instructions that goes with an export.
READMES = [
    str(path.relative_to(ROOT))
    for path in unlinked(ROOT, [f"{folder}README.md" for folder in FOLDERS])
]
PROGRAMS = "curl", "elmo-keras", "pip", "python", "python3"
SEPARATOR = "\x1f"


def shell_of(readme: str) -> str:
    """All shell blocks, one after another."""
    return "\n".join(blocks_of(readme, "sh"))


def blocks_of(readme: str, language: str) -> list[str]:
    """The blocks of a language, in their order."""
    return re.findall(rf"```{language}\n(.*?)```", text_of(readme), re.S)


def text_of(readme: str) -> str:
    """The text of a README."""
    return (ROOT / readme).read_text(encoding="utf-8")


def run_shell(
    script: str, programs: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess:
    """Runs a script with stand-ins for all programs.

    Args:
        script: for bash; it ends at the first error.
        programs: shell scripts that take the place of programs, by their names; also
            of those in `.venv/bin`.
        folder: where the script runs.
    """
    stand_ins = folder / ".venv" / "bin"
    stand_ins.mkdir(parents=True, exist_ok=True)
    for name, text in programs.items():
        (stand_ins / name).write_text(f"#!/bin/sh\n{text}\n")
        (stand_ins / name).chmod(0o755)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": f"{stand_ins}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def command_lines(readme: str, folder: Path) -> list[list[str]]:
    """Every command of a README as the shell splits it, without running any."""
    show = f'printf \'%s{SEPARATOR}\' "${{0##*/}}" "$@"; echo'
    done = run_shell(shell_of(readme), dict.fromkeys(PROGRAMS, show), folder)
    assert done.returncode == 0, done.stderr
    return [line.split(SEPARATOR)[:-1] for line in done.stdout.splitlines()]
