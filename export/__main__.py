"""Exports a model: `elmo-keras export` from a checkout."""

import sys

from elmo_keras.export.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
