"""Trains a language model: `elmo-keras train` from a checkout."""

import sys

from elmo_keras.train import main

if __name__ == "__main__":
    sys.exit(main())
