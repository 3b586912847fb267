"""The commands of the tasks: each trains a model and prints its scores."""

import dataclasses
from collections.abc import Callable
from typing import Annotated

from cyclopts import Parameter

from elmo_keras.tasks import task as tasks
from elmo_keras.tasks.task import Settings
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
        from elmo_keras.tasks.fit import percentages, train

        main = task or make()
        for name, one in {"": main, **main.companions()}.items():
            if name:
                print(f"{name}:")
            run = dataclasses.replace(settings, output=settings.output / name)
            results = train(one, run, progress=True)
            for part in ("dev", "test"):
                if results[part]:
                    print(f"{part}: {percentages(results[part])}")
        print(f"The model is in {settings.output}")

    command.__doc__ = str(make.__doc__).partition("    Args:")[0]
    return command


tag = _command(tasks.Tagging)
classify = _command(tasks.Classification)
entail = _command(tasks.Entailment)
answer = _command(tasks.Answering)
coreference = _command(tasks.Coreference)
parse = _command(tasks.Parsing)
