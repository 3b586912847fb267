"""The use of an installed package, by a process of its own.

    PYTHONPATH=SITE python -P installed.py < COMMANDS.json

Parses each command line with the program's own parser, without running it. Then the
package is used; nothing of it may come from the checkout.
"""

import json
import sys
from pathlib import Path

from elmo_keras.commands import console


def main(commands):
    for _, *arguments in commands:
        console.make_app().parse_args(arguments)
    use()
    assert not {"export", "train", "tests"} & set(sys.modules)


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
    main(json.load(sys.stdin))
