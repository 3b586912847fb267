"""Advice on arguments that no command takes: what they probably mean."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cyclopts import CycloptsError, MissingArgumentError

if TYPE_CHECKING:
    from cyclopts import App

_TRAINS = "`elmo-keras train-head {0} --train FILE --output FOLDER` trains one"
_TUNES = "`elmo-keras train --init en --train FILE` fine-tunes a language model"
# Commands that people guess → commands that do the same.
GUESSES = {
    "tag": f"`elmo-keras annotate FILE --with en-pos` tags; {_TRAINS.format('pos')}",
    "pos": f"`elmo-keras annotate FILE --with en-pos` tags; {_TRAINS.format('pos')}",
    "ner": f"`elmo-keras annotate FILE --with en-ner` finds names; {_TRAINS.format('ner')}",
    "parse": f"`elmo-keras annotate FILE --with en-ud` parses; {_TRAINS.format('ud')}",
    "answer": f"`elmo-keras ask FILE QUESTION` answers; {_TRAINS.format('qa')}",
    "predict": "`elmo-keras annotate FILE` labels words and names, with other heads by --with",
    "pipeline": "`elmo-keras annotate FILE --with HEAD` runs a pipeline",
    "version": "`elmo-keras --version` prints it",
    "help": "`elmo-keras --help` lists the commands, `elmo-keras NAME --help` its options",
    "classify": "`elmo-keras annotate FILE --with HEAD` labels texts; "
    + _TRAINS.format("classify"),
    "sentiment": "`elmo-keras annotate FILE --with ko-sentiment` labels texts; "
    + _TRAINS.format("classify"),
    "coreference": "`elmo-keras annotate FILE --with en-coref` links mentions; "
    + _TRAINS.format("coref"),
    "entail": f"`pipeline(HEAD)(premise, hypothesis)` labels pairs; {_TRAINS.format('entail')}",
    "similarity": "`elmo-keras search FILE QUERY` finds similar sentences",
    "fine-tune": _TUNES,
    "finetune": _TUNES,
    "download": "`elmo-keras models fetch NAME` downloads",
    "info": "`elmo-keras models` lists models and heads",
    "list": "`elmo-keras models` lists models and heads",
}
# Options → words that people guess; the first option that a command has is meant.
SYNONYMS = {
    "--with": ("--model", "--head", "--pipeline", "--pipelines"),
    "--train": ("--data", "--input", "--text", "--file", "--corpus"),
    "--rest-port": ("--rest", "--http-port"),
}
UNNAMED = "--train", "--model"  # options that people leave out before a value


def advice(
    app: "App", commands: Iterable[str], arguments: Sequence[str], error: Exception
) -> str | None:
    """The probable meaning of arguments that led to an error; None without a guess."""
    names, apps, rest = app.parse_commands(arguments)
    if not names:
        name = arguments[0]
        if name in GUESSES:
            return f"There is no command {name}. {GUESSES[name]}."
        close = difflib.get_close_matches(name, commands, 1)
        guess = f" Did you mean {close[0]}?" if close else ""
        return f"There is no command {name}.{guess} There are {', '.join(commands)}."
    if apps[-1].default_command is None:  # train-head without a kind
        kinds = [name for name in apps[-1] if name[0] != "-"]
        if not rest or rest[0].startswith("-"):
            return f"The kind is missing. There are {', '.join(kinds)}."
        close = difflib.get_close_matches(rest[0].lower(), kinds, 1)
        guess = f" Did you mean {close[0]}?" if close else ""
        return f"There is no kind {rest[0]}.{guess} There are {', '.join(kinds)}."
    parameters = apps[-1].assemble_argument_collection()
    options = [name for p in parameters for name in p.names if name[:2] == "--"]
    example = re.search(r"\n +(elmo-keras .+)", str(apps[-1].default_command.__doc__))
    shown = f" An example: {example[1]}." if example else ""
    for argument in rest:
        name = argument.partition("=")[0]
        if re.fullmatch("--[a-z][a-z-]*", name) and name not in (*options, "--help"):
            guess = _option_like(name, options)
            meant = f" Did you mean {guess}?" if guess else shown
            return f"There is no option {name}.{meant}"
    is_missing = isinstance(error, MissingArgumentError)
    missing = error.argument.names[0] if is_missing and error.argument else ""
    if isinstance(error, CycloptsError) and error.unused_tokens:
        extra, named = error.unused_tokens[0], [missing, *UNNAMED]
        guess = next((name for name in named if name in options), "")
        if guess and guess not in arguments:
            return f"{extra} has no option before it. Did you mean {guess} {extra}?"
    if missing and missing not in arguments:
        return f"{missing} is missing.{shown}"
    return None


def _option_like(name, options):
    """The option of a command that another name probably means; None without a guess."""
    for option, others in SYNONYMS.items():
        if option in options and name in others:
            return option
    names = [option[2:] for option in options]
    close = difflib.get_close_matches(name[2:], names, 1)
    return f"--{close[0]}" if close else None
