"""The maxout layer."""

import numpy as np

from elmo_keras.tasks.classify.classifier import Maxout


def test_maxout_takes_the_maximum_of_its_maps():
    layer = Maxout(2, pieces=3)
    layer.build((None, 1))
    kernel = [[1.0, 0.0, -1.0, 2.0, 0.0, -3.0]]  # (map, unit): the unit changes fastest
    layer.dense.set_weights([np.array(kernel), np.array([0.0] * 4 + [1.5, 0.0])])
    x = np.array([[1.0], [-2.0]], "float32")
    np.testing.assert_allclose(layer(x), [[1.5, 2.0], [2.0, 6.0]])
