"""What an installed package can do, seen from a process of its own.

    PYTHONPATH=SITE python -P installed.py CHECKOUT < COMMANDS.json

Parses each command line with the program's own parser, without running it. Then the
package is used; nothing of it may come from the checkout.
"""

import argparse
import contextlib
import io
import json
import runpy
import sys
from pathlib import Path

from elmo_keras.util import console


class Parsed(BaseException):
    """A command line was parsed to its end."""


def stopping(method):
    """A method of a parser that ends the program once the last argument is parsed."""

    def parse_and_stop(self, args=None, namespace=None):
        parsed = method(self, args, namespace)
        if args is None or list(args)[-1:] == sys.argv[-1:]:
            raise Parsed
        return parsed

    return parse_and_stop


def parse(program, *arguments):
    """Parses the command line of a program; returns the usage that --help prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            if program == "elmo-keras":
                sys.argv = [program, *arguments]
                console.main()
            else:  # python -m MODULE
                sys.argv = list(arguments[1:])
                runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        except Parsed:
            return None
        except SystemExit as end:
            if end.code == 0:
                return printed.getvalue().split("\n\n")[0]
            raise
    raise AssertionError(f"{program} {arguments} read no arguments")


def main(checkout, commands):
    """Prints the usages as JSON, after all else went well."""
    of_package = [c for c in commands if c[0] == "elmo-keras"]
    for command in of_package:
        parse(*command)
    usages = {n: parse("elmo-keras", n, "--help") for n in console.MODULES}
    use()
    assert not {"export", "train", "tests"} & set(sys.modules)
    sys.path.append(checkout)
    for command in commands:
        if command not in of_package:
            parse(*command)
    print(json.dumps(usages))


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
    for name in "parse_args", "parse_intermixed_args":
        original = getattr(argparse.ArgumentParser, name)
        setattr(argparse.ArgumentParser, name, stopping(original))
    main(sys.argv[1], json.load(sys.stdin))
