"""What an installed package can do, seen from a process of its own.

    PYTHONPATH=SITE python -P installed.py CHECKOUT < COMMANDS.json

Parses each command line with the program's own parser, without running it. Then the
package is used; nothing of it may come from the checkout.
"""

import argparse
import json
import runpy
import sys
from pathlib import Path

from elmo_keras.util import console


def parse_module(name, *arguments):
    """Parses the command line of `python -m NAME`, without running it."""

    def parse_and_stop(self, args=None, namespace=None):
        raise Parsed(parse_args(self, args, namespace))

    parse_args = argparse.ArgumentParser.parse_args
    sys.argv = [name, *arguments]
    argparse.ArgumentParser.parse_args = parse_and_stop
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except Parsed:
        return
    finally:
        argparse.ArgumentParser.parse_args = parse_args
    raise AssertionError(f"{name} {arguments} read no arguments")


class Parsed(BaseException):
    """A command line was parsed to its end."""


def main(checkout, commands):
    for program, *arguments in commands:
        if program == "elmo-keras":
            console.make_app().parse_args(arguments)
    use()
    assert not {"export", "train", "tests"} & set(sys.modules)
    sys.path.append(checkout)
    for program, *arguments in commands:
        if program != "elmo-keras":  # python -m MODULE
            parse_module(*arguments[1:])


def use():
    """Vectors in three lines, and the files that are no Python."""
    from elmo_keras import Elmo
    from elmo_keras.export.version_directory import write_serving_files

    elmo = Elmo.from_pretrained("model")
    vectors = elmo([["Three", "lines", "."]])
    assert vectors.shape == (1, 3, 10), vectors.shape
    assert (write_serving_files("exported") / "README.md").exists()
    package = Path(sys.modules["elmo_keras"].__file__).parent
    assert (package / "py.typed").exists()
    ours = [m.__file__ for n, m in sys.modules.items() if n.startswith("elmo_keras.")]
    assert all(Path(file).is_relative_to(package) for file in ours)


if __name__ == "__main__":
    # The checkout may be installed as well, as an editable one.
    sys.path[1:] = [path for path in sys.path[1:] if not Path(path, "export").exists()]
    main(sys.argv[1], json.load(sys.stdin))
