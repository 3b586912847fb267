"""Changes to pages when the site is built.

What the package says of itself is put in, equations become MathML, numbers in tables stay
together, and Korean pages get the theme in Korean.
"""

import html as html_entities
import os
import re
import subprocess
import sys
from pathlib import Path

from latex2mathml.converter import convert

ROOT = Path(__file__).parent.parent
PRINT_OPTIONS = """
from elmo_keras.heads.kinds import KINDS
from elmo_keras.commands import console
for command in console.COMMANDS:
    kinds = KINDS if command == "train-head" else ()
    for name in [command, *(f"{command} {kind}" for kind in kinds)]:
        print(f"## {name}", flush=True)
        console.main([*name.split(), "--help"])
"""
OPTIONS = "    options: {heading_level: 3"
BOX = re.compile("╭─ (.+?) ─")
MATH = re.compile(r'<(div|span) class="arithmatex">\\([\[(])(.*?)\\[\])]</\1>', re.S)
PRINT_MODELS = "from elmo_keras.hub.command import models; models(all=True)"


def on_page_markdown(markdown, **_):
    """Puts in the options of all commands, the table of published models, and model cards.

    What a page says to readers on GitHub, where these are missing, is left out.
    """
    markdown = re.sub("^On GitHub, .+\n", "", markdown, flags=re.M)
    if "\n## " in markdown:  # a name stands below a heading
        markdown = re.sub(
            r"^(::: \S+\n)(?! )", rf"\1{OPTIONS}}}\n", markdown, flags=re.M
        )
        markdown = markdown.replace("    options: {members", f"{OPTIONS}, members")
    for name, text in ("options", options), ("models", models), ("cards", cards):
        if f"<!-- {name} -->" in markdown:
            markdown = markdown.replace(f"<!-- {name} -->", text())
    return markdown


def on_page_content(html, **_):
    """Typesets LaTeX, and keeps `1.0 ± 0.5` and `2 %` on one line of a table's cell."""
    html = MATH.sub(lambda match: mathml(match[3], match[2] == "["), html)
    return re.sub("<td>.*?</td>", lambda cell: unbroken(cell[0]), html)


def on_page_context(context, page, config, nav):
    """Sets the language of the page that is written next, and where its switch leads."""
    is_korean = page.file.src_uri.startswith("ko/") or "korean" in page.file.src_uri
    config.theme["language"] = "ko" if is_korean else "en"
    korean = config.extra["korean"]
    english = {title: name for name, title in korean.items()}
    titles = korean if is_korean else english
    pairs = config.extra["translations"]
    here = page.file.src_uri
    pair = next((p for p in pairs.items() if here in p), next(iter(pairs.items())))
    files = {item.file.src_uri: item.url for item in nav.pages}
    for link, source in zip(config.extra["alternate"], pair):
        link["link"] = files[source]
    for item in nav.items:
        item.title = titles.get(item.title, item.title)
    return context


def on_post_page(output, **_):
    """Leaves out links to alternates, beside which the theme's script expects sitemaps."""
    return re.sub(r'<link rel="alternate" href="[^"]*" hreflang="\w+">', "", output)


def mathml(latex, is_block):
    latex = html_entities.unescape(latex).strip()
    return convert(latex, display="block" if is_block else "inline")


def unbroken(text):
    return re.sub(r"(?<=\d) (?=[±%])|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", text)


def options():
    """Each command's help: a table in place of each box, which is wider than a phone."""
    parts = re.split(r"^## (.+)\n", output(PRINT_OPTIONS), flags=re.M)[1:]
    return "\n".join(
        f"## {name}\n\n{tables(usage)}\n"
        for name, usage in zip(parts[::2], parts[1::2])
    )


def tables(usage):
    """Markdown of a help text whose lines aren't wrapped."""
    lines = []
    for line in usage.splitlines():
        if box := BOX.match(line):
            lines += ["", f"| {box[1]} | |", "|---|---|"]
        elif line.startswith("│"):
            name, _, text = line.strip("│* ").partition("  ")
            text = html_entities.escape(text.strip()).replace("] [", "]; [")
            lines.append(f"| `{name}` | {text} |")
        elif line.startswith(("Usage: ", " elmo-keras")):
            lines.append(f"    {line.strip()}")
        elif not line.startswith("╰"):
            lines.append(html_entities.escape(line.strip()))
    return "\n".join(lines)


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
        "COLUMNS": "2000",  # no line is wrapped
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
