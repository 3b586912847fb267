"""A layer in int8 run by LiteRT's C functions: status 0 where they do what is expected."""

import numpy as np

from elmo_keras.lite.layers import LiteDense


def probe() -> None:
    kernel = np.arange(-16, 16, dtype=np.float32).reshape(8, 4)
    x, bias = np.arange(8, dtype=np.float32)[None], np.ones(4, np.float32)
    y = LiteDense(kernel, bias)(x)
    np.testing.assert_allclose(y, x @ kernel + bias, atol=4)  # of sums up to 260


if __name__ == "__main__":
    probe()
