"""Commands as users run them, in this process."""

from collections.abc import Callable, Sequence

from elmo_keras.util import console


def command(name: str) -> Callable[[Sequence[object]], int]:
    """`elmo-keras NAME` as a function of its arguments; it returns the status."""
    return lambda arguments: console.main([name, *map(str, arguments)])


def replaced(arguments: Sequence[object], more: Sequence[object]) -> list[str]:
    """Arguments with `more`, in place of options of the same name."""
    kept: list[str] = []
    skipping = False
    for argument in map(str, arguments):
        if argument.startswith("--"):
            skipping = argument in map(str, more)
        if not skipping:
            kept.append(argument)
    return [*kept, *map(str, more)]
