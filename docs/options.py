"""Puts what every command prints with `--help` into the page of the commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRINT = """
import runpy, sys
from elmo_keras.cli import console
for name in console.MODULES:
    print(f"## {name}", flush=True)
    sys.argv = ["elmo-keras", name, "--help"]
    try:
        console.main()
    except SystemExit:
        sys.stdout.flush()
"""


def on_page_markdown(markdown, **_):
    return re.sub("<!-- options -->", lambda _: sections(), markdown)


def sections():
    """A section for each command: its usage and options."""
    environment = os.environ | {"COLUMNS": "88", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError(f"--help of the commands failed: {done.stderr}")
    parts = re.split(r"^## (.+)\n", done.stdout, flags=re.M)[1:]
    return "\n".join(
        f"## {name}\n\n```text\n{usage.strip()}\n```\n"
        for name, usage in zip(parts[::2], parts[1::2])
    )
