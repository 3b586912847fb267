"""Serves exports: `elmo-keras serve` from a checkout."""

import sys

from elmo_keras.serve.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
