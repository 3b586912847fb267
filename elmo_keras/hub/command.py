"""The command `models`."""

from collections.abc import Sequence
from typing import Literal

from elmo_keras.base.markdown_table import markdown_table
from elmo_keras.hub.cache import (
    cache_folder,
    cached_models,
    folder_name,
    model_folder,
    remove_converted,
    remove_model,
)
from elmo_keras.hub.catalogue import catalogue, heads, required_model
from elmo_keras.hub.local_files import download_model

HEAD = "name", "language", "trained on", "files", "licence", "MB", "cached MB"
N_TEXTS = 5  # columns that hold no numbers


def models(
    action: Literal["list", "fetch", "remove", "path", "clean"] = "list",
    /,
    *names: str,
    all: bool = False,
    softmax: bool = False,
) -> None:
    """Lists language models and heads, and downloads or removes published models.

    `list` shows the models on this machine, with --all also those that can be downloaded,
    and with words those whose row holds them; `fetch` downloads models to the cache;
    `remove` deletes them there; `path` prints the folder of the cache, or of models in it;
    `clean` deletes models converted for LiteRT, which the next use converts again.

        elmo-keras models
        elmo-keras models --all
        elmo-keras models list korean
        elmo-keras models fetch small
        elmo-keras models remove small
        elmo-keras models path
        elmo-keras models path small
        elmo-keras models clean

    Args:
        action: list, fetch, remove, print the path, or clean the cache
        names: names of models; for list, words to search
        all: list published models, too
        softmax: fetch the softmax and the vocabulary of original or 5.5B too
    """
    if action in ("fetch", "remove") and not names:
        raise ValueError(f"{action} needs the NAME of a model.")
    if action == "list":
        print(list_models(names, downloads=all or bool(names)))
        return
    if all:
        raise ValueError(f"--all is for list. Leave it out of {action}.")
    if action == "clean":
        if names:
            raise ValueError("clean takes no names.")
        print(f"{remove_converted() / 1e6:,.1f} MB were removed.")
    if action == "path" and not names:
        print(cache_folder())
    for name in names:
        if action == "remove":
            print(f"{remove_model(name)} was removed.")
        elif action == "path":
            print(model_folder(name))
        else:
            model = required_model(name)
            if softmax and not model.extra:
                raise ValueError(f"{name} has no softmax. Leave out --softmax.")
            path, weights = download_model(model, with_extra=softmax)
            print(f"{name} is in {path.parent if weights else path}")


def list_models(words: Sequence[str] = (), *, downloads: bool = True) -> str:
    """A table of all models and heads, or of the rows that hold all the words.

    Without `downloads`, a line below says how many models are not on this machine.
    """
    sizes, models = cached_models(), catalogue()
    in_package = [*filter(lambda model: model.in_package, models), *heads()]
    published = [model for model in models if not model.in_package]
    here = [model for model in published if folder_name(model.name) in sizes]
    rows = [
        [
            ", ".join([model.name, *model.aliases]),
            model.language,
            model.text,
            model.layout,
            model.licence,
            "by hand" if model.unavailable else _megabytes(model.megabytes),
            _megabytes(sizes.pop(folder_name(model.name), 0) / 1e6),
        ]
        for model in (*in_package, *(published if downloads else here))
    ]
    rows += [[name, *5 * [""], _megabytes(size / 1e6)] for name, size in sizes.items()]
    lowered = [word.casefold() for word in words]
    shown = [row for row in rows if all(w in " ".join(row).casefold() for w in lowered)]
    table = markdown_table(HEAD, shown, N_TEXTS)
    if downloads:
        return table
    n_others = len(published) - len(here)
    return f"{table}\n\n{n_others} others can be downloaded: elmo-keras models --all"


def _megabytes(size):
    return f"{size:,.{int(size < 10)}f}" if size else ""
