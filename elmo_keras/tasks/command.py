"""The commands of the tasks: each trains a model and prints its scores."""

import dataclasses
from collections.abc import Callable
from typing import Annotated

from cyclopts import Parameter

from elmo_keras.tasks.task import (
    Answering,
    Classification,
    Coreference,
    Entailment,
    Parsing,
    Settings,
    Tagging,
)
from elmo_keras.util.command import import_tensorflow

FIELDS = Parameter(name="*")  # of a dataclass: each is an option


def _command(make: type) -> Callable[..., None]:
    """The command of a task, whose help is the docstring of its class."""

    def command(
        *,
        settings: Annotated[Settings, FIELDS],
        task: Annotated[make | None, FIELDS] = None,  # pyright: ignore[reportInvalidTypeForm]
    ) -> None:
        import_tensorflow()
        from elmo_keras.tasks.fit import train

        main = task or make()
        for name, one in {"": main, **main.companions()}.items():
            output = settings.output / name
            if name:
                print(f"{name}:")
            run = dataclasses.replace(settings, output=output)
            results = train(one, run, progress=True)
            for part in ("dev", "test"):
                if scores := results[part]:
                    pairs = (f"{key} {100 * x:.2f}" for key, x in scores.items())
                    print(f"{part}: {', '.join(pairs)}")
        print(f"The model is in {settings.output}")

    command.__doc__ = str(make.__doc__).partition("    Args:")[0]
    return command


tag = _command(Tagging)
classify = _command(Classification)
entail = _command(Entailment)
answer = _command(Answering)
coreference = _command(Coreference)
parse = _command(Parsing)
