"""`elmo-keras serve` from a checkout."""

import sys

from elmo_keras.commands.console import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
