"""`elmo-keras train` from a checkout."""

import sys

from elmo_keras.commands.console import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
