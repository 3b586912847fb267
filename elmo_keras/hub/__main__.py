"""Lists the published models, and downloads or removes them.

    python -m elmo_keras.hub
    python -m elmo_keras.hub list korean
    python -m elmo_keras.hub fetch small
    python -m elmo_keras.hub remove small
    python -m elmo_keras.hub path
    python -m elmo_keras.hub path small

`list` shows all models, or those whose row holds the given words; `fetch` downloads
models to the cache; `remove` deletes them there; `path` prints the folder of the cache,
or of models in it.
"""

import argparse
import sys
from collections.abc import Sequence

from elmo_keras.hub.cache import (
    cache_folder,
    cached_folder,
    cached_folders,
    folder_name,
    remove,
    source,
)
from elmo_keras.hub.catalogue import catalogue, published_model
from elmo_keras.hub.download import download
from elmo_keras.hub.local_files import unknown_model
from elmo_keras.util.command import command_parser, run_command
from elmo_keras.util.markdown_table import markdown_table

PROGRAM = "elmo_keras.hub"
HEAD = "name", "language", "trained on", "files", "licence", "MB", "cached MB"
N_TEXTS = 5  # columns that hold no numbers


def parser() -> argparse.ArgumentParser:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("action", nargs="?", default="list", choices=["list", *ACTIONS])
    add("name", nargs="*", metavar="NAME", help="of models; words for list")
    add(
        "--softmax",
        action="store_true",
        help="fetch the softmax and the vocabulary of original or 5.5B too",
    )
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    p = parser()
    options = p.parse_args(arguments)
    needs_name = options.action not in ("list", "path")
    if needs_name and not options.name:
        p.error(f"{options.action} needs the NAME of a model")

    def work():
        if options.action == "list":
            print(listing(options.name))
        elif options.action == "path" and not options.name:
            print(cache_folder())
        for name in options.name if options.action != "list" else ():
            print(ACTIONS[options.action](name, options.softmax))

    return run_command(PROGRAM, work, "Interrupted. The same command resumes.")


def listing(words: Sequence[str] = ()) -> str:
    """A table of all models, or of those whose row holds all the words."""
    cached = {folder.name: size for folder, size in cached_folders().items()}
    rows = [_row(m, cached.pop(folder_name(m.name), 0)) for m in catalogue()]
    for name, size in cached.items():
        address = source(cache_folder() / name)
        rows.append([name, "", address, "", "", "", _megabytes(size)])
    wanted = [word.casefold() for word in words]
    shown = [row for row in rows if all(w in " ".join(row).casefold() for w in wanted)]
    return markdown_table(HEAD, shown, N_TEXTS)


def _row(model, cached):
    size = "by hand" if model.unavailable else ""
    return [
        ", ".join([model.name, *model.aliases]),
        model.language,
        model.text,
        model.layout,
        model.licence,
        f"{model.megabytes:,}" if model.megabytes else size,
        _megabytes(cached),
    ]


def _megabytes(size):
    return f"{size / 1e6:,.1f}" if size else ""


def _fetch(name, with_softmax):
    model = published_model(name)
    if model is None:
        raise FileNotFoundError(unknown_model(name))
    if with_softmax and not model.extra:
        raise ValueError(f"No softmax of {name} is published. Leave out --softmax.")
    path, weights = download(model, with_extra=with_softmax)
    return f"{name} is in {path.parent if weights else path}"


ACTIONS = {
    "fetch": _fetch,
    "remove": lambda name, _: f"{remove(name)} was removed.",
    "path": lambda name, _: cached_folder(name),
}


if __name__ == "__main__":
    sys.exit(main())
