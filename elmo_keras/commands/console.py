"""The program `elmo-keras`: each command is a function, its docstring the help."""

import dataclasses
import importlib
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import App

# Group of the help → command → the module of its function, and its line in the list.
GROUPS = {
    "Answers": {
        "annotate": (
            "heads.annotate.command",
            "label words, entities, roles or texts of a file",
        ),
        "ask": ("heads.annotate.command", "answer questions about a text file"),
        "search": ("search.command", "find similar sentences of a file"),
        "score": ("search.predictions", "print how probable sentences are"),
        "substitutes": (
            "search.predictions",
            "print words that fit in place of a word",
        ),
    },
    "Vectors": {"embed": ("embed.command", "write the vectors of a text file")},
    "Training": {
        "train": ("train", "train, fine-tune or evaluate a language model"),
        "train-head": (
            "heads.command",
            "train what finds words, entities, roles, syntax, labels or answers",
        ),
        "evaluate": ("heads.command", "score a head on a labelled file"),
    },
    "Serving and models": {
        "export": ("export.command", "write a SavedModel, or a file for LiteRT"),
        "serve": ("serve.command", "serve exports over gRPC and REST"),
        "client": ("serve.client.command", "embed a text file by a server"),
        "models": ("hub.command", "list models and heads; fetch published models"),
    },
}
COMMANDS = {name: row for group in GROUPS.values() for name, row in group.items()}
# Addresses that no command reads. A `Path` has one slash of two; http and hf are for models.
FOREIGN_ADDRESS = re.compile(
    r"(s3|gs|gcs|az|abfss?|hdfs|ftp|file):/\S+|(https?|hf):/[^/\s]\S*"
)
RESUMING = "train", "embed", "annotate", "search"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; returns its exit status."""
    try:
        from elmo_keras.commands.command import prepare_streams, run
    except KeyboardInterrupt:
        return 130  # the status that `run` gives, which is not imported yet
    prepare_streams()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    name = arguments[0] if arguments[:1] and arguments[0] in COMMANDS else ""
    program = f"elmo-keras {name}".strip()
    interrupted = "Interrupted."
    if name in RESUMING:
        interrupted += " The same command resumes."
    return run(program, lambda: _call(program, arguments), interrupted)


def make_app(*, lists: bool = False) -> "App":
    """The parser of all commands; `lists` is for the help that names all of them."""
    from cyclopts import App, Group, Parameter

    app = App(
        "elmo-keras",
        help="ELMo on Keras 3 and TensorFlow 2. See `elmo-keras NAME --help`.",
        help_format="markdown",
        default_parameter=Parameter(negative=(), validator=_refuse_addresses),
        print_error=False,
        exit_on_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for title, commands in GROUPS.items():
        group = Group.create_ordered(title)
        for name, (module, line) in commands.items():
            function = f"elmo_keras.{module}:{name.replace('-', '_')}"
            # Without a line, the docstring of the function is the help.
            app.command(function, name=name, help=line if lists else None, group=group)
    app.register_install_completion_command()
    return app


def _refuse_addresses(_, value):
    """Refuses addresses of files; `arguments.Words` are none."""
    if dataclasses.is_dataclass(value):
        for field in vars(value).values():
            _refuse_addresses(type(field), field)
    for path in value if isinstance(value, (list, tuple)) else [value]:
        if FOREIGN_ADDRESS.fullmatch(str(path)):
            raise ValueError(f"{path} is not a local path. Copy it to this machine.")


def _call(program, arguments):
    from cyclopts import CycloptsError

    if arguments[:1] and arguments[0] in COMMANDS:
        module, _ = COMMANDS[arguments[0]]
        importlib.import_module(f"elmo_keras.{module}")  # names a missing package
    app = make_app(lists=arguments[:1] in ([], ["--help"], ["-h"]))
    try:
        return app(arguments)
    except (CycloptsError, FileNotFoundError, ValueError) as error:
        from elmo_keras.commands.advice import advice

        names, apps, _ = app.parse_commands(arguments)
        meant = advice(app, [*COMMANDS], arguments, error)
        if meant or isinstance(error, CycloptsError):
            seen = f"See {' '.join(['elmo-keras', *names])} --help"
            raise ValueError(f"{meant or error} {seen}") from None
        if not isinstance(error, ValueError):
            raise
        options = {
            option.field_info.name: option.name
            for option in apps[-1].assemble_argument_collection()
        }
        raise ValueError(_name_options(str(error), options)) from error


def _name_options(message, options):
    """A message that begins with a parameter, with options in place of parameters."""
    if message.startswith(tuple(f"`{name}`" for name in options)):
        for name, option in options.items():
            message = message.replace(f"`{name}`", option)
    return message
