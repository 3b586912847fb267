"""Completes command lines in shells, by argcomplete where it is installed."""

import argparse
import os
import sys
from collections.abc import Iterable

from elmo_keras.util.command import CommandParser


def complete(names: Iterable[str]) -> None:
    """Answers a shell that asks how a line continues, and ends the program.

    Once a command has been named it returns, and the parser of the command answers.
    """
    try:
        from argcomplete import autocomplete
        from argcomplete.lexers import split_line
    except ImportError:
        sys.exit(1)
    line, point = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    _, current, _, words, _ = split_line(line, point)
    sys.argv = [*words, current]
    if len(words) == 1:
        parser = argparse.ArgumentParser()
        parser.add_argument("--version", action="version")
        parser.add_argument("name", choices=[*names])
        autocomplete(parser, exit_method=sys.exit)

    def answer(parser, arguments=None):
        given = sys.argv[1:] if arguments is None else arguments
        if given == sys.argv[-len(given) :]:  # up to the cursor
            os.environ["_ARGCOMPLETE"] = str(len(words) + 1 - len(given))
            autocomplete(parser, exit_method=sys.exit)
        return argparse.ArgumentParser.parse_args(parser, arguments)

    CommandParser.parse_args = CommandParser.parse_intermixed_args = answer
