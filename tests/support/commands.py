"""Commands as users run them, in this process."""

from collections.abc import Callable, Sequence

from cyclopts import App

from elmo_keras.commands import console
from elmo_keras.heads.kinds import KINDS

# All that have options, by their words.
COMMANDS = [name for name in console.COMMANDS if name != "train-head"]
COMMANDS += [f"train-head {kind}" for kind in KINDS]


def app_of(name: str) -> App:
    """The parser of a command of `COMMANDS`."""
    app = console.make_app()
    for word in name.split():
        app = app[word]
    return app


def command(name: str) -> Callable[[Sequence[object]], int]:
    """`elmo-keras NAME` as a function of its arguments; it returns the status."""
    return lambda arguments: console.main([name, *map(str, arguments)])


def replaced(arguments: Sequence[object], more: Sequence[object]) -> list[str]:
    """Arguments with `more`, in place of options of the same name."""
    unchanged: list[str] = []
    skipping = False
    for argument in map(str, arguments):
        if argument.startswith("--"):
            skipping = argument in map(str, more)
        if not skipping:
            unchanged.append(argument)
    return [*unchanged, *map(str, more)]
