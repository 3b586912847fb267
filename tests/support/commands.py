"""Commands as users run them, in this process."""

from collections.abc import Callable, Sequence

from elmo_keras.util import console


def command(name: str) -> Callable[[Sequence[object]], int]:
    """`elmo-keras NAME` as a function of its arguments; it returns the status."""
    return lambda arguments: console.main([name, *map(str, arguments)])
