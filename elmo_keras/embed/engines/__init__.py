"""What computes the vectors of sentences: TensorFlow or LiteRT."""
