"""Asks a server: `elmo-keras client` from a checkout."""

import sys

from elmo_keras.serve.client.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
