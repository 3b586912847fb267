"""The program `elmo-keras`: each command is a function, its docstring the help."""

import importlib
import re
import sys
from collections.abc import Sequence

TYPE_CHECKING = False  # as in `elmo_keras`
if TYPE_CHECKING:
    from cyclopts import App

# Command → its function, imported when it runs, and the line that lists it.
COMMANDS = {
    "models": ("hub.command:models", "list models and heads; fetch published models"),
    "train": ("train:train", "train, fine-tune or evaluate a language model"),
    "embed": ("embed.command:embed", "write the vectors of a text file"),
    "annotate": (
        "pipelines.annotate:annotate",
        "label words, entities, roles or texts of a file",
    ),
    "ask": ("pipelines.annotate:ask", "answer questions about a text file"),
    "export": ("export.command:export", "write a SavedModel, or a file for LiteRT"),
    "serve": ("serve.command:serve", "serve exports over gRPC and REST"),
    "client": ("serve.client.command:client", "embed a text file by a server"),
    "tag": ("tasks.command:tag", "train a tagger: words, entities, roles"),
    "classify": ("tasks.command:classify", "train a classifier of texts"),
    "entail": ("tasks.command:entail", "train a model of entailment"),
    "answer": ("tasks.command:answer", "train a model that answers questions"),
    "coreference": ("tasks.command:coreference", "train a model of coreference"),
    "parse": ("tasks.command:parse", "train a parser of Universal Dependencies"),
    "search": ("analyses.search:search", "find similar sentences of a file"),
    "score": ("analyses.predictions:score", "print how probable sentences are"),
    "substitutes": (
        "analyses.predictions:substitutes",
        "print words that fit in place of a word",
    ),
}
# Addresses that no command reads; a `Path` of one would be another text.
ELSEWHERE = re.compile(r"(s3|gs|gcs|az|abfss?|hdfs|ftp|file)://")
RESUMING = "train", "embed", "annotate", "search"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that the arguments name; returns its exit status."""
    try:
        from elmo_keras.util.command import prepare_streams, run
    except KeyboardInterrupt:
        return 130  # as `run`, which isn't there yet
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
    from cyclopts import App, Parameter

    app = App(
        "elmo-keras",
        help="ELMo on Keras 3 and TensorFlow 2. See `elmo-keras NAME --help`.",
        help_format="markdown",
        default_parameter=Parameter(negative=()),
        print_error=False,
        exit_on_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for name, (function, line) in COMMANDS.items():
        # Without a line, the docstring of the function is the help.
        app.command(f"elmo_keras.{function}", name=name, help=line if lists else None)
    app.register_install_completion_command()
    return app


def _call(program, arguments):
    from cyclopts import CycloptsError

    if arguments[:1] and arguments[0] in COMMANDS:
        module = COMMANDS[arguments[0]][0].partition(":")[0]
        importlib.import_module(f"elmo_keras.{module}")  # names a missing package
    for argument in arguments:
        if ELSEWHERE.match(argument):
            raise ValueError(f"{argument} is elsewhere. Copy it to a path here first.")
    app = make_app(lists=arguments[:1] in ([], ["--help"], ["-h"]))
    try:
        return app(arguments)
    except CycloptsError as error:
        raise ValueError(f"{error} See {program} --help") from None
    except ValueError as error:
        options = {
            option.field_info.name: option.name
            for option in app[arguments[0]].assemble_argument_collection()
        }
        raise ValueError(_name_options(str(error), options)) from error


def _name_options(message, options):
    """A message of the library that opens with a parameter names options in its place."""
    first = re.match(r"`(\w+)", message)
    if first is None or first[1] not in options:
        return message
    return re.sub(r"`(\w+)`", lambda name: options.get(name[1], name[0]), message)
