"""`python -m elmo_keras` is the program `elmo-keras`."""

import sys

from elmo_keras.commands.console import main

if __name__ == "__main__":
    sys.exit(main())
