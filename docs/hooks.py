"""Changes to pages when the site is built: what the package says of itself, numbers in tables."""

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
PRINT_MODELS = "from elmo_keras.hub.command import models; models()"


def on_page_markdown(markdown, **_):
    """Puts in the options of all commands, the table of published models, and model cards."""
    for name, text in ("options", options), ("models", models), ("cards", cards):
        if f"<!-- {name} -->" in markdown:
            markdown = markdown.replace(f"<!-- {name} -->", text())
    return markdown


def on_page_content(html, **_):
    """Keeps `1.0 ± 0.5` and `2 %` on one line of a table's cell."""
    return re.sub("<td>.*?</td>", lambda cell: unbroken(cell[0]), html)


def unbroken(text):
    return re.sub(r"(?<=\d) (?=[±%])|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", text)


def options():
    parts = re.split(r"^## (.+)\n", output(PRINT_OPTIONS), flags=re.M)[1:]
    return "\n".join(
        f"## {name}\n\n```text\n{usage.strip()}\n```\n"
        for name, usage in zip(parts[::2], parts[1::2])
    )


def models():
    return output(PRINT_MODELS)


def cards():
    """The model cards of the package, without their metadata, one heading lower."""
    files = sorted(ROOT.glob("elmo_keras/box/*/model_card.md"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    bodies = [re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S) for text in texts]
    return "\n".join(re.sub("^#", "##", body, flags=re.M) for body in bodies)


def output(code):
    """What a Python program prints, without models in the cache."""
    settings = {
        "COLUMNS": "88",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "ELMO_KERAS_CACHE": "none",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError(f"{code.strip()} failed: {done.stderr}")
    return done.stdout
