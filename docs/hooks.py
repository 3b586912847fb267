"""Changes to pages when the site is built: options of commands, numbers in tables."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRINT_OPTIONS = """
from elmo_keras.util import console
for name in console.COMMANDS:
    print(f"## {name}", flush=True)
    console.main([name, "--help"])
"""


def on_page_markdown(markdown, **_):
    """Puts what each command prints with `--help` into the page of the commands."""
    return re.sub("<!-- options -->", lambda _: options(), markdown)


def on_page_content(html, **_):
    """Keeps `1.0 ± 0.5` and `2 %` on one line of a table's cell."""
    return re.sub("<td>.*?</td>", lambda cell: unbroken(cell[0]), html)


def unbroken(text):
    return re.sub(r"(?<=\d) (?=[±%])|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", text)


def options():
    done = subprocess.run(
        [sys.executable, "-c", PRINT_OPTIONS],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "88", "TF_CPP_MIN_LOG_LEVEL": "3"},
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
