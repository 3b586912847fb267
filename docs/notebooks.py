"""Makes pages of the notebooks when the site is built, with what their cells show.

ELMO_KERAS_NOTEBOOKS=0 in the environment leaves the cells as they are, which is quicker.
"""

import base64
import os
import re
from pathlib import Path

import nbformat
from mkdocs.structure.files import File
from nbclient import NotebookClient

PLACE = {"metadata": {"path": Path(__file__).parent.parent}}
RETINA = "--InlineBackend.figure_formats=retina"


def on_files(files, config):
    """Adds a page and its pictures for each notebook."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        notebook = nbformat.read(file.abs_src_path, as_version=4)
        if os.environ.get("ELMO_KERAS_NOTEBOOKS") != "0":
            NotebookClient(
                notebook, resources=PLACE, extra_arguments=[RETINA]
            ).execute()
        name = file.src_uri.removesuffix(".ipynb")
        for path, content in contents(notebook, name):
            files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown, **_):
    """A link to a notebook leads to its page, unless it is a download."""
    return re.sub(r"\.ipynb\)(?!{download})", ".md)", markdown)


def contents(notebook, name):
    """Yields the path and the content of the pictures, and of the Markdown."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if text := printed(cell):
            parts.append(f"```{{.text .output}}\n{text}\n```")
        for picture in pictures(cell):
            path = f"{name}-{cell.id}.png"
            yield path, base64.b64decode(picture.data["image/png"])
            width = picture.metadata["image/png"]["width"]
            link = f"![{cell.metadata.alt}]({Path(path).name})"
            parts.append(f"{link}{{width={width}}}")
    file = f"{Path(name).name}.ipynb"
    parts.append(f"[This page as a notebook]({file}){{download}}")
    yield f"{name}.md", "\n\n".join(parts)


def printed(cell):
    """What a cell printed, without standard error, to which TensorFlow logs."""
    texts = [o.text for o in cell.outputs if o.get("name") == "stdout"]
    return "".join(texts).strip("\n")


def pictures(cell):
    return [output for output in cell.outputs if "image/png" in output.get("data", {})]
