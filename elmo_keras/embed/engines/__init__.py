"""Engines that compute the vectors of sentences: TensorFlow and LiteRT."""
